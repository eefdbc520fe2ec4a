//! The lines about one part of a decision.

use openoxide_protocol::{Access, ApprovalRequest, Effect, RuleRef};

use crate::{inline::text_page::TextPage, style::TextTone};

/// The indentation of the lines below a decision: the width of its word.
pub(super) const INDENT: &str = "         ";

pub(super) fn is_shown_content(access: &Access, request: &ApprovalRequest) -> bool {
    access.summary().trim() == request.presentation.content.trim()
}

pub(super) fn show_effect(effect: Effect, text: &str, page: &mut TextPage) {
    let tone = match effect {
        Effect::Allow => TextTone::Success,
        Effect::Ask => TextTone::Warning,
        Effect::Deny => TextTone::Error,
    };
    page.push_marked_block(
        (tone, &format!("  {:<7}", effect.as_str())),
        INDENT,
        TextTone::Body,
        text,
    );
}

pub(super) fn show_reason(reason: &str, page: &mut TextPage) {
    if !reason.is_empty() {
        page.push_block(TextTone::Body, [INDENT, INDENT], reason);
    }
}

/// Returns a description of an access.
pub(super) fn describe_access(access: &Access, request: &ApprovalRequest) -> String {
    if matches!(access, Access::Opaque { .. }) && is_shown_content(access, request) {
        return "run all of this as unparsed input".to_owned();
    }
    let verb = match access {
        Access::Exec(_) => "run",
        Access::Read(_) => "read",
        Access::Edit(_) => "change",
        Access::Fetch { .. } => "fetch",
        Access::Socket(_) => "connect to",
        Access::CallTool { .. } => "call",
        Access::Delegate { .. } => "start subagent",
        Access::Repetition { .. } => "repeat the same call",
        Access::ExternalDirectory(_) => "access outside the project",
        Access::Opaque { .. } => "run unparsed input",
    };
    format!("{verb} {}{}", access.summary(), describe_link_target(access))
}

/// Returns the target of a link, so that a harmless name does not hide another file.
fn describe_link_target(access: &Access) -> String {
    match access {
        Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) => {
            path.resolved.as_ref().map(|to| format!(" (leads to {to})")).unwrap_or_default()
        }
        _ => String::new(),
    }
}

pub(super) fn show_rule(rule: &RuleRef, page: &mut TextPage) {
    let place = match (&rule.file, rule.line) {
        (Some(file), Some(line)) => format!(", {file}:{line}"),
        (Some(file), None) => format!(", {file}"),
        (None, _) => String::new(),
    };
    let why = rule.reason.as_ref().map(|why| format!(", because: {why}")).unwrap_or_default();
    let text = format!("rule `{}` ({}{place}){why}", rule.text, rule.layer);
    page.push_block(TextTone::Dim, [INDENT, INDENT], &text);
}
