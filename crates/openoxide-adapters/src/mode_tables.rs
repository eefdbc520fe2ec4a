//! Modes of other programs as settings of the gate: Codex's two axes and its presets, llm-do's three modes (DECISIONS 9).
//!
//! The tables are data; docs/modes.md shows them, and a test walks them.

use openoxide_protocol::{Effect, PermissionMode};

/// The confinement of a command by the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfinementMode {
    /// The command may read.
    ReadOnly,
    /// The command may read, and write inside the project.
    WorkspaceWrite,
    /// Another program confines the command: a container.
    External,
    /// The command is not confined.
    Off,
}

/// The settings of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GateSettings {
    /// The mode, as long as the confinement holds.
    pub mode: PermissionMode,
    /// The confinement of commands.
    pub confinement: ConfinementMode,
    /// The effect for a call that requests to run without confinement from the start.
    pub unconfined_effect: Effect,
    /// True if a person is asked to repeat a command without confinement after the confinement
    /// stopped it.
    pub retry_unconfined: bool,
    /// True if a person can be asked. If not, calls that would be asked about are denied.
    pub may_ask: bool,
}

impl GateSettings {
    /// Returns the mode that applies. If the machine lacks a required confinement, the calls that
    /// it would have confined are asked about.
    #[must_use]
    pub fn effective_mode(self, confined: bool) -> PermissionMode {
        let needs =
            matches!(self.confinement, ConfinementMode::ReadOnly | ConfinementMode::WorkspaceWrite);
        let loosens = self.mode == PermissionMode::BypassPermissions;
        if needs && loosens && !confined { PermissionMode::Default } else { self.mode }
    }
}

/// Codex's approval policy. `Reject` with its flags is left out, because no single setting
/// expresses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodexApprovalPolicy {
    /// Only commands that are known to be safe run without a question.
    UnlessTrusted,
    /// Confined; a person is asked when that stopped the command.
    OnFailure,
    /// A person is asked when the model wants more than the confinement gives.
    OnRequest,
    /// Questions are never asked.
    Never,
}

/// Codex's axis of confinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodexSandboxPolicy {
    /// Commands may read.
    ReadOnly,
    /// Commands may read, and write inside the workspace.
    WorkspaceWrite,
    /// Commands may do everything.
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

/// Codex's table: the conditions under which a person is asked, by approval policy and confinement.
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
