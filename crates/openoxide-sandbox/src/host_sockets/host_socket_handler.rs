//! The handler of connections to sockets of the host. It decides which of them are reviewed, and
//! makes the permitted ones.

use std::{os::fd::OwnedFd, sync::Arc};

use openoxide_protocol::SocketAccess;
use rustix::{
    io::Errno,
    net::{SocketType, sockopt::socket_type},
};

use crate::{
    host_sockets::{
        agent_socket::AgentSocket, host_socket::HostSocket, socket_permissions::SocketPermissions,
    },
    interface::SandboxDenial,
    seccomp::PendingSyscall,
};

/// The sockets at which glibc looks up names of users and hosts (nscd(8), nss-systemd(8),
/// nss-resolve(8)).
const NAME_SERVICES: [&str; 3] =
    ["/run/nscd/socket", "/run/systemd/userdb/", "/run/systemd/resolve/io.systemd.Resolve"];

/// A handler of connections to sockets of the host.
pub(crate) struct HostSocketHandler {
    permissions: Arc<SocketPermissions>,
    agent: Option<AgentSocket>,
}

impl HostSocketHandler {
    /// Creates a handler. Connections to the socket of `agent` are filtered.
    pub(crate) const fn new(
        permissions: Arc<SocketPermissions>,
        agent: Option<AgentSocket>,
    ) -> Self {
        Self { permissions, agent }
    }

    /// Connects the socket of a call to a socket of the host, if that is permitted.
    ///
    /// # Errors
    /// Returns the error for the caller. A socket that does not exist is not a denial, because
    /// glibc tries name services that often do not exist.
    pub(crate) fn connect(
        &self,
        call: &PendingSyscall<'_>,
        socket: &OwnedFd,
        path: &[u8],
    ) -> Result<(), Errno> {
        if is_name_service(path) {
            return call.open_path(path).and(Err(Errno::ACCESS));
        }
        let host_socket = HostSocket::resolve(call, path)?;
        let access = SocketAccess::at_path(host_socket.path().as_str());
        if !host_socket.has_trusted_owner() {
            return Err(self.refuse(host_socket.path().as_str(), "it belongs to another user"));
        }
        if !matches!(socket_type(socket)?, SocketType::STREAM | SocketType::SEQPACKET) {
            return Err(self.refuse(host_socket.path().as_str(), "only streams are supported"));
        }
        if let Some(agent) = self.agent.as_ref().filter(|agent| agent.is_at(host_socket.path())) {
            return agent.connect(socket);
        }
        if !self.permissions.is_permitted(&access, || call.check_pending().is_ok()) {
            // Programs such as tmux start their own server if there is no socket.
            if host_socket.is_missing_inside() {
                return Err(Errno::NOENT);
            }
            if call.check_pending().is_ok() {
                self.permissions.record_denial(SandboxDenial::UnixSocket { path: access.socket });
            }
            return Err(Errno::ACCESS);
        }
        host_socket.connect(socket)
    }

    /// Records that a socket cannot be reached, whatever rules say.
    pub(crate) fn refuse(&self, socket: &str, reason: &str) -> Errno {
        let (socket, reason) = (socket.to_owned(), reason.to_owned());
        self.permissions.record_denial(SandboxDenial::UnreachableSocket { socket, reason });
        Errno::ACCESS
    }
}

/// Returns whether glibc looks up names at this path. Every program that looks up a user's name
/// tries these sockets, and works without them.
fn is_name_service(path: &[u8]) -> bool {
    let path = path.strip_prefix(b"/var").unwrap_or(path);
    NAME_SERVICES.iter().any(|service| path.starts_with(service.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denied_name_services_are_not_reported() {
        for (path, is) in [
            ("/var/run/nscd/socket", true),
            ("/run/nscd/socket", true),
            ("/run/systemd/userdb/io.systemd.DynamicUser", true),
            ("/run/docker.sock", false),
            ("/home/x/run/nscd/socket", false),
        ] {
            assert_eq!(is_name_service(path.as_bytes()), is, "{path}");
        }
    }
}
