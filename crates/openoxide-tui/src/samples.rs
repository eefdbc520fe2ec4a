//! Requests for tests.

use openoxide_protocol::{
    AbsPath, Access, AccessDecision, ApprovalId, ApprovalRequest, CommandClass, Decision, Effect,
    ExecAccess, Finding, FindingKind, OperationDigest, PresentationKind, RequestPresentation,
    RuleRef, SessionId, Span,
};

/// Returns a request to run `script`, for which the only rule requires approval.
pub(crate) fn command_request(script: &str) -> ApprovalRequest {
    build_request(
        PresentationKind::Command,
        "run a command",
        script,
        vec![build_exec_part(script, Effect::Ask)],
    )
}

/// Returns a request to change a file.
pub(crate) fn patch_request(diff: &str) -> ApprovalRequest {
    let path = openoxide_protocol::PathAccess::new(absolute_path("/work/project/src/lib.rs"));
    let part = build_part(Access::Edit(path), Effect::Ask);
    let mut request = build_request(PresentationKind::Diff, "change src/lib.rs", diff, vec![part]);
    request.tool = "Edit".to_owned();
    request.decision.suggested_rules.clear();
    request
}

/// Returns the request with its parts replaced with these: text and effect.
pub(crate) fn with_parts(
    mut request: ApprovalRequest,
    parts: &[(&str, Effect)],
) -> ApprovalRequest {
    request.decision.parts =
        parts.iter().map(|(text, effect)| build_exec_part(text, *effect)).collect();
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

/// Returns the request with explicit approval required.
pub(crate) fn with_explicit_approval(mut request: ApprovalRequest) -> ApprovalRequest {
    request.requires_explicit_approval = true;
    request
}

/// Returns the requests as one group.
pub(crate) fn with_group(mut requests: Vec<ApprovalRequest>) -> Vec<ApprovalRequest> {
    for request in &mut requests {
        request.group = Some("call-1".to_owned());
    }
    requests
}

/// Returns the request with a different session.
pub(crate) fn with_session(mut request: ApprovalRequest, number: u64) -> ApprovalRequest {
    request.session = SessionId::from_parts(number, [0; 10]);
    request
}

fn build_request(
    kind: PresentationKind,
    title: &str,
    content: &str,
    parts: Vec<AccessDecision>,
) -> ApprovalRequest {
    ApprovalRequest {
        schema: 1,
        id: ApprovalId::from_parts(1, [0; 10]),
        session: SessionId::from_parts(1, [0; 10]),
        tool: "Bash".to_owned(),
        title: title.to_owned(),
        cwd: absolute_path("/work/project"),
        presentation: RequestPresentation {
            kind,
            content: content.to_owned(),
            summary: None,
            language: None,
            metadata: std::collections::BTreeMap::new(),
        },
        decision: Decision {
            effect: Effect::Ask,
            reason: "`git push` is asked for by user policy".to_owned(),
            rule: Some(build_rule()),
            parts,
            findings: Vec::new(),
            suggested_rules: vec!["Bash(git push *)".to_owned()],
            obligations: Vec::new(),
        },
        digest: OperationDigest([0; 32]),
        group: None,
        requires_explicit_approval: false,
        alternatives: Vec::new(),
        task: None,
        directory: None,
    }
}

fn build_exec_part(text: &str, effect: Effect) -> AccessDecision {
    let exec = ExecAccess {
        argv: text.split(' ').collect(),
        text: text.to_owned(),
        class: CommandClass::Unknown,
        span: Span::default(),
        arity: 0,
        ..ExecAccess::default()
    };
    build_part(Access::Exec(exec), effect)
}

fn build_part(access: Access, decision: Effect) -> AccessDecision {
    let rule = (decision == Effect::Ask).then(build_rule);
    AccessDecision {
        access,
        decision,
        rule,
        reason: String::new(),
        cause: None,
        overridden: Vec::new(),
    }
}

fn build_rule() -> RuleRef {
    RuleRef {
        layer: "user".to_owned(),
        file: Some("policy.toml".to_owned()),
        line: Some(4),
        text: "ask Bash(git push *)".to_owned(),
        reason: None,
    }
}

fn absolute_path(text: &str) -> AbsPath {
    AbsPath::new(text).expect("an absolute path")
}
