//! Recorded calls that required approval, and the rules that would allow them.
//!
//! A record only names the call. Whether it is asked about, and which rules "always" would save, is
//! decided again with the current policy, so a record cannot offer a rule that no prompt offers.

use openoxide_protocol::{AbsPath, Decision, Effect, HookDecision, PermissionMode, RuleRef};
use openoxide_store::{
    UserEnvironment,
    audit::{
        AuditError, AuditEvent, AuditRecord, DecisionRecord, Journal, UtcTimestamp, split_lines,
    },
    find_project_root,
};

use crate::{
    call_history::{call_record, extra_tool, is_call},
    engine::Engine,
};

/// The question to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionSelection {
    /// The last one.
    Last,
    /// The one with this record number.
    Record(u64),
}

/// A recorded call that required approval.
#[derive(Clone, Debug)]
pub struct RecordedQuestion {
    /// The number of the record.
    pub seq: u64,
    /// The time of the record.
    pub time: UtcTimestamp,
    /// The record.
    pub record: DecisionRecord,
}

/// The rules that would allow a recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleOffer {
    /// The rules that "always" would save.
    Rules(Vec<String>),
    /// The current policy allows the call; the reason.
    AlreadyAllowed(String),
    /// No rule is offered; the reason.
    Withheld(String),
}

impl RecordedQuestion {
    /// Finds a question about a call in a project.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub fn find(
        environment: &UserEnvironment,
        project: &AbsPath,
        selection: QuestionSelection,
    ) -> Result<Option<Self>, AuditError> {
        let segments = Journal::for_user(environment)?.open_segments_with_records_after(0)?;
        for segment in segments.iter().rev() {
            let bytes = segment.read_all()?;
            let lines: Vec<_> = split_lines(&bytes).0.collect();
            let mut questions = lines.into_iter().rev().filter_map(Self::from_line);
            let found = questions.find(|question| {
                let is_selected = match selection {
                    QuestionSelection::Last => true,
                    QuestionSelection::Record(seq) => question.seq == seq,
                };
                is_selected && question.is_in_project(project, environment.home.as_ref())
            });
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn from_line(line: &[u8]) -> Option<Self> {
        let AuditRecord { seq, time, entry } = AuditRecord::parse(line)?;
        let AuditEvent::Decision(record) = entry else { return None };
        is_unanswered_by_rules(&record).then_some(Self { seq, time, record: *record })
    }

    fn is_in_project(&self, project: &AbsPath, home: Option<&AbsPath>) -> bool {
        let cwd = AbsPath::new(&self.record.cwd).ok();
        cwd.is_some_and(|cwd| find_project_root(&cwd, home) == *project)
    }

    /// Returns the rules that would allow the call under the current policy.
    #[must_use]
    pub fn offer_rules(&self, engine: &Engine) -> RuleOffer {
        if self.record.hooks.iter().any(|answer| answer.decision != HookDecision::Pass) {
            return RuleOffer::Withheld("a hook decides about it each time".to_owned());
        }
        if let Some(tool) = extra_tool(&self.record) {
            return RuleOffer::Withheld(format!("the command also requires the tool `{tool}`"));
        }
        match self.decide(engine) {
            Some(decision) => offered_rules(decision),
            None => RuleOffer::Withheld(
                "its record is incomplete, because the call is long or contains a secret"
                    .to_owned(),
            ),
        }
    }

    /// Decides the call again. Returns `None` if its record is incomplete.
    #[must_use]
    pub fn decide(&self, engine: &Engine) -> Option<Decision> {
        let call = call_record(&self.record)?;
        let again = call.to_approvable_call(engine.home());
        Some(engine.evaluate(&again).decision)
    }
}

/// Returns whether no rule decided the call: it was asked about, or denied because no person is asked.
fn is_unanswered_by_rules(record: &DecisionRecord) -> bool {
    let is_default_deny = record.decision == Some(Effect::Deny)
        && record.mode == PermissionMode::DontAsk
        && record.rule.is_none()
        && record
            .accesses
            .iter()
            .all(|access| access.decision != Some(Effect::Deny) || access.rule.is_none());
    is_call(record) && (record.decision == Some(Effect::Ask) || is_default_deny)
}

fn offered_rules(decision: Decision) -> RuleOffer {
    match decision.effect {
        Effect::Allow => RuleOffer::AlreadyAllowed(decision.reason),
        Effect::Deny => RuleOffer::Withheld(decision.reason),
        Effect::Ask => match asking_rule(&decision) {
            Some(rule) => RuleOffer::Withheld(format!("the rule `{}` asks about it", rule.text)),
            None if decision.suggested_rules.is_empty() => RuleOffer::Withheld(decision.reason),
            None => RuleOffer::Rules(decision.suggested_rules),
        },
    }
}

/// Returns the rule that asks about the call or a part of it.
pub(crate) fn asking_rule(decision: &Decision) -> Option<&RuleRef> {
    let asking = decision.parts.iter().filter(|part| part.decision == Effect::Ask);
    decision.rule.as_ref().or_else(|| asking.filter_map(|part| part.rule.as_ref()).next())
}

#[cfg(test)]
mod tests {
    use openoxide_store::audit::AccessRecord;

    use super::*;

    fn record(decision: Effect, mode: PermissionMode) -> DecisionRecord {
        let tool = "Bash".to_owned();
        DecisionRecord { tool, mode, decision: Some(decision), ..DecisionRecord::default() }
    }

    #[test]
    fn only_questions_and_default_denials_are_found() {
        use PermissionMode::{Default, DontAsk};
        assert!(is_unanswered_by_rules(&record(Effect::Ask, Default)));
        assert!(is_unanswered_by_rules(&record(Effect::Deny, DontAsk)));
        assert!(!is_unanswered_by_rules(&record(Effect::Allow, Default)));
        assert!(!is_unanswered_by_rules(&record(Effect::Deny, Default)));
        let rule = RuleRef {
            layer: "user".to_owned(),
            file: None,
            line: None,
            text: "deny Bash(rm *)".to_owned(),
            reason: None,
        };
        let denied = AccessRecord {
            decision: Some(Effect::Deny),
            rule: Some(rule.clone()),
            ..AccessRecord::default()
        };
        let by_rule = DecisionRecord { accesses: vec![denied], ..record(Effect::Deny, DontAsk) };
        assert!(!is_unanswered_by_rules(&by_rule));
        let by_rule = DecisionRecord { rule: Some(rule), ..record(Effect::Deny, DontAsk) };
        assert!(!is_unanswered_by_rules(&by_rule));
        let answer = DecisionRecord { via: "approve".to_owned(), ..record(Effect::Ask, Default) };
        assert!(!is_unanswered_by_rules(&answer));
    }
}
