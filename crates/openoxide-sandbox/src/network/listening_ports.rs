//! The ports that programs inside listen on.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{Mutex, PoisonError},
};

use rustix::net::getsockname;

use crate::seccomp::PendingSyscall;

/// The first of the ports that the kernel assigns, mostly to programs that connect to themselves
/// (`ip_local_port_range`).
const FIRST_EPHEMERAL_PORT: u16 = 32_768;
/// The maximum number of ports that are recorded.
const MAX_PORTS: usize = 16;

/// The ports on which programs of the sandbox listen. Ports that the kernel chose are not included.
#[derive(Debug, Default)]
pub(crate) struct ListeningPorts(Mutex<BTreeSet<u16>>);

/// Returns the port of a call of listen(2), if the socket has one. The call always continues, so no
/// decision about the program depends on this.
pub(crate) fn listening_port(call: &PendingSyscall<'_>) -> Option<u16> {
    let socket = call.duplicate_descriptor().ok()?;
    let address = SocketAddr::try_from(getsockname(&socket).ok()?).ok()?;
    (address.port() > 0).then(|| address.port())
}

impl ListeningPorts {
    /// Records a port. Returns true if it was not recorded before.
    pub(crate) fn record(&self, port: u16) -> bool {
        let mut ports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        port < FIRST_EPHEMERAL_PORT && ports.len() < MAX_PORTS && ports.insert(port)
    }

    /// Returns the ports, in order.
    pub(crate) fn ports(&self) -> Vec<u16> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}
