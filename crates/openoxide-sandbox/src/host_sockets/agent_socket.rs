//! The socket of the user's SSH agent, and the filter in front of it.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use openoxide_protocol::{AbsPath, SocketAccess};
use rustix::io::Errno;

use crate::{
    host_sockets::{host_socket::HostSocket, socket_permissions::SocketPermissions},
    interface::{HostAgent, SandboxDenial},
    network::ContactedHosts,
    ssh_agent::{AgentPolicy, AgentProxy, AgentRefusal, KnownHostKeys},
};

/// The socket of the agent. The proxy is started with the first connection.
pub(crate) struct AgentSocket {
    socket: AbsPath,
    directory: PathBuf,
    state: Mutex<AgentState>,
}

enum AgentState {
    Unused(Box<AgentPolicy>),
    Started(AgentProxy),
    Failed,
}

impl AgentSocket {
    /// Prepares a filter. The proxy creates its socket in `directory`.
    pub(crate) fn new(
        agent: &HostAgent,
        directory: &AbsPath,
        permissions: &Arc<SocketPermissions>,
        contacted: ContactedHosts,
    ) -> Self {
        let files = agent.known_hosts.iter().map(|file| file.as_str().as_ref());
        let (deciding, recording) = (Arc::clone(permissions), Arc::clone(permissions));
        let policy = AgentPolicy::new(
            KnownHostKeys::read(files),
            move || contacted.to_set(),
            move |host| may_sign_in(&deciding, host),
            move |reason| record_refusal(&recording, reason),
        );
        Self {
            socket: agent.socket.clone(),
            directory: directory.as_str().into(),
            state: Mutex::new(AgentState::Unused(Box::new(policy))),
        }
    }

    /// Returns whether the agent's socket has this real path.
    pub(super) fn is_at(&self, path: &AbsPath) -> bool {
        self.socket == *path
    }

    /// Connects a socket of a program to the filter.
    ///
    /// # Errors
    /// Returns an error if the filter cannot be started.
    pub(super) fn connect(&self, socket: &OwnedFd) -> Result<(), Errno> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let AgentState::Unused(_) = *state
            && let AgentState::Unused(policy) = std::mem::replace(&mut *state, AgentState::Failed)
        {
            let path = self.socket.clone();
            let agent = Box::new(move || connect_to_agent(&path));
            if let Ok(proxy) = AgentProxy::start(&self.directory, *policy, agent) {
                *state = AgentState::Started(proxy);
            }
        }
        match &*state {
            AgentState::Started(proxy) => proxy.connect(socket),
            AgentState::Unused(_) | AgentState::Failed => Err(Errno::CONNREFUSED),
        }
    }
}

fn connect_to_agent(path: &AbsPath) -> io::Result<UnixStream> {
    let agent = HostSocket::open(path.as_str().as_ref())?;
    if !agent.has_trusted_owner() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    agent.connect_stream()
}

fn may_sign_in(permissions: &SocketPermissions, host: &str) -> bool {
    let access = SocketAccess::ssh_agent(host);
    let is_permitted = permissions.is_permitted(&access, || true);
    if !is_permitted {
        permissions.record_denial(SandboxDenial::UnixSocket { path: access.socket });
    }
    is_permitted
}

fn record_refusal(permissions: &SocketPermissions, reason: AgentRefusal) {
    let reason = reason.as_str().to_owned();
    permissions.record_denial(SandboxDenial::SshAgent { reason });
}
