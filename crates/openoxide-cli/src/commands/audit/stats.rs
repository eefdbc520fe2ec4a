//! `audit stats`: the most frequent questions, and the rules that decide.

mod decision_counts;
mod question_counts;
mod stats_chart;

use openoxide_permission::LayerKind;
use openoxide_protocol::{RuleRef, SCHEMA};
use openoxide_store::audit::{AuditError, Journal, MILLIS_PER_DAY, UtcTimestamp, redact};
use serde_json::{Value, json};

use super::journal_text::{NO_RECORDS, print_fault_note};
use crate::{args::PolicyArgs, policy_args, program_exit::ProgramExit, user_messages};
pub(crate) use decision_counts::DecisionCounts;
use question_counts::MAX_TITLES;

/// The maximum number of days that are listed.
const MAX_DAYS: u64 = 3650;

/// Returns the start of a period of this many days that ends today.
pub(super) fn first_moment(days: u16) -> UtcTimestamp {
    let today = UtcTimestamp::now().day_number();
    UtcTimestamp((today + 1).saturating_sub(u64::from(days)) * MILLIS_PER_DAY)
}

/// Counts the decisions since a moment.
pub(super) fn show_stats(
    as_json: bool,
    from: UtcTimestamp,
    journal: &Journal,
) -> Result<ProgramExit, AuditError> {
    let today = UtcTimestamp::now().day_number();
    let first = from.day_number().max((today + 1).saturating_sub(MAX_DAYS));
    let counts = DecisionCounts::from_journal(journal, from)?;
    let is_intact = print_fault_note(journal)?;
    if counts.total_records == 0 && is_intact && !as_json {
        return Ok(user_messages::print_data(&format!("{NO_RECORDS}\n"), ProgramExit::Success));
    }
    let questions: Vec<_> =
        (first..=today).map(|day| (day_to_date(day), counts.questions_on_day(day))).collect();
    let idle = rules_in_force().map(|rules| find_unused_rules(rules, &counts));
    let text = match as_json {
        true => format!("{}\n", render_json(&counts, &questions, idle.as_deref())),
        false => stats_chart::render_text(&counts, &questions, idle.as_deref()),
    };
    Ok(user_messages::print_data(&text, ProgramExit::Success))
}

fn day_to_date(day: u64) -> String {
    UtcTimestamp(day * MILLIS_PER_DAY).to_string().split('T').next().unwrap_or_default().to_owned()
}

/// Returns the rules in force here without the built-in ones, or nothing if the policy has errors.
fn rules_in_force() -> Option<Vec<RuleRef>> {
    let here = PolicyArgs::default();
    let engine = policy_args::open_engine_with_layers(&here).ok()?;
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

/// Returns the rules that decided nothing. The texts of rules in the journal are redacted, so
/// redacted texts are compared.
fn find_unused_rules(rules: Vec<RuleRef>, counts: &DecisionCounts) -> Vec<RuleRef> {
    let is_idle = |rule: &RuleRef| {
        let file = rule.file.as_deref().map(|file| redact(file).into_owned());
        !counts.has_decided(&rule.layer, file.as_deref(), &redact(&rule.text))
    };
    rules.into_iter().filter(is_idle).collect()
}

fn render_json(
    counts: &DecisionCounts,
    questions: &[(String, u64)],
    idle: Option<&[RuleRef]>,
) -> Value {
    let questions = questions.iter().map(|(day, count)| json!({ "day": day, "count": count }));
    let prefixes = counts.prefixes_by_count();
    let prefixes =
        prefixes.iter().map(|(prefix, count)| json!({ "prefix": prefix, "count": count }));
    let rules = counts.rules_by_count();
    let rules = rules.iter().map(|(rule, count)| json!({ "rule": rule, "count": count }));
    let titles = counts.questions.titles_by_count();
    let titles = titles
        .iter()
        .take(MAX_TITLES)
        .map(|(title, count)| json!({ "title": title, "count": count }));
    json!({
        "schema": SCHEMA,
        "days": questions.len(),
        "decisions": { "allow": counts.allow, "ask": counts.ask, "deny": counts.deny },
        "allowed": counts.allowed.to_json(),
        "answers": counts.questions.answers().to_json(),
        "most_asked": titles.collect::<Vec<_>>(),
        "questions": questions.collect::<Vec<_>>(),
        "prefixes": prefixes.collect::<Vec<_>>(),
        "rules": rules.collect::<Vec<_>>(),
        "never_used": idle,
    })
}
