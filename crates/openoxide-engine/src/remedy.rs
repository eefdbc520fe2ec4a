//! What would let pass what the sandbox refused: as little as possible, or nothing.

use std::{fs, net::IpAddr};

use openoxide_permission::{refused, safety_floor};
use openoxide_protocol::{AbsPath, Confined};
use openoxide_sandbox::Denial;

use crate::Remedied;

/// What would let a refused access pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// This path becomes writable: the file itself; where it is not there yet, its directory.
    Path(AbsPath),
    /// This host is reached.
    Host {
        /// Its name.
        host: String,
        /// The port.
        port: u16,
    },
    /// Nothing: why, for a person.
    Held(&'static str),
    /// No profile says it: why, for a person.
    Beyond(&'static str),
}

/// What a profile was made for.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// What was held.
    pub held: &'a Confined,
    /// The project, and what counts as it.
    pub roots: &'a [AbsPath],
    /// The user's home.
    pub home: Option<&'a AbsPath>,
}

impl Remedy {
    /// Returns what would let it pass. It looks only whether a file is there.
    #[must_use]
    pub fn of(denial: &Denial, around: Surroundings<'_>) -> Self {
        match denial {
            Denial::Write { path } => around.writing(path),
            Denial::Read { .. } => {
                Self::Held("a rule or the safety floor keeps it from being read")
            }
            Denial::Connect { host, port } if host.parse::<IpAddr>().is_err() => {
                Self::Host { host: host.clone(), port: *port }
            }
            Denial::Connect { .. } => Self::Beyond("an address is reached by a rule that names it"),
            Denial::UnixSocket { .. } => {
                Self::Beyond("services of this machine cannot be reached from the sandbox")
            }
        }
    }

    /// Returns the column of the table.
    #[must_use]
    pub const fn remedied(&self) -> Remedied {
        match self {
            Self::Path(_) | Self::Host { .. } => Remedied::Wider,
            Self::Held(_) => Remedied::Held,
            Self::Beyond(_) => Remedied::Beyond,
        }
    }
}

impl Surroundings<'_> {
    /// Returns why nobody is asked whether a file may be changed, if nobody is: whoever says yes to it could not mean it.
    #[must_use]
    pub fn keeps(self, path: &AbsPath) -> Option<&'static str> {
        let below = |place: &AbsPath| path.below(place).is_some();
        if self.held.protected.iter().chain(&self.held.unreadable).any(below) {
            return Some("it is protected by a rule or because it configures tools");
        }
        if safety_floor::is_protected(path) || safety_floor::is_secret(path) {
            return Some("the safety floor protects it");
        }
        let project = "a rule, the mode or --sandbox keeps the project as it is";
        self.roots.iter().any(below).then_some(project)
    }

    fn writing(self, path: &AbsPath) -> Remedy {
        if let Some(why) = self.keeps(path) {
            return Remedy::Held(why);
        }
        let there = fs::symlink_metadata(path.as_str()).is_ok();
        let target = if there { Some(path.clone()) } else { path.parent() };
        match target {
            Some(target) if self.roots.iter().any(|root| root.below(&target).is_some()) => {
                Remedy::Held("it contains the project")
            }
            Some(target) if refused(&target, self.home).is_none() => Remedy::Path(target),
            Some(_) | None => Remedy::Beyond("no sandbox is opened that far"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).unwrap()
    }

    fn remedy(denial: &Denial) -> Remedy {
        let (ws, home) = (path("/srv/ws"), path("/home/me"));
        let held = Confined {
            writable: [ws.clone()].into(),
            protected: [path("/srv/ws/.git"), path("/srv/held")].into(),
            ..Confined::default()
        };
        Remedy::of(denial, Surroundings { held: &held, roots: &[ws], home: Some(&home) })
    }

    fn writing(text: &str) -> Remedy {
        remedy(&Denial::Write { path: path(text) })
    }

    #[test]
    fn what_is_there_is_widened_alone_and_what_is_not_by_its_directory() {
        let there = tempfile::tempdir().unwrap();
        let base = path(there.path().to_str().unwrap());
        fs::write(base.join("file").as_str(), "").unwrap();
        assert_eq!(writing(base.join("file").as_str()), Remedy::Path(base.join("file")));
        assert_eq!(writing(base.join("new").as_str()), Remedy::Path(base));
    }

    /// Guards I32.
    #[test]
    fn what_is_held_has_no_remedy() {
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
            assert_eq!(writing(held).remedied(), Remedied::Held, "{held}");
        }
        assert_eq!(remedy(&Denial::Read { path: path("/srv/x") }).remedied(), Remedied::Held);
    }

    #[test]
    fn what_no_profile_says_is_beyond() {
        for beyond in ["/etc/new-there", "/home/me/new"] {
            assert_eq!(writing(beyond).remedied(), Remedied::Beyond, "{beyond}");
        }
        let connect = |host: &str| remedy(&Denial::Connect { host: host.to_owned(), port: 443 });
        assert_eq!(connect("169.254.169.254").remedied(), Remedied::Beyond);
        assert_eq!(
            connect("api.example.org"),
            Remedy::Host { host: "api.example.org".to_owned(), port: 443 }
        );
        let socket = Denial::UnixSocket { path: "/run/docker.sock".to_owned() };
        assert_eq!(remedy(&socket).remedied(), Remedied::Beyond);
    }
}
