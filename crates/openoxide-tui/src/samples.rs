//! Requests for tests.

use openoxide_protocol::{
    AbsPath, Access, ApprovalId, ApprovalRequest, CommandClass, Decision, Digest, Effect, Exec,
    Finding, FindingKind, Part, Presentation, PresentationKind, RuleRef, SessionId, Span,
};

/// Returns a request to run `script`, which the one rule asks for.
pub(crate) fn command(script: &str) -> ApprovalRequest {
    request(PresentationKind::Command, "run a command", script, vec![run(script, Effect::Ask)])
}

/// Returns a request to change a file.
pub(crate) fn patch(diff: &str) -> ApprovalRequest {
    let path = openoxide_protocol::PathAccess::new(path("/work/project/src/lib.rs"));
    let part = part(Access::Edit(path), Effect::Ask);
    let mut request = request(PresentationKind::Diff, "change src/lib.rs", diff, vec![part]);
    request.tool = "Edit".to_owned();
    request.decision.always.clear();
    request
}

/// Returns the request with these parts instead: text and effect.
pub(crate) fn with_parts(
    mut request: ApprovalRequest,
    parts: &[(&str, Effect)],
) -> ApprovalRequest {
    request.decision.parts = parts.iter().map(|(text, effect)| run(text, *effect)).collect();
    request
}

/// Returns the request with one more finding.
pub(crate) fn with_finding(
    mut request: ApprovalRequest,
    span: (usize, usize),
    code: &'static str,
    message: &'static str,
) -> ApprovalRequest {
    request.decision.findings.push(Finding {
        code: code.into(),
        kind: FindingKind::Escalate,
        message: message.into(),
        span: Span::new(span.0, span.1),
    });
    request
}

/// Returns the request, which nothing but a yes to itself may pass.
pub(crate) fn needing_explicit_yes(mut request: ApprovalRequest) -> ApprovalRequest {
    request.explicit_yes_required = true;
    request
}

/// Returns the requests as one group.
pub(crate) fn in_group(mut requests: Vec<ApprovalRequest>) -> Vec<ApprovalRequest> {
    for request in &mut requests {
        request.group = Some("call-1".to_owned());
    }
    requests
}

/// Returns the request in another session.
pub(crate) fn in_session(mut request: ApprovalRequest, number: u64) -> ApprovalRequest {
    request.session = SessionId::from_parts(number, [0; 10]);
    request
}

fn request(
    kind: PresentationKind,
    title: &str,
    content: &str,
    parts: Vec<Part>,
) -> ApprovalRequest {
    ApprovalRequest {
        schema: 1,
        id: ApprovalId::from_parts(1, [0; 10]),
        session: SessionId::from_parts(1, [0; 10]),
        tool: "Bash".to_owned(),
        title: title.to_owned(),
        cwd: path("/work/project"),
        presentation: Presentation {
            kind,
            content: content.to_owned(),
            language: None,
            metadata: std::collections::BTreeMap::new(),
        },
        decision: Decision {
            effect: Effect::Ask,
            reason: "`git push` is asked for by user policy".to_owned(),
            rule: Some(rule()),
            parts,
            findings: Vec::new(),
            always: vec!["Bash(git push *)".to_owned()],
            obligations: Vec::new(),
        },
        digest: Digest([0; 32]),
        group: None,
        explicit_yes_required: false,
        alternatives: Vec::new(),
        task: None,
    }
}

fn run(text: &str, effect: Effect) -> Part {
    let exec = Exec {
        argv: text.split(' ').collect(),
        text: text.to_owned(),
        class: CommandClass::Unknown,
        span: Span::default(),
        arity: 0,
        ..Exec::default()
    };
    part(Access::Exec(exec), effect)
}

fn part(access: Access, decision: Effect) -> Part {
    let rule = (decision == Effect::Ask).then(rule);
    Part { access, decision, rule, reason: String::new(), lost: Vec::new() }
}

fn rule() -> RuleRef {
    RuleRef {
        layer: "user".to_owned(),
        file: Some("policy.toml".to_owned()),
        line: Some(4),
        text: "ask Bash(git push *)".to_owned(),
        reason: None,
    }
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).expect("an absolute path")
}
