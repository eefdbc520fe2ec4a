//! Modes of other programs as settings of the gate: Codex's two axes and its presets, llm-do's three modes (DECISIONS 9).
//!
//! The tables are data; docs/modes.md shows them, and a test walks them.

use openoxide_protocol::{Effect, PermissionMode};

/// What the operating system holds a command to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confinement {
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
    pub confinement: Confinement,
    /// What becomes of a call that wants to run without confinement from the start.
    pub unconfined: Effect,
    /// Whether a person is asked to repeat a command without confinement after that stopped it.
    pub retry: bool,
    /// Whether there is anybody to ask at all. Where not, what still asks is refused.
    pub may_ask: bool,
}

impl GateSettings {
    /// Returns the mode that counts. Where a confinement is wanted and the machine has none, what it would have held is
    /// asked about.
    #[must_use]
    pub fn mode_if(self, confined: bool) -> PermissionMode {
        let needs = matches!(self.confinement, Confinement::ReadOnly | Confinement::WorkspaceWrite);
        let loosens = self.mode == PermissionMode::BypassPermissions;
        if needs && loosens && !confined { PermissionMode::Default } else { self.mode }
    }
}

/// Codex's axis of approval. `Reject` with its flags is not among them: no one setting says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AskForApproval {
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
pub enum SandboxPolicy {
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
pub type CodexRow = (AskForApproval, SandboxPolicy, GateSettings);

const fn settings(
    mode: PermissionMode,
    confinement: Confinement,
    unconfined: Effect,
    retry: bool,
) -> GateSettings {
    GateSettings { mode, confinement, unconfined, retry, may_ask: true }
}

const fn unasked(confinement: Confinement, unconfined: Effect) -> GateSettings {
    let mode = PermissionMode::BypassPermissions;
    GateSettings { mode, confinement, unconfined, retry: false, may_ask: false }
}

use AskForApproval::{Never, OnFailure, OnRequest, UnlessTrusted};
use Confinement::{External, Off, ReadOnly, WorkspaceWrite};
use Effect::{Allow, Ask, Deny};
use PermissionMode::{BypassPermissions as Bypass, Default as Normal, DontAsk};
use SandboxPolicy as Sandbox;

/// Codex: when to ask, by what is confined (seeds 002 and 004).
pub const CODEX: [CodexRow; 16] = [
    (UnlessTrusted, Sandbox::ReadOnly, settings(Normal, ReadOnly, Ask, true)),
    (UnlessTrusted, Sandbox::WorkspaceWrite, settings(Normal, WorkspaceWrite, Ask, true)),
    (UnlessTrusted, Sandbox::DangerFullAccess, settings(Normal, Off, Ask, false)),
    (UnlessTrusted, Sandbox::ExternalSandbox, settings(Normal, External, Ask, false)),
    (OnFailure, Sandbox::ReadOnly, settings(Bypass, ReadOnly, Ask, true)),
    (OnFailure, Sandbox::WorkspaceWrite, settings(Bypass, WorkspaceWrite, Ask, true)),
    (OnFailure, Sandbox::DangerFullAccess, settings(Bypass, Off, Allow, false)),
    (OnFailure, Sandbox::ExternalSandbox, settings(Bypass, External, Allow, false)),
    (OnRequest, Sandbox::ReadOnly, settings(Normal, ReadOnly, Ask, false)),
    (OnRequest, Sandbox::WorkspaceWrite, settings(Bypass, WorkspaceWrite, Ask, false)),
    (OnRequest, Sandbox::DangerFullAccess, settings(Bypass, Off, Allow, false)),
    (OnRequest, Sandbox::ExternalSandbox, settings(Bypass, External, Allow, false)),
    (Never, Sandbox::ReadOnly, unasked(ReadOnly, Deny)),
    (Never, Sandbox::WorkspaceWrite, unasked(WorkspaceWrite, Deny)),
    (Never, Sandbox::DangerFullAccess, unasked(Off, Allow)),
    (Never, Sandbox::ExternalSandbox, unasked(External, Allow)),
];

/// Codex's presets: each a name, a label and a place on the two axes (seed 004).
pub const CODEX_PRESETS: [(&str, &str, AskForApproval, SandboxPolicy); 3] = [
    ("read-only", "Read Only", OnRequest, Sandbox::ReadOnly),
    ("auto", "Default", OnRequest, Sandbox::WorkspaceWrite),
    ("full-access", "Full Access", Never, Sandbox::DangerFullAccess),
];

/// llm-do's modes (seed 001). A tool that wants no approval is one that a rule allows, one that is blocked one that a rule
/// denies; both hold in every mode.
pub const LLM_DO: [(&str, GateSettings); 3] = [
    ("interactive", settings(Normal, Off, Ask, false)),
    ("approve_all", unasked(Off, Allow)),
    ("strict", GateSettings { may_ask: false, ..settings(DontAsk, Off, Deny, false) }),
];

/// Returns the settings for a place on Codex's axes.
#[must_use]
pub fn codex(approval: AskForApproval, sandbox: SandboxPolicy) -> Option<GateSettings> {
    let row = CODEX.iter().find(|(a, s, _)| (*a, *s) == (approval, sandbox));
    row.map(|(_, _, settings)| *settings)
}
