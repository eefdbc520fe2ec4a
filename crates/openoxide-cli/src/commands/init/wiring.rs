//! The change that `init` makes in the settings of agents.

use openoxide_adapters::wiring::{HookInvocation, wired_wait};
use serde_json::Value;

/// The wiring that `init` makes or removes.
#[derive(Clone, Copy)]
pub(super) struct Wiring<'a> {
    /// The program that the hook starts.
    pub(super) invocation: HookInvocation<'a>,
    /// True to remove the hook.
    pub(super) undo: bool,
    /// True if Claude Code asks about every tool, in addition to the hook.
    pub(super) strict: bool,
}

impl<'a> Wiring<'a> {
    /// Returns the program with its options. Without the option `--wait`, the wait that the settings
    /// contain is kept; `--wait=0` removes it.
    pub(super) fn invocation_for(self, settings: &Value, agent: &str) -> HookInvocation<'a> {
        let wait = self.invocation.wait.or_else(|| wired_wait(settings, agent));
        HookInvocation { wait: wait.filter(|seconds| *seconds > 0), ..self.invocation }
    }
}
