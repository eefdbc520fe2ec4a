//! Reasons for a question, and the rules that a grant would add.

mod part_lines;
mod summarized_parts;

use std::borrow::Cow;

use openoxide_protocol::{Access, AccessDecision, ApprovalRequest, Decision, Effect, RuleBreadth};

use crate::{
    inline::{
        content::show_limited,
        decision_reasons::part_lines::{
            INDENT, describe_access, is_shown_content, show_effect, show_reason, show_rule,
        },
        hidden_content::sort_by_danger,
        prompt_options::{PromptOptions, session_coverage},
        render_options::RenderOptions,
        text_page::TextPage,
    },
    style::TextTone,
};

/// The number of rows of the description and of the reason of a part that is allowed. Such parts
/// must not push those that ask off the screen.
const MAX_ALLOWED_ROWS: usize = 1;
const DIRECTORY_LABEL: &str = "  [d]    ";
const REASON_LABEL: &str = "  why    ";

/// Adds the reason, each part with its decision, and the effects of the keys that approve more than
/// this request.
pub(crate) fn show_reasons(
    request: &ApprovalRequest,
    options: &RenderOptions<'_>,
    page: &mut TextPage,
) {
    let decision = &request.decision;
    match decision.parts.as_slice() {
        [part] if is_entire_decision(part, decision) => show_single_part(part, request, page),
        [] => show_effect(decision.effect, &decision.reason, page),
        parts if is_summarized(request) && has_reason(parts, &decision.reason) => {}
        _ => page.push_marked_block(
            (TextTone::Strong, REASON_LABEL),
            INDENT,
            TextTone::Body,
            &decision.reason,
        ),
    }
    let told =
        decision.parts.len() > 1 && decision.parts.iter().any(|part| part.rule == decision.rule);
    decision.rule.iter().filter(|_| !told).for_each(|rule| show_rule(rule, page));
    if is_summarized(request) {
        summarized_parts::show_summarized_parts(request, page);
    } else {
        show_parts(request, options.show_all, page);
    }
    if request.requires_explicit_approval {
        let text = "needs explicit approval; batch and saved approvals do not apply";
        page.push_block(TextTone::Warning, [INDENT, INDENT], text);
    }
    let offers = PromptOptions::from_request(request, options.batch);
    if offers.lists_coverage {
        show_session_coverage(request, page);
    }
    if let Some(directory) = request.directory.as_ref().filter(|_| offers.directory) {
        let text = format!("changes in {directory} and below it, until the command ends");
        page.push_marked_block((TextTone::Strong, DIRECTORY_LABEL), INDENT, TextTone::Body, &text);
    }
    if offers.always {
        show_grant_rules(request, options.show_all, page);
    }
    if offers.all {
        show_other_requests(options, page);
    }
}

/// Returns whether the decision about the only part is the same as the whole decision.
fn is_entire_decision(part: &AccessDecision, decision: &Decision) -> bool {
    part.decision == decision.effect
        && part.rule == decision.rule
        && (part.reason.is_empty() || part.reason == decision.reason)
}

/// Returns whether the request has a summary of several parts.
const fn is_summarized(request: &ApprovalRequest) -> bool {
    request.presentation.summary.is_some() && request.decision.parts.len() > 1
}

fn has_reason(parts: &[AccessDecision], reason: &str) -> bool {
    parts.iter().any(|part| part.reason == reason)
}

/// Adds the only part. It is not named if it is the command that is shown.
fn show_single_part(part: &AccessDecision, request: &ApprovalRequest, page: &mut TextPage) {
    let decision = &request.decision;
    if matches!(part.access, Access::Exec(_)) && is_shown_content(&part.access, request) {
        show_effect(decision.effect, &decision.reason, page);
    } else {
        show_effect(decision.effect, &describe_access(&part.access, request), page);
        show_reason(&decision.reason, page);
    }
}

/// Adds several parts, starting with those that require an answer, so that the omitted ones are
/// harmless if possible.
fn show_parts(request: &ApprovalRequest, whole: bool, page: &mut TextPage) {
    let decision = &request.decision;
    let mut parts: Vec<_> = decision.parts.iter().collect();
    if let [part] = parts.as_slice()
        && is_entire_decision(part, decision)
    {
        return;
    }
    if !whole {
        parts = sort_by_danger(request);
    }
    show_limited(parts.into_iter(), whole, "parts", page, |part, page| {
        let is_short = part.decision == Effect::Allow && !whole;
        let limit = if is_short { MAX_ALLOWED_ROWS * page.width } else { usize::MAX };
        let text = describe_access(&part.access, request);
        show_effect(part.decision, &shorten(&text, limit), page);
        if part.reason != decision.reason {
            show_reason(&shorten(&part.reason, limit), page);
        }
        let tell = part.decision > Effect::Allow || whole;
        part.rule.iter().filter(|_| tell).for_each(|rule| show_rule(rule, page));
    });
}

/// Returns `text`, or its first `limit` characters if it is longer.
fn shorten(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}… (v to view)", text.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}

/// Adds what `a` would cover. All of it is shown, as for rules.
fn show_session_coverage(request: &ApprovalRequest, page: &mut TextPage) {
    let keys = std::iter::once("  [a]    ").chain(std::iter::repeat(INDENT));
    for (listed, key) in session_coverage(request).zip(keys) {
        page.push_marked_block((TextTone::Strong, key), INDENT, TextTone::Body, listed);
    }
    page.push_block(TextTone::Dim, [INDENT, INDENT], "for the session, whatever else differs");
}

/// Adds the rules that `p` would save. All rules are shown, however many there are, because a rule
/// that was not read must not be granted.
fn show_grant_rules(request: &ApprovalRequest, whole: bool, page: &mut TextPage) {
    let always = &request.decision.suggested_rules;
    let keys = std::iter::once("  [p]    ").chain(std::iter::repeat(INDENT));
    for (rule, key) in always.iter().zip(keys) {
        page.push_marked_block(
            (TextTone::Strong, key),
            INDENT,
            TextTone::Body,
            &format!("always {rule}"),
        );
    }
    page.push_block(TextTone::Dim, [INDENT, INDENT], describe_grant_duration(always));
    for choice in request.alternatives.iter().filter(|_| whole) {
        let which = if choice.breadth == RuleBreadth::Narrower { "narrower" } else { "wider" };
        let text = format!("or {which}: {}", choice.rules.join(", "));
        page.push_block(TextTone::Body, [INDENT, INDENT], &text);
    }
}

/// Returns the duration of a grant of these rules. Only rules about commands outlive the session.
fn describe_grant_duration(rules: &[String]) -> &'static str {
    match rules.iter().filter(|rule| rule.starts_with("Bash(")).count() {
        0 => "for the session",
        commands if commands < rules.len() => {
            "commands for this project, until revoked; the others for the session"
        }
        _ => "for this project, until revoked",
    }
}

/// Adds the other requests that `A` would allow.
fn show_other_requests(options: &RenderOptions<'_>, page: &mut TextPage) {
    let Some(batch) = options.batch else { return };
    let key = format!("  {:<7}", format!("[{}]", options.input.approve_all_key()));
    page.push_marked_block(
        (TextTone::Strong, &key),
        INDENT,
        TextTone::Body,
        "yes, once each, to this and to:",
    );
    show_limited(batch.covered_requests(), options.show_all, "requests", page, |request, page| {
        show_other_request(request, options.show_all, page);
    });
}

fn show_other_request(request: &ApprovalRequest, whole: bool, page: &mut TextPage) {
    let codes: Vec<_> = request.decision.findings.iter().map(|finding| &*finding.code).collect();
    let findings = if codes.is_empty() { "" } else { &*format!(" ({})", codes.join(", ")) };
    let content = &request.presentation.content;
    let text = match content.lines().count() {
        n if n > 1 && !whole => format!("{}: {n} lines (v to view){findings}", request.title),
        _ => format!("{}: {content}{findings}", request.title),
    };
    page.push_block(TextTone::Body, [INDENT, INDENT], &text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rules_about_commands_outlive_the_session() {
        let rules = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(describe_grant_duration(&rules(&["Edit(//p/x)"])), "for the session");
        assert!(describe_grant_duration(&rules(&["Bash(make *)"])).starts_with("for this project"));
        assert!(
            describe_grant_duration(&rules(&["Bash(make *)", "Edit(//p/x)"]))
                .contains("the others for the session")
        );
    }
}
