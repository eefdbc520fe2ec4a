//! Recorded calls that are decided again, for `audit replay` and `rules diff --history`.
//!
//! A command is analysed again from its text. Any other call is rebuilt from its accesses. Redacted
//! and truncated records are counted and not decided again. Files are examined as they are now.
//! Hooks do not run again, and session grants are not known.

use std::collections::HashMap;

use openoxide_adapters::tool_action;
use openoxide_protocol::{
    AbsPath, Action, Effect, HookDecision, OperationFacts, PermissionMode, RuleRef,
};
use openoxide_store::{
    UserEnvironment,
    audit::{
        AuditError, AuditEvent, AuditRecord, DecisionRecord, Journal, REDACTED, UtcTimestamp,
        split_lines,
    },
};
use serde_json::json;

use crate::{
    engine_call::EngineCall,
    operation_facts::{CallLocation, collect_action_facts, collect_question_facts},
};

/// The marker in a text that was truncated.
const TRUNCATION_MARK: &str = "[… ";
/// The permission of accesses that are calls of tools.
const TOOL_PERMISSION: &str = "tool";
/// The separator between a path and its target.
const LINK_ARROW: &str = " -> ";

/// The calls that the audit log recorded, grouped by call and decision.
#[derive(Debug, Default)]
pub struct CallHistory {
    /// The calls that can be decided again, in the order in which they were first recorded.
    pub calls: Vec<RecordedDecision>,
    /// The number of calls that were redacted or truncated.
    pub incomplete_calls: u64,
    /// The number of calls that a hook decided.
    pub hook_decisions: u64,
}

/// A recorded call with the decision that it received, and how often.
#[derive(Debug)]
pub struct RecordedDecision {
    /// The call.
    pub call: RecordedCall,
    /// The recorded effect of the decision.
    pub effect: Effect,
    /// The number of times that the call was recorded with this effect.
    pub count: u64,
    /// The sequence number of its last record.
    pub last_seq: u64,
    /// The rule that decided at that time.
    pub rule: Option<RuleRef>,
}

/// The part of an audit record that is needed to decide its call again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordedCall {
    /// The working directory of the call.
    pub cwd: AbsPath,
    /// The mode in which it was decided.
    pub mode: PermissionMode,
    /// The tool.
    pub tool: String,
    /// The command, or the title of another call.
    pub title: String,
    /// The accesses of a call that is not a command: the kind and the subject of each.
    accesses: Vec<(String, String)>,
}

/// Reads the calls that were recorded since a point in time.
///
/// # Errors
/// Returns an error if the journal cannot be read. A missing journal results in an empty history.
pub fn read_history(
    environment: &UserEnvironment,
    since: Option<UtcTimestamp>,
) -> Result<CallHistory, AuditError> {
    let (mut past, mut known) = (CallHistory::default(), HashMap::new());
    for segment in Journal::for_user(environment)?.open_segments_with_records_after(0)? {
        let bytes = segment.read_all()?;
        for record in split_lines(&bytes).0.filter_map(AuditRecord::parse) {
            if since.is_none_or(|since| record.time >= since) {
                past.add_record(record, &mut known);
            }
        }
    }
    Ok(past)
}

impl CallHistory {
    fn add_record(
        &mut self,
        record: AuditRecord,
        known: &mut HashMap<(RecordedCall, Effect), usize>,
    ) {
        let AuditEvent::Decision(decided) = record.entry else { return };
        let Some(was) = decided.decision.filter(|_| is_call(&decided)) else { return };
        if decided.hooks.iter().any(|answer| answer.decision != HookDecision::Pass) {
            self.hook_decisions += 1;
            return;
        }
        let Some(what) = call_record(&decided) else {
            self.incomplete_calls += 1;
            return;
        };
        let at = *known.entry((what.clone(), was)).or_insert(self.calls.len());
        match self.calls.get_mut(at) {
            Some(call) => {
                (call.count, call.last_seq, call.rule) = (call.count + 1, record.seq, decided.rule);
            }
            None => {
                let (last, rule) = (record.seq, decided.rule);
                self.calls.push(RecordedDecision {
                    call: what,
                    effect: was,
                    count: 1,
                    last_seq: last,
                    rule,
                });
            }
        }
    }
}

/// Returns whether the record is a call. An answer from another terminal records the same question
/// once more, and a record that is not a call has no tool.
pub(crate) fn is_call(decided: &DecisionRecord) -> bool {
    !decided.tool.is_empty() && !["approve", "deny"].contains(&&*decided.via)
}

/// Returns the data that is needed to decide a call again, or `None` if part of it was redacted or
/// truncated.
pub(crate) fn call_record(decided: &DecisionRecord) -> Option<RecordedCall> {
    let what = partial_call_record(decided)?;
    let whole = |text: &str| !text.contains(REDACTED) && !text.contains(TRUNCATION_MARK);
    let texts = [&decided.cwd, &what.title].into_iter();
    let all = texts.chain(what.accesses.iter().map(|(_, text)| text)).all(|text| whole(text));
    all.then_some(what)
}

/// Returns the data of a call, including the texts of which a part was redacted or truncated.
pub(crate) fn partial_call_record(decided: &DecisionRecord) -> Option<RecordedCall> {
    let (cwd, mode) = (AbsPath::new(&decided.cwd).ok()?, decided.mode);
    let (tool, title) = (decided.tool.clone(), decided.title.clone());
    let mut what = RecordedCall { cwd, mode, tool, title, accesses: Vec::new() };
    if what.to_script_action().is_none() {
        what.accesses = recorded_accesses(decided)?;
    }
    Some(what)
}

/// Returns the tool that a command requires in addition: its agent asked to run it without a
/// sandbox.
pub(crate) fn extra_tool(decided: &DecisionRecord) -> Option<&str> {
    let (tools, others): (Vec<_>, Vec<_>) =
        decided.accesses.iter().partition(|access| access.access == TOOL_PERMISSION);
    tools.first().filter(|_| !others.is_empty()).map(|tool| tool.summary.as_str())
}

fn recorded_accesses(decided: &DecisionRecord) -> Option<Vec<(String, String)>> {
    let path = |text: &str| match text.split_once(LINK_ARROW) {
        Some((_, led)) if led.contains(LINK_ARROW) => None, // Which of them was a name?
        Some((path, _)) => Some(path.to_owned()),
        None => Some(text.to_owned()),
    };
    let one = |kind: &str, text: &str| match kind {
        "read" | "edit" | "external_directory" => Some((kind.to_owned(), path(text)?)),
        "webfetch" | "task" | "tool" | "doom_loop" => Some((kind.to_owned(), text.to_owned())),
        _ => None,
    };
    let all: Option<Vec<_>> =
        decided.accesses.iter().map(|judged| one(&judged.access, &judged.summary)).collect();
    all.filter(|all| !all.is_empty() && decided.omitted_accesses == 0)
}

impl RecordedCall {
    /// Returns the script, if the tool runs one.
    fn to_script_action(&self) -> Option<Action> {
        let action = tool_action::parse_action(&self.tool, &json!({ "command": self.title }));
        matches!(action, Action::Command { .. }).then_some(action)
    }

    /// Returns the current facts about the call.
    pub(crate) fn to_facts(&self, home: Option<&AbsPath>) -> OperationFacts {
        let place = CallLocation { cwd: &self.cwd, home };
        if let Some(action) = self.to_script_action() {
            return collect_action_facts(&action, &self.tool, place);
        }
        let mut all = OperationFacts::default();
        for (kind, text) in &self.accesses {
            let facts = match kind.as_str() {
                "tool" => collect_action_facts(&Action::CallTool, text, place),
                kind => collect_question_facts(kind, std::slice::from_ref(text), place),
            };
            all.accesses.extend(facts.accesses);
            all.findings.extend(facts.findings);
        }
        all
    }

    /// Returns the call to evaluate. It has the mode in which it was decided or, if that was the
    /// default mode, the mode of the engine.
    #[must_use]
    pub fn to_call(&self, home: Option<&AbsPath>) -> EngineCall {
        let mode = (self.mode != PermissionMode::default()).then_some(self.mode);
        EngineCall::from_facts(self.to_facts(home), self.cwd.clone()).with_mode(mode)
    }

    /// Returns the call to evaluate whether rules could allow it. It has the mode in which it was
    /// decided, unless that mode denies calls that require approval.
    #[must_use]
    pub(crate) fn to_approvable_call(&self, home: Option<&AbsPath>) -> EngineCall {
        let is_dont_ask = self.mode == PermissionMode::DontAsk;
        let mode = if is_dont_ask { PermissionMode::Default } else { self.mode };
        self.to_call(home).with_mode(Some(mode))
    }
}
