//! Audit records: decisions, their outcomes, and events of the journal itself.
//!
//! These types are not part of the protocol because they describe a file format that only this
//! module writes and reads. They are built from protocol types (effects, modes, rules, choices).

use openoxide_protocol::{Access, Decision, Effect, HookAnswer, PermissionMode, RuleRef};
use serde::{Deserialize, Serialize};

use super::{
    answer_record::AnswerRecord,
    error::AuditError,
    redaction::redact_value,
    sealed_line::{JournalPosition, SealedLine},
    timestamp::UtcTimestamp,
};

/// The maximum number of accesses that are recorded for one decision. The strictest ones are kept.
const MAX_ACCESSES: usize = 40;

/// A record that was read from the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditRecord {
    /// The number of the record, starting at 1.
    pub seq: u64,
    /// The time at which the record was written.
    pub time: UtcTimestamp,
    /// The event.
    pub entry: AuditEvent,
}

/// An event in the journal.
#[derive(Clone, Debug, PartialEq)]
pub enum AuditEvent {
    /// A decision was made.
    Decision(Box<DecisionRecord>),
    /// A permitted operation has ended.
    Outcome(OutcomeRecord),
    /// Old segments were removed, up to and including this record.
    Prune(PruneRecord),
    /// An incomplete record at the end was removed. Its writer was killed.
    Repair(RepairRecord),
}

/// A decision: who requested which operation, and the reason for the decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecisionRecord {
    /// The command that decided (`hook`, `run` or `codex review`), or that answered a request
    /// (`approve` or `deny`).
    pub via: String,
    /// The name of the agent, or `person`.
    pub agent: String,
    /// The type of the subagent, if a subagent made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The agent's id of the conversation.
    pub session: String,
    /// The event that a hook answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<AnsweredEvent>,
    /// The agent's id of the call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The task that the call belongs to, if the end of the task can be detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The tool, as the agent spells it.
    pub tool: String,
    /// The requested operation, in one line.
    pub title: String,
    /// The working directory.
    pub cwd: String,
    /// The mode in force.
    pub mode: PermissionMode,
    /// The decision of the engine.
    pub decision: Option<Effect>,
    /// The reason as text: the rule, the mode, the finding of the safety floor or the grant that
    /// decided.
    pub reason: String,
    /// The rule that decided, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// The accesses, each with its own decision.
    pub accesses: Vec<AccessRecord>,
    /// The number of accesses that were left out.
    #[serde(alias = "left_out", skip_serializing_if = "is_zero")]
    pub omitted_accesses: usize,
    /// The answers of the hooks, in their order. Hooks are asked before the rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookAnswer>,
    /// The codes of the findings of the analysis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// The rules that "always" would have added.
    #[serde(rename = "always", skip_serializing_if = "Vec::is_empty")]
    pub suggested_rules: Vec<String>,
    /// The person's answer, if a person was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerRecord>,
    /// The confinement that was requested from the operating system.
    #[serde(alias = "enforced")]
    pub confinement: RequestedConfinement,
}

/// The event of an agent that a hook answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredEvent {
    /// Before the tool runs.
    PreToolUse,
    /// When the agent asks a person.
    PermissionRequest,
    /// An event that this version does not know.
    #[serde(other)]
    Unknown,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// An access with its decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccessRecord {
    /// The kind of the access in rules: `bash`, `read`, …
    pub access: String,
    /// The resource that is accessed.
    #[serde(alias = "what")]
    pub summary: String,
    /// The decision.
    pub decision: Option<Effect>,
    /// The rule that decided, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
}

/// The confinement that was requested from the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestedConfinement {
    /// No confinement. The program has all rights of its user.
    #[default]
    #[serde(rename = "not confined")]
    NotConfined,
    /// Confinement to what the decision permits. The outcome record contains how well it was
    /// enforced.
    #[serde(rename = "confined")]
    Confined,
}

/// The outcome of a permitted operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutcomeRecord {
    /// The number of the record of the decision.
    #[serde(alias = "of")]
    pub decision_seq: u64,
    /// The exit status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    /// The signal that ended the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The reason why the program did not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The message with which the call of an agent failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The running time in milliseconds.
    pub duration_ms: u64,
    /// The person's answer in the agent's own dialog, if the agent asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<AnswerRecord>>,
    /// The backend that confined the program, and each clause that was not enforced exactly as
    /// requested.
    #[serde(alias = "held", skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<EnforcementRecord>,
    /// The accesses that the sandbox denied during the run.
    #[serde(alias = "refused", skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<String>,
    /// The findings after the run that a person should review.
    #[serde(alias = "found", skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// The checkpoint with the previous versions of changed files (`openoxide undo`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
}

/// The enforcement of a command's restrictions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnforcementRecord {
    /// The backend: `namespaces`.
    pub backend: String,
    /// The clauses that were enforced more strictly than the profile requires.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stricter: Vec<String>,
}

/// Old segments were removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PruneRecord {
    /// The number of the last removed record.
    #[serde(alias = "through")]
    pub last_seq: u64,
    /// The hash of the last removed record. The first remaining record names it as its predecessor.
    #[serde(alias = "link")]
    pub last_hash: String,
}

/// An incomplete record was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairRecord {
    /// The length of the removed part, in bytes.
    #[serde(alias = "cut")]
    pub removed_bytes: u64,
}

impl DecisionRecord {
    /// Creates the record of a decision. The caller sets the fields about the requester and the
    /// operation.
    #[must_use]
    pub fn new(decision: &Decision, mode: PermissionMode) -> Self {
        let mut parts: Vec<_> = decision.parts.iter().collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.decision));
        let accesses = parts.iter().take(MAX_ACCESSES).map(|part| AccessRecord {
            access: part.access.permission_name().to_owned(),
            summary: describe_access(&part.access),
            decision: Some(part.decision),
            rule: part.rule.clone(),
        });
        Self {
            mode,
            decision: Some(decision.effect),
            reason: decision.reason.clone(),
            rule: decision.rule.clone(),
            accesses: accesses.collect(),
            omitted_accesses: parts.len().saturating_sub(MAX_ACCESSES),
            findings: decision.findings.iter().map(|found| found.code.to_string()).collect(),
            suggested_rules: decision.suggested_rules.clone(),
            ..Self::default()
        }
    }
}

/// Returns a description of an access. If the path is a link, the description includes its target.
fn describe_access(access: &Access) -> String {
    match access {
        Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) => {
            let led = path.resolved.as_ref().map(|led| format!(" -> {led}"));
            format!("{}{}", path.path, led.unwrap_or_default())
        }
        _ => access.summary().to_owned(),
    }
}

impl AuditEvent {
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Decision(_) => "decision",
            Self::Outcome(_) => "outcome",
            Self::Prune(_) => "removed",
            Self::Repair(_) => "repaired",
        }
    }

    /// Returns the record as JSON. All texts are redacted and limited in length.
    pub(super) fn to_redacted_json(&self) -> Result<String, AuditError> {
        let mut value = match self {
            Self::Decision(decided) => serde_json::to_value(decided),
            Self::Outcome(outcome) => serde_json::to_value(outcome),
            Self::Prune(removed) => serde_json::to_value(removed),
            Self::Repair(repaired) => serde_json::to_value(repaired),
        }?;
        redact_value(&mut value);
        Ok(value.to_string())
    }
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The number of the record, starting at 1.
    pub seq: u64,
    /// The time at which the record was written.
    pub time: UtcTimestamp,
    /// True if the record describes a decision.
    pub is_decision: bool,
    /// True if the record describes the outcome of a call.
    pub is_outcome: bool,
}

impl RecordHeader {
    /// Parses only the header of a journal line, which is fast. Returns `None` if the line is not a
    /// record.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let frame = SealedLine::parse(line)?;
        let (is_decision, is_outcome) = (frame.kind == "decision", frame.kind == "outcome");
        let time = UtcTimestamp::parse(frame.time)?;
        Some(Self { seq: frame.seq, time, is_decision, is_outcome })
    }
}

impl AuditRecord {
    /// Parses a journal line. Returns `None` if the line is not a record or has an unknown kind.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let frame = SealedLine::parse(line)?;
        let entry = match frame.kind {
            "decision" => AuditEvent::Decision(serde_json::from_slice(line).ok()?),
            "outcome" => AuditEvent::Outcome(serde_json::from_slice(line).ok()?),
            "removed" => AuditEvent::Prune(serde_json::from_slice(line).ok()?),
            "repaired" => AuditEvent::Repair(serde_json::from_slice(line).ok()?),
            _ => return None,
        };
        Some(Self { seq: frame.seq, time: UtcTimestamp::parse(frame.time)?, entry })
    }
}

impl PruneRecord {
    pub(super) fn from_link(link: JournalPosition) -> Self {
        Self { last_seq: link.seq, last_hash: link.hash }
    }
}

#[cfg(test)]
mod tests;
