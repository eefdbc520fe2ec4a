use openoxide_permission::{
    CombiningAlgorithm, GroupAnswer, Layer, LayerKind, PathAnchors, PermissionGate, PolicyStack,
    default_layer, parse_rule,
};
use openoxide_protocol::{ApprovalRequest, ApprovalResponse, Effect, GrantScope, GrantTerms};
use tokio::sync::mpsc::UnboundedReceiver;

use super::*;
use crate::GateDispatcher;

const YES: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Once);
const SESSION: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Session);

/// A tool of the kind that a test wants.
#[derive(Clone, Copy, Default)]
struct Send {
    group: Option<&'static str>,
    explicit: bool,
}

impl Approvable for Send {
    fn permission_name(&self) -> &'static str {
        "send_email"
    }

    fn patterns(&self, args: &Value) -> Vec<String> {
        vec![args["to"].to_string()]
    }

    fn suggested_patterns(&self, _args: &Value) -> Vec<String> {
        vec!["*".to_owned()]
    }

    fn group(&self, _args: &Value) -> Option<String> {
        self.group.map(str::to_owned)
    }

    fn requires_explicit_approval(&self, _args: &Value) -> bool {
        self.explicit
    }
}

fn start(rules: &[(Effect, &str)]) -> (ToolContext, UnboundedReceiver<ApprovalRequest>) {
    let root = AbsPath::new("/nowhere").unwrap();
    let anchors = PathAnchors { home: None, base: &root };
    let rules =
        rules.iter().map(|(effect, text)| parse_rule(text, *effect, anchors).unwrap()).collect();
    let (kind, combining) = (LayerKind::User, CombiningAlgorithm::Strictest);
    let user = Layer { kind, file: None, combining_algorithm: combining, rules, mode: None };
    let policy = Arc::new(PolicyStack::compile(&[user, default_layer()]).unwrap());
    let gate = PermissionGate::new(policy, PermissionMode::Default, vec![root.clone()]);
    let (dispatcher, handle, requests) = GateDispatcher::new(gate);
    tokio::spawn(dispatcher.run());
    (ToolContext::new(handle, root), requests)
}

type Waiting = tokio::task::JoinHandle<Result<Permit, NotPermittedError>>;

fn sending(ctx: &ToolContext, tool: Send, to: &'static str) -> Waiting {
    let ctx = ctx.clone();
    tokio::spawn(async move { ctx.request_permit(&tool, &json!({ "to": to })).await })
}

#[tokio::test]
async fn the_third_identical_call_requires_approval() {
    let (ctx, mut requests) = start(&[(Effect::Allow, "send_email")]);
    for _ in 0..2 {
        assert!(sending(&ctx, Send::default(), "bob").await.unwrap().is_ok());
    }
    let third = sending(&ctx, Send::default(), "bob");
    let request = requests.recv().await.unwrap();
    assert_eq!(request.decision.suggested_rules, ["DoomLoop(send_email)"]);
    drop(ctx.gate.answer(request.id, SESSION).await.unwrap());
    assert!(third.await.unwrap().is_ok());
    assert!(sending(&ctx, Send::default(), "bob").await.unwrap().is_ok(), "it may go on");
    assert!(requests.try_recv().is_err());
}

#[tokio::test]
async fn a_tool_that_asks_inline_is_stopped_in_its_loop() {
    let (ctx, mut requests) = start(&[]);
    for _ in 0..2 {
        assert_eq!(ctx.check_repetition("bash", &json!({ "command": "ls" })).await, Ok(()));
    }
    let looping = ctx.clone();
    let third =
        tokio::spawn(
            async move { looping.check_repetition("bash", &json!({ "command": "ls" })).await },
        );
    let request = requests.recv().await.unwrap();
    assert_eq!(request.decision.suggested_rules, ["DoomLoop(bash)"]);
    let no = ApprovalResponse::Rejected { message: None };
    drop(ctx.gate.answer(request.id, no).await.unwrap());
    assert!(matches!(third.await.unwrap(), Err(NotPermittedError::Rejected(_))));
}

#[tokio::test]
async fn a_query_without_patterns_is_not_allowed_by_any_rule() {
    let (ctx, requests) = start(&[(Effect::Allow, "*")]);
    drop(requests);
    assert!(ctx.ask("edit", &["x"], json!({})).await.is_ok());
    let asked = ctx.ask("edit", &[], json!({})).await;
    assert!(matches!(asked, Err(NotPermittedError::Unanswerable(_))), "{asked:?}");
}

#[tokio::test]
async fn the_rule_that_denies_is_reported() {
    let (ctx, _requests) = start(&[(Effect::Deny, "Edit(/docs/**)")]);
    let denied = ctx.ask("edit", &["src/x", "docs/y"], json!({})).await.unwrap_err();
    assert!(denied.to_string().contains("`deny Edit(/docs/**)`"), "{denied}");
    let NotPermittedError::Denied(error) = denied else { panic!("{denied}") };
    assert_eq!(error.rule().unwrap().text, "deny Edit(/docs/**)");
}

#[tokio::test]
async fn a_session_approval_covers_each_file_with_any_content() {
    let (ctx, mut requests) = start(&[]);
    let asking = ctx.clone();
    let first =
        tokio::spawn(async move { asking.ask("edit", &["a", "b"], json!({ "diff": "+1" })).await });
    let request = requests.recv().await.unwrap();
    assert_eq!(
        request.presentation.metadata["covers"],
        json!([r#"["edit","a"]"#, r#"["edit","b"]"#])
    );
    drop(ctx.gate.answer(request.id, SESSION).await.unwrap());
    assert!(first.await.unwrap().is_ok());
    drop(requests);
    assert!(ctx.ask("edit", &["b"], json!({ "diff": "+2" })).await.is_ok());
    assert!(ctx.ask("edit", &["b", "c"], json!({})).await.is_err());
}

#[tokio::test]
async fn another_mode_wakes_who_waits_and_reaches_subagents() {
    let (ctx, mut requests) = start(&[]);
    let below = ctx.start_subagent("explore", Some(PermissionMode::Plan)).await.unwrap();
    let waiting = sending(&ctx, Send::default(), "bob");
    requests.recv().await.unwrap();
    drop(ctx.gate.set_mode(ctx.session(), PermissionMode::BypassPermissions).await.unwrap());
    assert!(waiting.await.unwrap().is_ok());
    assert!(sending(&below, Send::default(), "bob").await.unwrap().is_ok());
}

#[tokio::test]
async fn waiting_calls_are_cancelled_when_the_session_ends() {
    let (ctx, mut requests) = start(&[]);
    let waiting = sending(&ctx, Send::default(), "bob");
    requests.recv().await.unwrap();
    assert_eq!(ctx.gate.end_session(ctx.session()).await.unwrap().len(), 1);
    assert!(matches!(waiting.await.unwrap(), Err(NotPermittedError::Cancelled(_))));
}

#[tokio::test]
async fn a_group_is_answered_together() {
    let (ctx, mut requests) = start(&[]);
    let group = Some("mails");
    let plain = sending(&ctx, Send { group, explicit: false }, "bob");
    let explicit = sending(&ctx, Send { group, explicit: true }, "eve");
    let ids = [requests.recv().await.unwrap().id, requests.recv().await.unwrap().id];
    let all = ctx.gate.answer_group(ctx.session(), "mails".into(), GroupAnswer::All).await.unwrap();
    assert_eq!(all.len(), 1);
    assert!(plain.await.unwrap().is_ok());
    let id = ids.into_iter().find(|id| *id != all[0].id).unwrap();
    drop(ctx.gate.answer(id, YES).await.unwrap().unwrap());
    assert!(explicit.await.unwrap().is_ok());
}

/// Guards I14.
#[tokio::test]
async fn the_request_of_an_abandoned_call_is_withdrawn() {
    let (ctx, mut requests) = start(&[]);
    let waiting = sending(&ctx, Send::default(), "bob");
    let request = requests.recv().await.unwrap();
    waiting.abort();
    assert!(waiting.await.is_err());
    let late = ctx.gate.answer(request.id, YES).await.unwrap();
    assert!(late.is_err(), "nobody is there to use the yes");
}

#[tokio::test]
async fn a_tools_question_is_put_to_the_hooks_first() {
    use openoxide_permission::{HookCommand, HookEvent, HookMatcher};
    let directory = tempfile::tempdir().unwrap();
    let project = AbsPath::new(directory.path().to_str().unwrap()).unwrap();
    let hook = |script: &str| openoxide_permission::Hook {
        layer: LayerKind::User,
        file: "/h/policy.toml".to_owned(),
        line: 1,
        event: HookEvent::PreToolUse,
        matcher: HookMatcher::default(),
        command: HookCommand::Shell(script.to_owned()),
        timeout: std::time::Duration::from_secs(20),
        may_allow: true,
        respects_ask_rules: false,
        project: None,
        is_trusted: true,
    };
    let (ctx, _requests) = start(&[(Effect::Allow, "send_email")]);
    let ctx = ToolContext { cwd: project.clone(), ..ctx };
    let args = json!({ "to": "ann" });
    assert!(ctx.request_permit(&Send::default(), &args).await.is_ok());
    let denies = vec![hook("grep -q send_email && echo not today >&2 && exit 2")];
    let ctx = ctx.with_hooks(denies, project, PermissionMode::Default);
    let refused = ctx.request_permit(&Send::default(), &args).await.unwrap_err();
    assert!(refused.to_string().contains("not today"), "{refused}");
}

#[tokio::test]
async fn an_approval_for_a_task_ends_with_the_next_task() {
    let (ctx, mut requests) = start(&[]);
    ctx.set_task(Some("fix the build".to_owned())).await.unwrap();
    let asking = ctx.clone();
    let waiting = tokio::spawn(async move { asking.ask("bash", &["make x"], json!({})).await });
    let request = requests.recv().await.unwrap();
    assert_eq!(request.task.as_deref(), Some("fix the build"));
    let terms = Some(GrantTerms { until_task_end: true, ..GrantTerms::default() });
    let yes = ApprovalResponse::Approved { scope: GrantScope::Project, terms };
    drop(ctx.gate.answer(request.id, yes).await.unwrap());
    assert!(waiting.await.unwrap().is_ok());
    drop(requests);
    assert!(ctx.ask("bash", &["make x"], json!({})).await.is_ok());
    let below = ctx.start_subagent("explore", None).await.unwrap();
    assert!(below.ask("bash", &["make x"], json!({})).await.is_err(), "it has a task of its own");
    ctx.set_task(Some("write the docs".to_owned())).await.unwrap();
    assert!(ctx.ask("bash", &["make x"], json!({})).await.is_err());
}
