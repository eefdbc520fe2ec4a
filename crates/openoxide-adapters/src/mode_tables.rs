//! Modes of other programs as settings of the gate: Codex's two axes and its presets, llm-do's three modes (DECISIONS 9).
//!
//! The tables are data; docs/modes.md shows them, and a test walks them.

use openoxide_protocol::{Effect, PermissionMode};

/// What the operating system holds a command to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfinementMode {
    /// It may read.
    ReadOnly,
    /// It may read, and write inside the project.
    WorkspaceWrite,
    /// Somebody else confines it: a container.
    External,
    /// Nothing does.
    Off,
}

/// How the gate is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GateSettings {
    /// The mode, as long as the confinement holds.
    pub mode: PermissionMode,
    /// What commands are held to.
    pub confinement: ConfinementMode,
    /// What becomes of a call that wants to run without confinement from the start.
    pub unconfined_effect: Effect,
    /// Whether a person is asked to repeat a command without confinement after that stopped it.
    pub retry_unconfined: bool,
    /// Whether there is anybody to ask at all. Where not, what still asks is refused.
    pub may_ask: bool,
}

impl GateSettings {
    /// Returns the mode that counts. Where a confinement is wanted and the machine has none, what it would have held is
    /// asked about.
    #[must_use]
    pub fn effective_mode(self, confined: bool) -> PermissionMode {
        let needs =
            matches!(self.confinement, ConfinementMode::ReadOnly | ConfinementMode::WorkspaceWrite);
        let loosens = self.mode == PermissionMode::BypassPermissions;
        if needs && loosens && !confined { PermissionMode::Default } else { self.mode }
    }
}

/// Codex's axis of approval. `Reject` with its flags is not among them: no one setting says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodexApprovalPolicy {
    /// Only what is known to be safe runs without a question.
    UnlessTrusted,
    /// Confined; a person is asked when that stopped the command.
    OnFailure,
    /// A person is asked when the model wants more than the confinement gives.
    OnRequest,
    /// Nobody is asked.
    Never,
}

/// Codex's axis of confinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodexSandboxPolicy {
    /// It may read.
    ReadOnly,
    /// It may read, and write inside the workspace.
    WorkspaceWrite,
    /// It may do everything.
    DangerFullAccess,
    /// A container confines it already.
    ExternalSandbox,
}

/// One row of Codex's table: its two axes and ours.
pub type CodexModeRow = (CodexApprovalPolicy, CodexSandboxPolicy, GateSettings);

const fn gate_settings(
    mode: PermissionMode,
    confinement: ConfinementMode,
    unconfined: Effect,
    retry: bool,
) -> GateSettings {
    GateSettings {
        mode,
        confinement,
        unconfined_effect: unconfined,
        retry_unconfined: retry,
        may_ask: true,
    }
}

const fn unattended_settings(confinement: ConfinementMode, unconfined: Effect) -> GateSettings {
    let mode = PermissionMode::BypassPermissions;
    GateSettings {
        mode,
        confinement,
        unconfined_effect: unconfined,
        retry_unconfined: false,
        may_ask: false,
    }
}

use CodexApprovalPolicy::{Never, OnFailure, OnRequest, UnlessTrusted};
use CodexSandboxPolicy as Sandbox;
use ConfinementMode::{External, Off, ReadOnly, WorkspaceWrite};
use Effect::{Allow, Ask, Deny};
use PermissionMode::{BypassPermissions as Bypass, Default as Normal, DontAsk};

/// Codex: when to ask, by what is confined (seeds 002 and 004).
pub const CODEX_MODE_TABLE: [CodexModeRow; 16] = [
    (UnlessTrusted, Sandbox::ReadOnly, gate_settings(Normal, ReadOnly, Ask, true)),
    (UnlessTrusted, Sandbox::WorkspaceWrite, gate_settings(Normal, WorkspaceWrite, Ask, true)),
    (UnlessTrusted, Sandbox::DangerFullAccess, gate_settings(Normal, Off, Ask, false)),
    (UnlessTrusted, Sandbox::ExternalSandbox, gate_settings(Normal, External, Ask, false)),
    (OnFailure, Sandbox::ReadOnly, gate_settings(Bypass, ReadOnly, Ask, true)),
    (OnFailure, Sandbox::WorkspaceWrite, gate_settings(Bypass, WorkspaceWrite, Ask, true)),
    (OnFailure, Sandbox::DangerFullAccess, gate_settings(Bypass, Off, Allow, false)),
    (OnFailure, Sandbox::ExternalSandbox, gate_settings(Bypass, External, Allow, false)),
    (OnRequest, Sandbox::ReadOnly, gate_settings(Normal, ReadOnly, Ask, false)),
    (OnRequest, Sandbox::WorkspaceWrite, gate_settings(Bypass, WorkspaceWrite, Ask, false)),
    (OnRequest, Sandbox::DangerFullAccess, gate_settings(Bypass, Off, Allow, false)),
    (OnRequest, Sandbox::ExternalSandbox, gate_settings(Bypass, External, Allow, false)),
    (Never, Sandbox::ReadOnly, unattended_settings(ReadOnly, Deny)),
    (Never, Sandbox::WorkspaceWrite, unattended_settings(WorkspaceWrite, Deny)),
    (Never, Sandbox::DangerFullAccess, unattended_settings(Off, Allow)),
    (Never, Sandbox::ExternalSandbox, unattended_settings(External, Allow)),
];

/// Codex's presets: each a name, a label and a place on the two axes (seed 004).
pub const CODEX_PRESETS: [(&str, &str, CodexApprovalPolicy, CodexSandboxPolicy); 3] = [
    ("read-only", "Read Only", OnRequest, Sandbox::ReadOnly),
    ("auto", "Default", OnRequest, Sandbox::WorkspaceWrite),
    ("full-access", "Full Access", Never, Sandbox::DangerFullAccess),
];

/// llm-do's modes (seed 001). A tool that wants no approval is one that a rule allows, one that is blocked one that a rule
/// denies; both hold in every mode.
pub const LLM_DO_MODES: [(&str, GateSettings); 3] = [
    ("interactive", gate_settings(Normal, Off, Ask, false)),
    ("approve_all", unattended_settings(Off, Allow)),
    ("strict", GateSettings { may_ask: false, ..gate_settings(DontAsk, Off, Deny, false) }),
];

/// Returns the settings for a place on Codex's axes.
#[must_use]
pub fn codex_settings(
    approval: CodexApprovalPolicy,
    sandbox: CodexSandboxPolicy,
) -> Option<GateSettings> {
    let row = CODEX_MODE_TABLE.iter().find(|(a, s, _)| (*a, *s) == (approval, sandbox));
    row.map(|(_, _, settings)| *settings)
}
