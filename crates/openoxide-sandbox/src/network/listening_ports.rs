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

impl ListeningPorts {
    /// Records the port of a call of listen(2). The call always continues, so no decision
    /// depends on this.
    pub(crate) fn record(&self, call: &PendingSyscall<'_>) {
        let address = call.duplicate_descriptor().and_then(|socket| getsockname(&socket));
        let Some(address) = address.ok().and_then(|address| SocketAddr::try_from(address).ok())
        else {
            return;
        };
        let mut ports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if (1..FIRST_EPHEMERAL_PORT).contains(&address.port()) && ports.len() < MAX_PORTS {
            ports.insert(address.port());
        }
    }

    /// Returns the ports, in order.
    pub(crate) fn ports(&self) -> Vec<u16> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}
