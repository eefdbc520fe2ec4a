//! The hosts that confined processes have connected to.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

/// The maximum number of hosts that are remembered.
const MAX_HOSTS: usize = 1024;

/// The names and ports of hosts that were permitted and connected to.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContactedHosts(Arc<Mutex<BTreeSet<(String, u16)>>>);

impl ContactedHosts {
    pub(super) fn record(&self, host: String, port: u16) {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() < MAX_HOSTS {
            hosts.insert((host, port));
        }
    }

    /// Returns the hosts so far.
    pub(crate) fn to_set(&self) -> BTreeSet<(String, u16)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
