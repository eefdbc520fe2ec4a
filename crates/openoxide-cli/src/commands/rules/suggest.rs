//! `rules suggest`: rules that would have answered the questions of the audit journal.

use openoxide_engine::{RuleSuggestion, RuleSuggestions};
use openoxide_protocol::SCHEMA;
use openoxide_store::UserEnvironment;
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use super::rule_proposal::RuleProposal;
use crate::{
    args::{EditTargetArgs, GlobalArgs, SuggestArgs},
    commands::confirmation::{self, SettingChange},
    error::CliError,
    program_exit::ProgramExit,
    user_messages,
};

/// Prints the suggested rules, or adds them to the user's policy.
pub(super) fn suggest_rules(
    args: SuggestArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let environment = UserEnvironment::from_process();
    let suggestions = RuleSuggestions::read(&environment, args.since, args.cover)?;
    let text = match args.json {
        true => render_json(&suggestions),
        false => render_text(&suggestions),
    };
    let printed = user_messages::print_data(&text, ProgramExit::Success);
    if printed != ProgramExit::Success || suggestions.rules.is_empty() {
        return Ok(printed);
    }
    if !args.write {
        user_messages::print_note(
            &"`openoxide rules suggest --write` adds these rules to your policy for all projects",
        );
        return Ok(ProgramExit::Success);
    }
    write_rules(&suggestions, args, global)
}

fn write_rules(
    suggestions: &RuleSuggestions,
    args: SuggestArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let place = EditTargetArgs { user: true, project: false, local: false };
    let rules: Vec<_> = suggestions.rules.iter().map(rule_with_reason).collect();
    let proposal = match RuleProposal::new(place, &rules, global)? {
        Ok(proposal) => proposal,
        Err(exit) => return Ok(exit),
    };
    let change = new_change(&proposal);
    if args.yes {
        user_messages::print_line(escape_text(&change.diff, LineMode::MultiLine).trim_end());
    } else if let Some(exit) = change.confirm_rules(global)? {
        return Ok(exit);
    }
    proposal.apply()?;
    let path = proposal.source.path.display().to_string();
    user_messages::print_line(&format!(
        "openoxide: rules added to {}",
        escape_text(&path, LineMode::SingleLine)
    ));
    Ok(ProgramExit::Success)
}

/// Returns the rule with the reason that is shown when it decides.
fn rule_with_reason(rule: &RuleSuggestion) -> (String, String) {
    let times = user_messages::format_times(rule.would_have_answered);
    let date = confirmation::current_date();
    (rule.rule.clone(), format!("suggested on {date}; asked about {times} before"))
}

fn new_change(proposal: &RuleProposal) -> SettingChange {
    SettingChange {
        tool: "Suggest",
        title: format!("add these rules to {}?", proposal.source.path.display()),
        reason: "the rules allow such calls in all projects without a question".to_owned(),
        diff: proposal.diff(),
        directory: proposal.source.base.clone(),
    }
}

/// Returns the percentage of the questions that the rules would have answered, rounded down.
fn coverage(suggestions: &RuleSuggestions) -> u64 {
    let RuleSuggestions { questions, answered, .. } = suggestions;
    answered.saturating_mul(100).checked_div(*questions).unwrap_or(0)
}

fn render_text(suggestions: &RuleSuggestions) -> String {
    let RuleSuggestions { rules, questions, answered, denied_rules } = suggestions;
    if *questions == 0 {
        return "no recorded question would be asked again\n".to_owned();
    }
    let summary = format!(
        "recorded questions that would be asked again: {questions}\n\
         answered by the rules below: {answered} ({} %)\n",
        coverage(suggestions)
    );
    let denied = (*denied_rules > 0).then(|| {
        format!("\nrules that are not suggested, because you denied such a call: {denied_rules}\n")
    });
    std::iter::once(summary).chain(rules.iter().map(render_rule)).chain(denied).collect()
}

fn render_rule(rule: &RuleSuggestion) -> String {
    let line = |text: &str| escape_text(text, LineMode::SingleLine);
    let examples = rule.examples.iter().map(|text| format!("         {}\n", line(text)));
    format!(
        "\n{:>6}  allow {}\n{}",
        rule.would_have_answered,
        line(&rule.rule),
        examples.collect::<String>()
    )
}

fn render_json(suggestions: &RuleSuggestions) -> String {
    let rule = |rule: &RuleSuggestion| {
        json!({
            "rule": rule.rule, "would_have_answered": rule.would_have_answered,
            "examples": rule.examples,
        })
    };
    let RuleSuggestions { rules, questions, answered, denied_rules } = suggestions;
    let line = json!({
        "schema": SCHEMA, "rules": rules.iter().map(rule).collect::<Vec<_>>(),
        "coverage": coverage(suggestions), "questions": questions, "answered": answered,
        "denied_rules": denied_rules,
    });
    format!("{line}\n")
}
