//! What each choice of "always" would have answered before, as far as the audit tells.
//!
//! Only what is certain counts: a command is read again from its text, and one that was cut, redacted or does not mean the same alone
//! is no match. Nothing is decided by it: it is what a person reads before choosing.

use std::{cmp::Reverse, collections::HashMap};

use openoxide_permission::{Context, Grants};
use openoxide_protocol::{
    AbsPath, Access, ApprovalRequest, Effect, PermissionMode, Recalled, RuleRef,
};
use openoxide_shell::{Setting, analyse};
use openoxide_store::{
    Environment,
    audit::{AuditError, DAY, Head, Journal, Moment, REDACTED, lines},
};
use serde::Deserialize;

const DAYS: u64 = 30;
/// The maximum that is read: a person waits for it.
const BYTES: u64 = 8 << 20;
const RECORDS: usize = 20_000;
const EXAMPLES: usize = 5;
/// Stands in a text that was cut.
const CUT: &str = "[… ";

/// The questions of the last days.
#[derive(Debug, Default)]
pub struct History {
    /// How many there were, those included that no rule could have answered.
    all: u32,
    /// Those about commands alone, with how often each was asked.
    questions: Vec<(Vec<Access>, u32)>,
}

/// What is read of a decision's record.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Decided {
    via: String,
    decision: Option<Effect>,
    cwd: String,
    left_out: usize,
    always: Vec<String>,
    accesses: Vec<Judged>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Judged {
    access: String,
    what: String,
    decision: Option<Effect>,
    rule: Option<RuleRef>,
}

/// The directory, and the commands that were asked about.
type Key = (String, Vec<String>);

impl History {
    /// Reads the newest records. Where none can be read there are none.
    #[must_use]
    pub fn read(environment: &Environment) -> Self {
        let mut asked = HashMap::new();
        let mut all = 0;
        drop(read(environment, |decided| {
            all += 1;
            if let Some(key) = commands(decided) {
                *asked.entry(key).or_insert(0) += 1;
            }
        }));
        let questions = asked.into_iter().filter_map(|((cwd, texts), count): (Key, u32)| {
            let cwd = AbsPath::new(&cwd).ok()?;
            let setting = Setting { cwd: &cwd, home: environment.home.as_ref() };
            let accesses: Option<Vec<_>> = texts.iter().map(|text| again(text, &setting)).collect();
            Some((accesses?, count))
        });
        Self { all, questions: questions.collect() }
    }

    /// Returns for each choice of a request how many of the questions it would have answered.
    #[must_use]
    pub fn recalled(&self, request: &ApprovalRequest) -> Vec<Recalled> {
        let choices = request.choices();
        choices.iter().map(|choice| self.of(&choice.rules, request)).collect()
    }

    fn of(&self, rules: &[String], request: &ApprovalRequest) -> Recalled {
        let (mode, cwd) = (PermissionMode::Default, &request.cwd);
        let context = Context { mode, cwd, roots: &[], doubt: None };
        let mut grants = Grants::default();
        grants.add_rules(rules, &context);
        let covered = |(accesses, _): &&(Vec<Access>, u32)| {
            accesses.iter().all(|access| grants.cover(&context, access))
        };
        let answered: Vec<_> = self.questions.iter().filter(covered).collect();
        let answers = answered.iter().map(|(_, count)| count).sum();
        Recalled { answers, of: self.all, examples: examples(&answered, request) }
    }
}

/// Returns the commands that were allowed most often, but for those that are asked about now.
fn examples(answered: &[&(Vec<Access>, u32)], request: &ApprovalRequest) -> Vec<String> {
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
    counts.into_iter().take(EXAMPLES).map(|(text, _)| text.to_owned()).collect()
}

/// Hands out each question that is not too old, the newest first.
fn read(environment: &Environment, mut asked: impl FnMut(&Decided)) -> Result<(), AuditError> {
    let from = Moment(Moment::now().0.saturating_sub(DAYS * DAY));
    let (mut bytes, mut records) = (BYTES, RECORDS);
    for segment in Journal::of(environment)?.segments_after(0)?.iter().rev() {
        let text = segment.newest(bytes)?;
        bytes = bytes.saturating_sub(text.len() as u64);
        let newest: Vec<_> = lines(&text).0.collect();
        for line in newest.into_iter().rev().take(records) {
            records -= 1;
            let Some(head) = Head::read(line).filter(|head| head.is_decision) else { continue };
            if head.time < from {
                return Ok(());
            }
            let decided: Option<Decided> = serde_json::from_slice(line).ok();
            decided.iter().filter(|decided| is_question(decided)).for_each(&mut asked);
        }
        let cut = (text.len() as u64) < segment.length();
        if cut || bytes == 0 || records == 0 {
            break;
        }
    }
    Ok(())
}

/// Who answered from elsewhere writes the same question down once more.
fn is_question(decided: &Decided) -> bool {
    decided.decision == Some(Effect::Ask) && !["approve", "deny"].contains(&&*decided.via)
}

/// Returns what was asked about, if rules about commands could have answered it.
fn commands(decided: &Decided) -> Option<Key> {
    let asked = decided.accesses.iter().filter(|access| access.decision == Some(Effect::Ask));
    let texts: Option<Vec<_>> = asked.map(command).collect();
    let texts = texts.filter(|texts| !texts.is_empty())?;
    let whole = decided.left_out == 0 && !decided.always.is_empty();
    whole.then(|| (decided.cwd.clone(), texts))
}

/// A rule that comes before what is kept for a project asks all the same.
fn command(judged: &Judged) -> Option<String> {
    let above = |rule: &RuleRef| ["managed", "cli"].contains(&&*rule.layer);
    let lost = judged.what.contains(REDACTED) || judged.what.contains(CUT);
    let counts = judged.access == "bash" && !lost && !judged.rule.as_ref().is_some_and(above);
    counts.then(|| judged.what.clone())
}

/// Reads a command again; nothing if it does not mean the same alone.
fn again(text: &str, setting: &Setting<'_>) -> Option<Access> {
    let mut accesses = analyse(text, setting).accesses.into_iter();
    accesses.find(|access| match access {
        Access::Exec(exec) => exec.text == text && exec.argv.is_known(),
        Access::Read(_)
        | Access::Edit(_)
        | Access::Fetch { .. }
        | Access::CallTool { .. }
        | Access::Delegate { .. }
        | Access::DoomLoop { .. }
        | Access::ExternalDirectory(_)
        | Access::Opaque { .. } => false,
    })
}
