//! The smallest change of a profile that would let a refused access pass, if there is one.

use std::{fs, net::IpAddr};

use openoxide_permission::{forbidden_root_reason, safety_floor};
use openoxide_protocol::{AbsPath, SandboxRestrictions};
use openoxide_sandbox::SandboxDenial;

use crate::escalation::RemedyKind;

/// The change that would let a refused access pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// This path becomes writable: the file itself or, if it does not exist, its directory.
    WritablePath(AbsPath),
    /// This host becomes reachable.
    ReachableHost {
        /// The name of the host.
        host: String,
        /// The port.
        port: u16,
    },
    /// No change is permitted. The reason is for a person.
    Forbidden(&'static str),
    /// The change cannot be expressed in a profile. The reason is for a person.
    Inexpressible(&'static str),
}

/// The context of a profile.
#[derive(Clone, Copy, Debug)]
pub struct ProfileContext<'a> {
    /// The restrictions that were enforced.
    pub restrictions: &'a SandboxRestrictions,
    /// The project and the other directories that belong to it.
    pub roots: &'a [AbsPath],
    /// The user's home directory.
    pub home: Option<&'a AbsPath>,
}

impl Remedy {
    /// Returns the remedy. The only access to the file system is a check whether the file exists.
    #[must_use]
    pub fn for_denial(denial: &SandboxDenial, around: ProfileContext<'_>) -> Self {
        match denial {
            SandboxDenial::Write { path } => around.write_remedy(path),
            SandboxDenial::Read { .. } => {
                Self::Forbidden("a rule or the safety floor prevents reading it")
            }
            SandboxDenial::Connect { address: Some(_), .. } => {
                Self::Forbidden("the name leads to an address that is not public")
            }
            SandboxDenial::Connect { host, port, .. } if host.parse::<IpAddr>().is_err() => {
                Self::ReachableHost { host: host.clone(), port: *port }
            }
            SandboxDenial::Connect { .. } => {
                Self::Inexpressible("only a rule that names the address can allow it")
            }
            SandboxDenial::SystemCall { .. } => {
                Self::Inexpressible("the sandbox allows this to no program")
            }
            SandboxDenial::UnixSocket { .. } => {
                Self::Inexpressible("only a rule about the socket can allow it")
            }
            SandboxDenial::SshAgent { .. } => {
                Self::Inexpressible("no rule can allow this use of the SSH agent")
            }
            SandboxDenial::UnreachableSocket { .. } => {
                Self::Inexpressible("no rule can allow this socket")
            }
        }
    }

    /// Returns the kind of the remedy.
    #[must_use]
    pub const fn kind(&self) -> RemedyKind {
        match self {
            Self::WritablePath(_) | Self::ReachableHost { .. } => RemedyKind::WiderProfile,
            Self::Forbidden(_) => RemedyKind::Forbidden,
            Self::Inexpressible(_) => RemedyKind::Inexpressible,
        }
    }
}

impl ProfileContext<'_> {
    /// Returns the reason why a change of a file is refused without asking a person, if it is. A
    /// person could not approve such a change meaningfully.
    #[must_use]
    pub fn write_refusal_reason(self, path: &AbsPath) -> Option<&'static str> {
        let below = |place: &AbsPath| path.strip_prefix(place).is_some();
        if self.restrictions.protected.iter().chain(&self.restrictions.unreadable).any(below) {
            return Some("it is protected by a rule or because it configures tools");
        }
        if safety_floor::is_protected(path) || safety_floor::is_secret(path) {
            return Some("the safety floor protects it");
        }
        let project = "a rule, the mode or --sandbox makes the project read-only";
        self.roots.iter().any(below).then_some(project)
    }

    fn write_remedy(self, path: &AbsPath) -> Remedy {
        if let Some(why) = self.write_refusal_reason(path) {
            return Remedy::Forbidden(why);
        }
        let there = fs::symlink_metadata(path.as_str()).is_ok();
        let target = if there { Some(path.clone()) } else { path.parent() };
        match target {
            Some(target) if self.roots.iter().any(|root| root.strip_prefix(&target).is_some()) => {
                Remedy::Forbidden("it contains the project")
            }
            Some(target) if forbidden_root_reason(&target, self.home).is_none() => {
                Remedy::WritablePath(target)
            }
            Some(_) | None => Remedy::Inexpressible("the sandbox cannot make this path writable"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).unwrap()
    }

    fn remedy(denial: &SandboxDenial) -> Remedy {
        let (ws, home) = (path("/srv/ws"), path("/home/me"));
        let held = SandboxRestrictions {
            writable: [ws.clone()].into(),
            protected: [path("/srv/ws/.git"), path("/srv/held")].into(),
            ..SandboxRestrictions::default()
        };
        Remedy::for_denial(
            denial,
            ProfileContext { restrictions: &held, roots: &[ws], home: Some(&home) },
        )
    }

    fn writing(text: &str) -> Remedy {
        remedy(&SandboxDenial::Write { path: path(text) })
    }

    #[test]
    fn an_existing_file_becomes_writable_alone_and_a_new_one_by_directory() {
        let there = tempfile::tempdir().unwrap();
        let base = path(there.path().to_str().unwrap());
        fs::write(base.join("file").as_str(), "").unwrap();
        assert_eq!(writing(base.join("file").as_str()), Remedy::WritablePath(base.join("file")));
        assert_eq!(writing(base.join("new").as_str()), Remedy::WritablePath(base));
    }

    /// Guards I32.
    #[test]
    fn a_restricted_path_has_no_remedy() {
        for held in [
            "/srv/ws/.git/hooks/x",
            "/srv/held/x",
            "/srv/ws/a",
            "/srv/other/.git/config",
            "/home/me/.bashrc",
            "/srv/x/.env",
            "/new-at-the-top",
            "/srv",
        ] {
            assert_eq!(writing(held).kind(), RemedyKind::Forbidden, "{held}");
        }
        assert_eq!(
            remedy(&SandboxDenial::Read { path: path("/srv/x") }).kind(),
            RemedyKind::Forbidden
        );
    }

    #[test]
    fn access_that_no_profile_can_express_is_inexpressible() {
        for beyond in ["/etc/new-there", "/home/me/new"] {
            assert_eq!(writing(beyond).kind(), RemedyKind::Inexpressible, "{beyond}");
        }
        let connect = |host: &str| {
            remedy(&SandboxDenial::Connect { host: host.to_owned(), port: 443, address: None })
        };
        assert_eq!(connect("169.254.169.254").kind(), RemedyKind::Inexpressible);
        assert_eq!(
            connect("api.example.org"),
            Remedy::ReachableHost { host: "api.example.org".to_owned(), port: 443 }
        );
        let socket = SandboxDenial::UnixSocket { path: "/run/docker.sock".to_owned() };
        assert_eq!(remedy(&socket).kind(), RemedyKind::Inexpressible);
    }
}
