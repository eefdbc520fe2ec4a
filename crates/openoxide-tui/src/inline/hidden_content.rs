//! Parts of a question that are relevant to the answer but not on the screen.

use std::{cmp::Reverse, collections::BTreeSet};

use openoxide_protocol::{
    Access, AccessDecision, ApprovalRequest, CommandClass, Effect, Finding, FindingKind, Span,
};

use crate::inline::{
    content::{MAX_ITEMS, is_content_cut},
    render_options::{BatchPosition, RenderOptions},
};

/// The content that is not on the screen. An approving key shows it first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HiddenContent {
    /// True if a part or a finding that requires approval is hidden.
    pub(crate) parts: bool,
    /// True if one of the other requests that "all" approves is not fully shown.
    pub(crate) other_requests: bool,
}

impl HiddenContent {
    /// Returns the content that a question with these options omits.
    pub(crate) fn new(request: &ApprovalRequest, options: &RenderOptions<'_>) -> Self {
        if options.show_all {
            return Self::default();
        }
        let other_requests = options.batch.is_some_and(hides_others);
        // A summary names everything that is unusual, and the prompt lists all other parts that are
        // more than unmatched.
        if request.presentation.summary.is_some() {
            return Self { parts: false, other_requests };
        }
        let asking = request.decision.parts.iter().filter(|part| part.decision > Effect::Allow);
        let escalating = request.decision.findings.iter().filter(|finding| is_escalating(finding));
        Self {
            parts: asking.clone().count() > MAX_ITEMS
                || escalating.count() > MAX_ITEMS
                || (asking.into_iter().any(|part| is_shown_as_content(&part.access, request))
                    && is_content_cut(request, options)),
            other_requests,
        }
    }
}

/// Returns whether a part is not named, because it is the content of the request.
fn is_shown_as_content(access: &Access, request: &ApprovalRequest) -> bool {
    let is_unnamed = match access {
        Access::Exec(_) => request.decision.parts.len() == 1,
        Access::Opaque { .. } => true,
        _ => false,
    };
    is_unnamed && access.summary().trim() == request.presentation.content.trim()
}

fn hides_others(batch: BatchPosition<'_>) -> bool {
    let is_cut = |request: &ApprovalRequest| request.presentation.content.lines().count() > 1;
    batch.covered_requests().count() > MAX_ITEMS || batch.covered_requests().any(is_cut)
}

fn is_escalating(finding: &Finding) -> bool {
    finding.kind > FindingKind::Note
}

/// Returns the parts in descending order of danger: by decision, then parts that a finding points
/// at, then by how little is known of them. Among equal parts, new ones come before variations of
/// those already listed.
pub(crate) fn sort_by_danger(request: &ApprovalRequest) -> Vec<&AccessDecision> {
    let mut shown = BTreeSet::new();
    let ranked = request.decision.parts.iter().map(|part| {
        let is_repeated = !shown.insert(access_subject(&part.access));
        (danger_rank(part, &request.decision.findings), is_repeated, part)
    });
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(rank, is_repeated, _)| (*rank, *is_repeated));
    ranked.into_iter().map(|(_, _, part)| part).collect()
}

fn danger_rank(part: &AccessDecision, findings: &[Finding]) -> (Reverse<Effect>, bool, u8) {
    let place = access_span(&part.access);
    let points_at = |finding: &Finding| {
        is_escalating(finding) && finding.span.start < place.end && place.start < finding.span.end
    };
    (Reverse(part.decision), !findings.iter().any(points_at), danger_level(&part.access))
}

/// Returns a sort key for an access. The less is known about the access, the lower the key.
const fn danger_level(access: &Access) -> u8 {
    match access {
        Access::Opaque { .. } => 0,
        Access::Exec(exec) if matches!(exec.class, CommandClass::Unknown) => 1,
        Access::Fetch { .. }
        | Access::Socket(_)
        | Access::CallTool { .. }
        | Access::Delegate { .. } => 2,
        Access::Edit(_) => 3,
        Access::ExternalDirectory(_) | Access::Repetition { .. } => 4,
        Access::Exec(_) | Access::Read(_) => 5,
    }
}

fn access_span(access: &Access) -> Span {
    match access {
        Access::Exec(exec) => exec.span,
        Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) => path.span,
        Access::Opaque { span, .. } => *span,
        _ => Span::default(),
    }
}

/// Returns what similar parts have in common: the program, the directory, or the host.
fn access_subject(access: &Access) -> (&'static str, &str) {
    let subject = match access {
        Access::Exec(exec) => exec.argv.known_word(0).unwrap_or_default(),
        Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) => {
            let text = path.path.as_str();
            text.rsplit_once('/').map_or(text, |(directory, _)| directory)
        }
        Access::Fetch { host, .. } => host,
        _ => access.summary(),
    };
    (access.permission_name(), subject)
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{AbsPath, CommandWords, ExecAccess, PathAccess};

    use super::*;
    use crate::samples::command_request;

    fn run(text: &str) -> AccessDecision {
        let exec = ExecAccess {
            argv: text.split(' ').collect::<CommandWords>(),
            text: text.to_owned(),
            class: CommandClass::Unknown,
            span: Span::default(),
            arity: 0,
            ..ExecAccess::default()
        };
        part(Access::Exec(exec), Effect::Ask)
    }

    fn part(access: Access, decision: Effect) -> AccessDecision {
        AccessDecision {
            access,
            decision,
            rule: None,
            reason: String::new(),
            cause: None,
            overridden: Vec::new(),
        }
    }

    fn request(parts: Vec<AccessDecision>) -> ApprovalRequest {
        let mut request = command_request("x");
        request.decision.parts = parts;
        request.decision.findings = Vec::new();
        request
    }

    #[test]
    fn new_parts_come_before_repetitions() {
        let mut parts: Vec<_> = (0..60).map(|n| run(&format!("touch build/part{n}"))).collect();
        parts.insert(30, run("sh -c evil"));
        let request = request(parts);
        let first: Vec<_> = sort_by_danger(&request);
        let first: Vec<_> = first.iter().take(3).map(|part| part.access.summary()).collect();
        assert_eq!(first, ["touch build/part0", "sh -c evil", "touch build/part1"]);
    }

    #[test]
    fn asking_and_opaque_parts_come_first() {
        let path = |text: &str| PathAccess::new(AbsPath::new(text).unwrap());
        let opaque = Access::Opaque { text: "?".into(), span: Span::new(4, 5) };
        let mut request = request(vec![
            part(Access::Read(path("/p/a")), Effect::Allow),
            part(Access::Edit(path("/p/b")), Effect::Ask),
            run("make"),
            part(opaque, Effect::Ask),
        ]);
        let order = |request: &ApprovalRequest| -> Vec<String> {
            let parts = sort_by_danger(request).into_iter();
            parts.map(|part| part.access.summary().to_owned()).collect()
        };
        assert_eq!(order(&request), ["?", "make", "/p/b", "/p/a"]);
        if let Access::Edit(path) = &mut request.decision.parts[1].access {
            path.span = Span::new(10, 12);
        }
        request.decision.findings = vec![Finding {
            code: "OX106".into(),
            kind: FindingKind::Escalate,
            message: "x".into(),
            span: Span::new(11, 12),
        }];
        assert_eq!(order(&request), ["/p/b", "?", "make", "/p/a"]);
    }

    #[test]
    fn six_parts_that_ask_are_all_on_the_screen_and_a_seventh_is_not() {
        let options = RenderOptions::default();
        let asking = |count: usize| request((0..count).map(|n| run(&format!("x {n}"))).collect());
        assert!(!HiddenContent::new(&asking(MAX_ITEMS), &options).parts);
        assert!(HiddenContent::new(&asking(MAX_ITEMS + 1), &options).parts);
        let whole = RenderOptions { show_all: true, ..options };
        assert_eq!(HiddenContent::new(&asking(60), &whole), HiddenContent::default());
        let mut free = asking(60);
        free.decision.parts.iter_mut().for_each(|part| part.decision = Effect::Allow);
        assert!(!HiddenContent::new(&free, &options).parts);
    }
}
