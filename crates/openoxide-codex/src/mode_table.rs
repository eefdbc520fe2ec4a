//! Codex's modes as settings of the gate: its two axes and its presets.
//!
//! The tables are data. `docs/modes.md` shows them, and a test checks every row.

use openoxide_adapters::mode_tables::{ConfinementMode, GateSettings};
use openoxide_protocol::{Effect, PermissionMode};

use crate::exact_semantics::SandboxMode;

/// An approval policy in Codex's table. It differs from `AskForApproval`, which parses `on-failure`
/// as `on-request` and has `Granular`, which no single setting expresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodexApprovalPolicy {
    /// Only commands that are known to be safe run without a question.
    UnlessTrusted,
    /// Commands run in the sandbox. A person is asked if the sandbox has blocked a command.
    OnFailure,
    /// A person is asked if the model requests more than the sandbox allows.
    OnRequest,
    /// A person is never asked.
    Never,
}

/// One row of Codex's table: a position on its two axes, and the settings of the gate.
pub type CodexModeRow = (CodexApprovalPolicy, SandboxMode, GateSettings);

const fn attended(
    mode: PermissionMode,
    confinement: ConfinementMode,
    unconfined: Effect,
    retry: bool,
) -> GateSettings {
    GateSettings::attended(mode, confinement, unconfined, retry)
}

const fn unattended(confinement: ConfinementMode, unconfined: Effect) -> GateSettings {
    GateSettings::unattended(confinement, unconfined)
}

use CodexApprovalPolicy::{Never, OnFailure, OnRequest, UnlessTrusted};
use ConfinementMode::{External, Off, ReadOnly, WorkspaceWrite};
use Effect::{Allow, Ask, Deny};
use PermissionMode::{BypassPermissions as Bypass, Default as Normal};
use SandboxMode as Sandbox;

/// Codex's table: the conditions under which a person is asked, by approval policy and confinement.
pub const CODEX_MODE_TABLE: [CodexModeRow; 16] = [
    (UnlessTrusted, Sandbox::ReadOnly, attended(Normal, ReadOnly, Ask, true)),
    (UnlessTrusted, Sandbox::WorkspaceWrite, attended(Normal, WorkspaceWrite, Ask, true)),
    (UnlessTrusted, Sandbox::DangerFullAccess, attended(Normal, Off, Ask, false)),
    (UnlessTrusted, Sandbox::ExternalSandbox, attended(Normal, External, Ask, false)),
    (OnFailure, Sandbox::ReadOnly, attended(Bypass, ReadOnly, Ask, true)),
    (OnFailure, Sandbox::WorkspaceWrite, attended(Bypass, WorkspaceWrite, Ask, true)),
    (OnFailure, Sandbox::DangerFullAccess, attended(Bypass, Off, Allow, false)),
    (OnFailure, Sandbox::ExternalSandbox, attended(Bypass, External, Allow, false)),
    (OnRequest, Sandbox::ReadOnly, attended(Normal, ReadOnly, Ask, false)),
    (OnRequest, Sandbox::WorkspaceWrite, attended(Bypass, WorkspaceWrite, Ask, false)),
    (OnRequest, Sandbox::DangerFullAccess, attended(Bypass, Off, Allow, false)),
    (OnRequest, Sandbox::ExternalSandbox, attended(Bypass, External, Allow, false)),
    (Never, Sandbox::ReadOnly, unattended(ReadOnly, Deny)),
    (Never, Sandbox::WorkspaceWrite, unattended(WorkspaceWrite, Deny)),
    (Never, Sandbox::DangerFullAccess, unattended(Off, Allow)),
    (Never, Sandbox::ExternalSandbox, unattended(External, Allow)),
];

/// Codex's presets: a name, a label and a position on the two axes.
pub const CODEX_PRESETS: [(&str, &str, CodexApprovalPolicy, SandboxMode); 3] = [
    ("read-only", "Read Only", OnRequest, Sandbox::ReadOnly),
    ("auto", "Default", OnRequest, Sandbox::WorkspaceWrite),
    ("full-access", "Full Access", Never, Sandbox::DangerFullAccess),
];

/// Returns the settings for a position on Codex's axes.
#[must_use]
pub fn codex_gate_settings(
    approval: CodexApprovalPolicy,
    sandbox: SandboxMode,
) -> Option<GateSettings> {
    let row = CODEX_MODE_TABLE.iter().find(|(a, s, _)| (*a, *s) == (approval, sandbox));
    row.map(|(_, _, settings)| *settings)
}
