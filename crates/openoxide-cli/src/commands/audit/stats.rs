//! `audit stats`: what is asked about, and which rules decide.

mod chart;
mod count;

use openoxide_permission::LayerKind;
use openoxide_protocol::{RuleRef, SCHEMA};
use openoxide_store::audit::{AuditError, DAY, Journal, Moment, redact};
use serde_json::{Value, json};

use super::NOTHING;
use crate::{args::PolicyArgs, exit::Exit, policy_args, report};
use count::Counts;

/// Counts what was decided in the last days, today included.
pub(super) fn stats(as_json: bool, days: u16, journal: &Journal) -> Result<Exit, AuditError> {
    let today = Moment::now().day();
    let first = (today + 1).saturating_sub(u64::from(days));
    let counts = Counts::of(journal, Moment(first * DAY))?;
    if counts.records == 0 && !as_json {
        return Ok(report::data(format!("{NOTHING}\n").as_bytes(), Exit::Success));
    }
    let questions: Vec<_> =
        (first..=today).map(|day| (date(day), counts.questions_on(day))).collect();
    let idle = rules().map(|rules| idle(rules, &counts));
    let text = match as_json {
        true => format!("{}\n", in_json(&counts, &questions, idle.as_deref())),
        false => chart::in_words(&counts, &questions, idle.as_deref()),
    };
    Ok(report::data(text.as_bytes(), Exit::Success))
}

fn date(day: u64) -> String {
    Moment(day * DAY).to_string().split('T').next().unwrap_or_default().to_owned()
}

/// Returns the rules in force here, but for the built-in ones; nothing where the policy cannot be relied on.
fn rules() -> Option<Vec<RuleRef>> {
    let here = PolicyArgs::default();
    let engine = policy_args::open_with_layers(&here).ok()?;
    let layers = engine.layers().iter().filter(|layer| layer.kind != LayerKind::Default);
    let rules = layers.flat_map(|layer| {
        let (kind, file) = (layer.kind, &layer.file);
        layer.rules.iter().map(move |rule| RuleRef {
            layer: kind.as_str().to_owned(),
            file: file.clone(),
            line: (rule.line != 0).then_some(rule.line),
            text: format!("{} {}", rule.effect.as_str(), rule.text),
            reason: None,
        })
    });
    let rules = rules.collect();
    let is_whole = engine.managed_policy_error().is_none() && engine.broken_files().is_empty();
    is_whole.then_some(rules)
}

/// Returns the rules that decided nothing. In the journal, their texts went through the redaction.
fn idle(rules: Vec<RuleRef>, counts: &Counts) -> Vec<RuleRef> {
    let is_idle = |rule: &RuleRef| {
        let file = rule.file.as_deref().map(|file| redact(file).into_owned());
        !counts.has_used(&rule.layer, file.as_deref(), &redact(&rule.text))
    };
    rules.into_iter().filter(is_idle).collect()
}

fn in_json(counts: &Counts, questions: &[(String, u64)], idle: Option<&[RuleRef]>) -> Value {
    let questions = questions.iter().map(|(day, count)| json!({ "day": day, "count": count }));
    let prefixes = counts.prefixes();
    let prefixes =
        prefixes.iter().map(|(prefix, count)| json!({ "prefix": prefix, "count": count }));
    let rules = counts.rules();
    let rules = rules.iter().map(|(rule, count)| json!({ "rule": rule, "count": count }));
    json!({
        "schema": SCHEMA,
        "days": questions.len(),
        "decisions": { "allow": counts.allow, "ask": counts.ask, "deny": counts.deny },
        "questions": questions.collect::<Vec<_>>(),
        "prefixes": prefixes.collect::<Vec<_>>(),
        "rules": rules.collect::<Vec<_>>(),
        "never_used": idle,
    })
}
