//! Modes of other programs as settings of the gate: the settings, and llm-do's three modes. Codex's
//! modes are in `openoxide-codex`.
//!
//! The tables are data. `docs/modes.md` shows them, and a test checks every row.

use openoxide_protocol::{Effect, PermissionMode};

/// The confinement of a command by the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfinementMode {
    /// The command may read.
    ReadOnly,
    /// The command may read, and write inside the project.
    WorkspaceWrite,
    /// Another program confines the command, such as a container.
    External,
    /// The command is not confined.
    Off,
}

/// The settings of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GateSettings {
    /// The mode, as long as the confinement is in effect.
    pub mode: PermissionMode,
    /// The confinement of commands.
    pub confinement: ConfinementMode,
    /// The effect for a call that requests to run without confinement from the start.
    pub unconfined_effect: Effect,
    /// True if a person is asked to repeat a command without confinement after the confinement
    /// stopped it.
    pub retry_unconfined: bool,
    /// True if a person can be asked. If not, calls that would require approval are denied.
    pub may_ask: bool,
}

impl GateSettings {
    /// Returns settings under which a person can be asked.
    #[must_use]
    pub const fn attended(
        mode: PermissionMode,
        confinement: ConfinementMode,
        unconfined_effect: Effect,
        retry_unconfined: bool,
    ) -> Self {
        Self { mode, confinement, unconfined_effect, retry_unconfined, may_ask: true }
    }

    /// Returns settings under which everything runs unless a rule denies it, and no person is
    /// asked.
    #[must_use]
    pub const fn unattended(confinement: ConfinementMode, unconfined_effect: Effect) -> Self {
        let mode = PermissionMode::BypassPermissions;
        Self { mode, confinement, unconfined_effect, retry_unconfined: false, may_ask: false }
    }

    /// Returns the mode that applies. If the machine lacks a required confinement, the calls that
    /// it would have confined require approval.
    #[must_use]
    pub fn effective_mode(self, confined: bool) -> PermissionMode {
        let needs =
            matches!(self.confinement, ConfinementMode::ReadOnly | ConfinementMode::WorkspaceWrite);
        let loosens = self.mode == PermissionMode::BypassPermissions;
        if needs && loosens && !confined { PermissionMode::Default } else { self.mode }
    }
}

/// llm-do's modes. A tool that requires no approval corresponds to an allow rule, and a blocked
/// tool to a deny rule. Both apply in every mode.
pub const LLM_DO_MODES: [(&str, GateSettings); 3] = [
    (
        "interactive",
        GateSettings::attended(PermissionMode::Default, ConfinementMode::Off, Effect::Ask, false),
    ),
    ("approve_all", GateSettings::unattended(ConfinementMode::Off, Effect::Allow)),
    (
        "strict",
        GateSettings {
            may_ask: false,
            ..GateSettings::attended(
                PermissionMode::DontAsk,
                ConfinementMode::Off,
                Effect::Deny,
                false,
            )
        },
    ),
];
