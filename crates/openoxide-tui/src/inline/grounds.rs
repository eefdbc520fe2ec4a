//! Why a person is asked, and what a lasting yes would add.

use openoxide_protocol::{Access, ApprovalRequest, Decision, Effect, Part, RuleRef, Width};

use super::{
    content::shorten,
    options::{Offers, covered},
    render::{Page, RenderOptions},
    unseen::most_dangerous_first,
};
use crate::style::Tone;

/// Below a decision: the columns that its word takes.
const INDENT: &str = "         ";
const WHY: &str = "  why    ";

/// Adds the reason, each part with its own answer, and what the keys for more than one yes would allow.
pub(crate) fn show(request: &ApprovalRequest, options: &RenderOptions<'_>, page: &mut Page) {
    let decision = &request.decision;
    match decision.parts.as_slice() {
        [part] if is_whole(part, decision) => show_only(part, request, page),
        [] => show_effect(decision.effect, &decision.reason, page),
        _ => page.marked((Tone::Strong, WHY), INDENT, Tone::Body, &decision.reason),
    }
    let told =
        decision.parts.len() > 1 && decision.parts.iter().any(|part| part.rule == decision.rule);
    decision.rule.iter().filter(|_| !told).for_each(|rule| show_rule(rule, page));
    show_parts(request, options.whole, page);
    if request.explicit_yes_required {
        let text = "needs explicit approval; batch and saved approvals do not apply";
        page.block(Tone::Careful, [INDENT, INDENT], text);
    }
    let offers = Offers::of(request, options.batch);
    if offers.listed {
        show_listed(request, page);
    }
    if offers.always {
        show_always(request, options.whole, page);
    }
    if offers.all {
        show_others(options, page);
    }
}

/// Says whether the answer to the only part is the answer to the whole.
fn is_whole(part: &Part, decision: &Decision) -> bool {
    part.decision == decision.effect
        && part.rule == decision.rule
        && (part.reason.is_empty() || part.reason == decision.reason)
}

/// Adds the only part; it is not named if it is the command that is shown.
fn show_only(part: &Part, request: &ApprovalRequest, page: &mut Page) {
    let decision = &request.decision;
    if matches!(part.access, Access::Exec(_)) && is_the_content(&part.access, request) {
        show_effect(decision.effect, &decision.reason, page);
    } else {
        show_effect(decision.effect, &wanted(&part.access, request), page);
        show_reason(&decision.reason, page);
    }
}

fn show_reason(reason: &str, page: &mut Page) {
    if !reason.is_empty() {
        page.block(Tone::Body, [INDENT, INDENT], reason);
    }
}

/// Adds the parts of several, those that need an answer first: where some are left out, it is the harmless ones.
fn show_parts(request: &ApprovalRequest, whole: bool, page: &mut Page) {
    let decision = &request.decision;
    let mut parts: Vec<_> = decision.parts.iter().collect();
    if let [part] = parts.as_slice()
        && is_whole(part, decision)
    {
        return;
    }
    if !whole {
        parts = most_dangerous_first(request);
    }
    shorten(parts.into_iter(), whole, "parts", page, |part, page| {
        show_effect(part.decision, &wanted(&part.access, request), page);
        if part.reason != decision.reason {
            show_reason(&part.reason, page);
        }
        let tell = part.decision > Effect::Allow || whole;
        part.rule.iter().filter(|_| tell).for_each(|rule| show_rule(rule, page));
    });
}

fn is_the_content(access: &Access, request: &ApprovalRequest) -> bool {
    access.summary().trim() == request.presentation.content.trim()
}

fn show_effect(effect: Effect, text: &str, page: &mut Page) {
    let tone = match effect {
        Effect::Allow => Tone::Good,
        Effect::Ask => Tone::Careful,
        Effect::Deny => Tone::Bad,
    };
    page.marked((tone, &format!("  {:<7}", effect.as_str())), INDENT, Tone::Body, text);
}

/// Returns what an access does, in words.
fn wanted(access: &Access, request: &ApprovalRequest) -> String {
    if matches!(access, Access::Opaque { .. }) && is_the_content(access, request) {
        return "run all of this as unparsed input".to_owned();
    }
    let verb = match access {
        Access::Exec(_) => "run",
        Access::Read(_) => "read",
        Access::Edit(_) => "change",
        Access::Fetch { .. } => "fetch",
        Access::CallTool { .. } => "call",
        Access::Delegate { .. } => "start subagent",
        Access::DoomLoop { .. } => "repeat the same call",
        Access::ExternalDirectory(_) => "access outside the project",
        Access::Opaque { .. } => "run unparsed input",
    };
    format!("{verb} {}{}", access.summary(), leads_to(access))
}

/// Returns where a link leads, so that nobody approves the innocent name of another file.
fn leads_to(access: &Access) -> String {
    match access {
        Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) => {
            path.resolved.as_ref().map(|to| format!(" (leads to {to})")).unwrap_or_default()
        }
        _ => String::new(),
    }
}

fn show_rule(rule: &RuleRef, page: &mut Page) {
    let place = match (&rule.file, rule.line) {
        (Some(file), Some(line)) => format!(", {file}:{line}"),
        (Some(file), None) => format!(", {file}"),
        (None, _) => String::new(),
    };
    let why = rule.reason.as_ref().map(|why| format!(", because: {why}")).unwrap_or_default();
    let text = format!("rule `{}` ({}{place}){why}", rule.text, rule.layer);
    page.block(Tone::Faint, [INDENT, INDENT], &text);
}

/// Adds what `a` would cover. None is left out for their number, as with rules.
fn show_listed(request: &ApprovalRequest, page: &mut Page) {
    let keys = std::iter::once("  [a]    ").chain(std::iter::repeat(INDENT));
    for (listed, key) in covered(request).zip(keys) {
        page.marked((Tone::Strong, key), INDENT, Tone::Body, listed);
    }
    page.block(Tone::Faint, [INDENT, INDENT], "for the session, whatever else differs");
}

/// Adds the rules that `p` would add. None is left out for their number: what is not read is not granted.
fn show_always(request: &ApprovalRequest, whole: bool, page: &mut Page) {
    let always = &request.decision.always;
    let keys = std::iter::once("  [p]    ").chain(std::iter::repeat(INDENT));
    for (rule, key) in always.iter().zip(keys) {
        page.marked((Tone::Strong, key), INDENT, Tone::Body, &format!("always {rule}"));
    }
    page.block(Tone::Faint, [INDENT, INDENT], how_long(always));
    for choice in request.alternatives.iter().filter(|_| whole) {
        let which = if choice.width == Width::Narrower { "narrower" } else { "wider" };
        let text = format!("or {which}: {}", choice.rules.join(", "));
        page.block(Tone::Body, [INDENT, INDENT], &text);
    }
}

/// Only what is about commands outlives the session (DECISIONS 5).
fn how_long(rules: &[String]) -> &'static str {
    match rules.iter().filter(|rule| rule.starts_with("Bash(")).count() {
        0 => "for the session",
        commands if commands < rules.len() => {
            "commands for this project, until revoked; the others for the session"
        }
        _ => "for this project, until revoked",
    }
}

/// Adds the other requests that `A` would allow.
fn show_others(options: &RenderOptions<'_>, page: &mut Page) {
    let Some(batch) = options.batch else { return };
    let key = format!("  {:<7}", format!("[{}]", options.input.all()));
    page.marked((Tone::Strong, &key), INDENT, Tone::Body, "yes, once each, to this and to:");
    shorten(batch.covered(), options.whole, "requests", page, |request, page| {
        show_other(request, options.whole, page);
    });
}

fn show_other(request: &ApprovalRequest, whole: bool, page: &mut Page) {
    let codes: Vec<_> = request.decision.findings.iter().map(|finding| &*finding.code).collect();
    let findings = if codes.is_empty() { "" } else { &*format!(" ({})", codes.join(", ")) };
    let content = &request.presentation.content;
    let text = match content.lines().count() {
        n if n > 1 && !whole => format!("{}: {n} lines (v to view){findings}", request.title),
        _ => format!("{}: {content}{findings}", request.title),
    };
    page.block(Tone::Body, [INDENT, INDENT], &text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rules_about_commands_outlive_the_session() {
        let rules = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(how_long(&rules(&["Edit(//p/x)"])), "for the session");
        assert!(how_long(&rules(&["Bash(make *)"])).starts_with("for this project"));
        assert!(
            how_long(&rules(&["Bash(make *)", "Edit(//p/x)"]))
                .contains("the others for the session")
        );
    }
}
