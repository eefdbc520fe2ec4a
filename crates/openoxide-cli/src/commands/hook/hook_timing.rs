//! The time that a client leaves to its hook.

use openoxide_adapters::wiring::timeout_for_wait;

use super::hook_client::HookClient;

/// The times that the command of a hook names.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HookTiming {
    /// The timeout of the client's hook, in seconds.
    pub(crate) client_timeout: Option<u64>,
    /// How long a question waits for an answer in another terminal, in seconds.
    pub(crate) wait: Option<u32>,
}

impl HookTiming {
    /// Returns how long the client waits for its hook, in seconds.
    pub(super) fn client_timeout(self, client: HookClient) -> u64 {
        let waiting = self.wait.map(|seconds| timeout_for_wait(seconds).into());
        self.client_timeout.or(waiting).unwrap_or_else(|| client.timeout_seconds())
    }
}
