//! The requests that each choice of "always" would have answered in the past, according to the
//! audit log.
//!
//! Only certain matches are included: each command is analysed again from its recorded text. A
//! command that was truncated or redacted, or that has another meaning outside of its script, does
//! not match. The history does not influence any decision. It is information for the person who
//! chooses.

use std::{cmp::Reverse, collections::HashMap};

use openoxide_permission::{EvaluationContext, SessionGrants};
use openoxide_protocol::{
    AbsPath, Access, ApprovalRequest, ChoiceHistory, Effect, PermissionMode, RuleRef,
};
use openoxide_shell::{AnalysisContext, analyze_script};
use openoxide_store::{
    UserEnvironment,
    audit::{
        AuditError, Journal, MILLIS_PER_DAY, REDACTED, RecordHeader, UtcTimestamp, split_lines,
    },
};
use serde::Deserialize;

const MAX_AGE_DAYS: u64 = 30;
/// The maximum that is read, because a person waits for the result.
const MAX_BYTES: u64 = 8 << 20;
const MAX_RECORDS: usize = 20_000;
const MAX_EXAMPLES: usize = 5;
/// The marker in a text that was truncated.
const TRUNCATION_MARK: &str = "[… ";

/// The questions of the last days.
#[derive(Debug, Default)]
pub struct ApprovalHistory {
    /// The total number of questions, including those that no rule could have answered.
    total_questions: u32,
    /// The questions about commands only, with the number of times that each was asked.
    questions: Vec<(Vec<Access>, u32)>,
}

/// The fields of a decision record that are read.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct DecisionSummary {
    via: String,
    decision: Option<Effect>,
    cwd: String,
    #[serde(alias = "left_out")]
    omitted_accesses: usize,
    always: Vec<String>,
    accesses: Vec<AccessSummary>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AccessSummary {
    access: String,
    #[serde(alias = "what")]
    summary: String,
    decision: Option<Effect>,
    rule: Option<RuleRef>,
}

/// The directory, and the commands of the question.
type QuestionKey = (String, Vec<String>);

impl ApprovalHistory {
    /// Reads the newest records. If none can be read, the history is empty.
    #[must_use]
    pub fn read(environment: &UserEnvironment) -> Self {
        let mut asked = HashMap::new();
        let mut total_questions = 0;
        drop(read_questions(environment, |decided| {
            total_questions += 1;
            if let Some(key) = asked_commands(decided) {
                *asked.entry(key).or_insert(0) += 1;
            }
        }));
        let questions =
            asked.into_iter().filter_map(|((cwd, texts), count): (QuestionKey, u32)| {
                let cwd = AbsPath::new(&cwd).ok()?;
                let setting = AnalysisContext { cwd: &cwd, home: environment.home.as_ref() };
                let accesses: Option<Vec<_>> =
                    texts.iter().map(|text| reanalyze_command(text, &setting)).collect();
                Some((accesses?, count))
            });
        Self { total_questions, questions: questions.collect() }
    }

    /// Returns for each choice of a request how many of the questions it would have answered.
    #[must_use]
    pub fn choice_histories(&self, request: &ApprovalRequest) -> Vec<ChoiceHistory> {
        let choices = request.choices();
        choices.iter().map(|choice| self.choice_history(&choice.rules, request)).collect()
    }

    fn choice_history(&self, rules: &[String], request: &ApprovalRequest) -> ChoiceHistory {
        let (mode, cwd) = (PermissionMode::Default, &request.cwd);
        let context = EvaluationContext {
            mode,
            cwd,
            roots: &[],
            policy_error: None,
            auto_allow: Default::default(),
        };
        let mut grants = SessionGrants::default();
        grants.add_rules(rules, &context);
        let covered = |(accesses, _): &&(Vec<Access>, u32)| {
            accesses.iter().all(|access| grants.granted_rules_allow(&context, access))
        };
        let answered: Vec<_> = self.questions.iter().filter(covered).collect();
        let answers = answered.iter().map(|(_, count)| count).sum();
        ChoiceHistory {
            would_have_answered: answers,
            total: self.total_questions,
            examples: example_commands(&answered, request),
        }
    }
}

/// Returns the commands that were allowed most often, except for those of this request.
fn example_commands(answered: &[&(Vec<Access>, u32)], request: &ApprovalRequest) -> Vec<String> {
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for (accesses, count) in answered {
        for access in accesses {
            *counts.entry(access.summary()).or_default() += count;
        }
    }
    for part in &request.decision.parts {
        counts.remove(part.access.summary());
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(text, count)| (Reverse(*count), *text));
    counts.into_iter().take(MAX_EXAMPLES).map(|(text, _)| text.to_owned()).collect()
}

/// Passes each question that is not too old to a function, newest first.
fn read_questions(
    environment: &UserEnvironment,
    mut asked: impl FnMut(&DecisionSummary),
) -> Result<(), AuditError> {
    let from = UtcTimestamp(UtcTimestamp::now().0.saturating_sub(MAX_AGE_DAYS * MILLIS_PER_DAY));
    let (mut bytes, mut records) = (MAX_BYTES, MAX_RECORDS);
    for segment in Journal::for_user(environment)?.open_segments_with_records_after(0)?.iter().rev()
    {
        let text = segment.read_tail(bytes)?;
        bytes = bytes.saturating_sub(text.len() as u64);
        let newest: Vec<_> = split_lines(&text).0.collect();
        for line in newest.into_iter().rev().take(records) {
            records -= 1;
            let Some(head) = RecordHeader::parse(line).filter(|head| head.is_decision) else {
                continue;
            };
            if head.time < from {
                return Ok(());
            }
            let decided: Option<DecisionSummary> = serde_json::from_slice(line).ok();
            decided.iter().filter(|decided| is_question(decided)).for_each(&mut asked);
        }
        let cut = (text.len() as u64) < segment.byte_count();
        if cut || bytes == 0 || records == 0 {
            break;
        }
    }
    Ok(())
}

/// Returns whether the record is a new question. An answer from another terminal records the same
/// question once more and is skipped.
fn is_question(decided: &DecisionSummary) -> bool {
    decided.decision == Some(Effect::Ask) && !["approve", "deny"].contains(&&*decided.via)
}

/// Returns the working directory and the commands of the question, if rules about commands could
/// have answered it.
fn asked_commands(decided: &DecisionSummary) -> Option<QuestionKey> {
    let asked = decided.accesses.iter().filter(|access| access.decision == Some(Effect::Ask));
    let texts: Option<Vec<_>> = asked.map(asked_command).collect();
    let texts = texts.filter(|texts| !texts.is_empty())?;
    let whole = decided.omitted_accesses == 0 && !decided.always.is_empty();
    whole.then(|| (decided.cwd.clone(), texts))
}

/// Returns the command of an access, if a project grant could have answered the question. Rules of
/// layers with higher precedence than project grants ask nevertheless.
fn asked_command(judged: &AccessSummary) -> Option<String> {
    let above = |rule: &RuleRef| ["managed", "cli"].contains(&&*rule.layer);
    let lost = judged.summary.contains(REDACTED) || judged.summary.contains(TRUNCATION_MARK);
    let counts = judged.access == "bash" && !lost && !judged.rule.as_ref().is_some_and(above);
    counts.then(|| judged.summary.clone())
}

/// Analyses a recorded command. Returns `None` if it has another meaning outside of its script.
fn reanalyze_command(text: &str, setting: &AnalysisContext<'_>) -> Option<Access> {
    let mut accesses = analyze_script(text, setting).accesses.into_iter();
    accesses.find(|access| match access {
        Access::Exec(exec) => exec.text == text && exec.argv.is_known(),
        Access::Read(_)
        | Access::Edit(_)
        | Access::Fetch { .. }
        | Access::Socket(_)
        | Access::CallTool { .. }
        | Access::Delegate { .. }
        | Access::Repetition { .. }
        | Access::ExternalDirectory(_)
        | Access::Opaque { .. } => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Earlier versions wrote `left_out` and `what`.
    #[test]
    fn records_with_old_names_are_read() {
        let record = |omitted: &str, summary: &str| -> DecisionSummary {
            let text = format!(
                r#"{{"via":"run","decision":"ask","cwd":"/p","{omitted}":0,"always":["Bash(x *)"],
                    "accesses":[{{"access":"bash","{summary}":"x y","decision":"ask"}}]}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let expected = Some(("/p".to_owned(), vec!["x y".to_owned()]));
        assert_eq!(asked_commands(&record("omitted_accesses", "summary")), expected);
        assert_eq!(asked_commands(&record("left_out", "what")), expected);
        let partial: DecisionSummary = serde_json::from_str(r#"{"left_out":6}"#).unwrap();
        assert_eq!(partial.omitted_accesses, 6);
    }
}
