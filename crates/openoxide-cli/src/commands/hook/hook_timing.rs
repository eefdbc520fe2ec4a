//! The timeouts of an agent's hook.

use openoxide_adapters::wiring::timeout_for_wait;

use super::hook_client::HookClient;
use crate::args::MAX_WAIT_SECONDS;

/// The timeouts in the command line of a hook.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HookTiming {
    /// The timeout of the client's hook, in seconds.
    pub(crate) client_timeout: Option<u64>,
    /// How long a question waits for an answer in another terminal, in seconds.
    pub(crate) wait: Option<u32>,
}

impl HookTiming {
    /// Parses the option that `init --wait` writes. Returns `None` for any other option,
    /// which the regular parser handles.
    pub(crate) fn from_wait_option(option: &str) -> Option<Self> {
        let seconds = option.strip_prefix("--wait=")?.parse().ok()?;
        let is_valid = (1..=MAX_WAIT_SECONDS).contains(&seconds);
        is_valid.then_some(Self { client_timeout: None, wait: Some(seconds) })
    }

    /// Returns how long the client waits for its hook, in seconds.
    pub(super) fn client_timeout(self, client: HookClient) -> u64 {
        let waiting = self.wait.map(|seconds| timeout_for_wait(seconds).into());
        self.client_timeout.or(waiting).unwrap_or_else(|| client.timeout_seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_option_of_init_is_parsed_without_the_others() {
        let wait = |option| HookTiming::from_wait_option(option).and_then(|timing| timing.wait);
        assert_eq!(wait("--wait=60"), Some(60));
        for other in ["--wait", "--wait=", "--wait=0", "--wait=86401", "--wait=x", "--untrusted"] {
            assert_eq!(wait(other), None, "{other}");
        }
    }
}
