//! Unix sockets of services outside of the sandbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AccessRoute;

/// A connection to a Unix socket of a service on this machine.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct SocketAccess {
    /// The socket as a rule names it: its real path (`/run/docker.sock`), or the SSH agent with the
    /// host that it signs in to (`ssh-agent:github.com`).
    pub socket: String,
    /// The route of the access.
    #[serde(default, skip)]
    pub route: AccessRoute,
}

/// A service whose sockets have a name in rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SocketService {
    /// The agent that signs with the user's SSH keys (ssh-agent(1)).
    SshAgent,
    /// The agent that signs and decrypts with the user's OpenPGP keys (gpg-agent(1)).
    GpgAgent,
    /// The Docker daemon.
    Docker,
    /// The Podman service.
    Podman,
    /// The containerd daemon.
    Containerd,
    /// A message bus, or the service manager itself (dbus-daemon(1), systemd(1)).
    Bus,
}

/// The services, and the ends of the paths of their sockets below the directories for sockets.
const SERVICE_SOCKETS: &[(SocketService, &[&str])] = &[
    (SocketService::Docker, &["docker.sock", "docker/desktop/docker.sock"]),
    (SocketService::Podman, &["podman/podman.sock", "podman.sock"]),
    (SocketService::Containerd, &["containerd/containerd.sock", "k3s/containerd/containerd.sock"]),
    (SocketService::Bus, &["bus", "system_bus_socket", "systemd/private"]),
    (
        SocketService::GpgAgent,
        &["S.gpg-agent", "S.gpg-agent.extra", "S.gpg-agent.browser", "S.gpg-agent.ssh"],
    ),
];

impl SocketService {
    /// All services.
    pub const ALL: [Self; 6] =
        [Self::SshAgent, Self::GpgAgent, Self::Docker, Self::Podman, Self::Containerd, Self::Bus];

    /// Returns the name of the service in rules.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SshAgent => "ssh-agent",
            Self::GpgAgent => "gpg-agent",
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Containerd => "containerd",
            Self::Bus => "dbus",
        }
    }

    /// Returns the service with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.as_str() == name)
    }

    /// Returns the service whose socket usually has this path. The SSH agent has no usual path.
    #[must_use]
    pub fn at_path(path: &str) -> Option<Self> {
        let ends_with =
            |end: &&str| path.strip_suffix(end).is_some_and(|directory| directory.ends_with('/'));
        let found = SERVICE_SOCKETS.iter().find(|(_, ends)| ends.iter().any(ends_with));
        found.map(|(service, _)| *service)
    }

    /// Returns whether the service starts containers, which can mount any file of its user.
    #[must_use]
    pub const fn runs_containers(self) -> bool {
        matches!(self, Self::Docker | Self::Podman | Self::Containerd)
    }
}

impl SocketAccess {
    /// Returns an access to the socket at this real path.
    #[must_use]
    pub fn at_path(path: &str) -> Self {
        Self { socket: path.to_owned(), route: AccessRoute::Direct }
    }

    /// Returns an access to the SSH agent, to sign in to a host.
    #[must_use]
    pub fn ssh_agent(host: &str) -> Self {
        let socket = format!("{}:{host}", SocketService::SshAgent.as_str());
        Self { socket, route: AccessRoute::Direct }
    }

    /// Returns the path of the socket, if the access names one.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.socket.starts_with('/').then_some(self.socket.as_str())
    }

    /// Returns the host that the SSH agent signs in to, if the access names one.
    #[must_use]
    pub fn ssh_host(&self) -> Option<&str> {
        self.socket.strip_prefix(SocketService::SshAgent.as_str())?.strip_prefix(':')
    }

    /// Returns what a client of this service can do, if a person has to know that.
    #[must_use]
    pub fn warning(&self) -> Option<&'static str> {
        let is_system_service = self
            .path()
            .is_some_and(|path| !path.starts_with("/run/user/") && path.starts_with("/run/"));
        match self.service()? {
            service if service.runs_containers() && is_system_service => Some(
                "with it, a program can start a container that changes any file of this machine: \
                 this is root access without a sandbox",
            ),
            service if service.runs_containers() => Some(
                "with it, a program can start a container that changes any of your files: this is \
                 your account without a sandbox",
            ),
            SocketService::GpgAgent => {
                Some("with it, a program can sign and decrypt with your keys")
            }
            SocketService::Bus => {
                Some("with it, a program can start programs and services outside of the sandbox")
            }
            _ => None,
        }
    }

    /// Returns the service that the socket belongs to, if it is known.
    #[must_use]
    pub fn service(&self) -> Option<SocketService> {
        match self.path() {
            Some(path) => SocketService::at_path(path),
            None => SocketService::from_name(self.socket.split(':').next().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_service_is_said_to_be_equal_to_its_user() {
        let warning = |path| SocketAccess::at_path(path).warning().unwrap_or_default();
        assert!(warning("/run/docker.sock").contains("root access"));
        assert!(warning("/run/user/1000/docker.sock").contains("your account"));
        assert!(warning("/home/ann/.docker/run/docker.sock").contains("your account"));
        assert_eq!(warning("/run/postgresql/.s.PGSQL.5432"), "");
    }

    /// Paths from the documentation of Docker, Podman, containerd and GnuPG.
    #[test]
    fn services_are_recognized_by_path_and_by_name() {
        for (socket, expected) in [
            ("/run/docker.sock", Some(SocketService::Docker)),
            ("/run/user/1000/docker.sock", Some(SocketService::Docker)),
            ("/home/ann/.docker/run/docker.sock", Some(SocketService::Docker)),
            ("/run/podman/podman.sock", Some(SocketService::Podman)),
            ("/run/user/1000/podman/podman.sock", Some(SocketService::Podman)),
            ("/run/containerd/containerd.sock", Some(SocketService::Containerd)),
            ("/run/user/1000/gnupg/S.gpg-agent", Some(SocketService::GpgAgent)),
            ("/run/postgresql/.s.PGSQL.5432", None),
            ("/run/user/1000/bus", Some(SocketService::Bus)),
            ("/run/dbus/system_bus_socket", Some(SocketService::Bus)),
            ("/run/notdocker.sock", None),
            ("ssh-agent:github.com", Some(SocketService::SshAgent)),
            ("ssh-agent", Some(SocketService::SshAgent)),
            ("docker", Some(SocketService::Docker)),
        ] {
            let access = SocketAccess { socket: socket.to_owned(), route: AccessRoute::Direct };
            assert_eq!(access.service(), expected, "{socket}");
        }
    }

    #[test]
    fn an_access_names_a_path_or_a_host() {
        let agent = SocketAccess::ssh_agent("github.com");
        assert_eq!((agent.path(), agent.ssh_host()), (None, Some("github.com")));
        let docker = SocketAccess::at_path("/run/docker.sock");
        assert_eq!((docker.path(), docker.ssh_host()), (Some("/run/docker.sock"), None));
    }
}
