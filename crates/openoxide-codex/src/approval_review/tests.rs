//! Recorded requests, and the answers that a person is offered.

use openoxide_protocol::{
    Access, ApprovalResponse, CommandWords, ExecAccess, GrantScope, OperationFacts, SessionId,
};

use super::*;
use crate::app_server::{McpToolApproval, ServerMessage, StartedMcpCall, parse_server_message};
use crate::file_change::FileUpdateChange;

/// Recorded messages of app server 0.169 and its client. The ids are unchanged, the directories
/// shortened.
const RECORDED: &str = include_str!("../../../../corpus/codex/app_server.ndjson");

fn recorded() -> Vec<ServerMessage> {
    let lines = RECORDED.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let server = lines.filter(|line| line["from"] == "server");
    server.map(|line| parse_server_message(line["message"].clone())).collect()
}

/// Returns the recorded request that contains this text.
fn request(text: &str) -> ApprovalParams {
    let asked = recorded().into_iter().find_map(|heard| match heard {
        ServerMessage::ApprovalRequest(request) if json!(request).to_string().contains(text) => {
            Some(request.params)
        }
        _ => None,
    });
    asked.unwrap_or_else(|| panic!("{text}"))
}

fn scene<'a>(cwd: &'a AbsPath, changes: Option<&'a [FileUpdateChange]>) -> ThreadContext<'a> {
    ThreadContext { cwd, changes, started_calls: &[], session: SessionId::from_parts(0, [0; 10]) }
}

fn seen(asked: &ApprovalParams) -> Result<ReviewRequest, &'static str> {
    parse_review_request(asked, &scene(&AbsPath::new("/thread").unwrap(), None))
}

/// Returns a request with other fields.
fn with(asked: &ApprovalParams, changes: Value) -> ApprovalParams {
    let mut line = json!(asked);
    let Value::Object(changes) = changes else { panic!("{changes}") };
    line["params"].as_object_mut().unwrap().extend(changes);
    serde_json::from_value(line).unwrap()
}

fn running(commands: &[&str]) -> OperationFacts {
    let accesses = commands.iter().map(|text| {
        let mut argv = CommandWords::new();
        text.split(' ').for_each(|word| argv.push(word));
        let (class, span, arity) = (Default::default(), Default::default(), 0);
        let text = (*text).to_owned();
        Access::Exec(ExecAccess { argv, text, class, span, arity, ..ExecAccess::default() })
    });
    OperationFacts { accesses: accesses.collect(), findings: Vec::new() }
}

fn offers(asked: &ApprovalParams, commands: &[&str]) -> CodexAnswerOptions {
    CodexAnswerOptions::new(asked, &running(commands))
}

fn keys(offers: &CodexAnswerOptions) -> Vec<String> {
    let names = |keys: &[char]| keys.iter().map(|key| key.escape_default().to_string()).collect();
    offers.options.iter().map(|offered| names(&offered.keys)).collect()
}

#[test]
fn each_recorded_request_is_an_operation() {
    let (mut seen, mut changes) = (0, None);
    for heard in recorded() {
        match heard {
            ServerMessage::FileChangeStarted(item, told) => changes = Some((item, told)),
            ServerMessage::ApprovalRequest(request) => {
                seen += 1;
                let (thread, call) = (request.params.thread_id(), request.params.call_name());
                let own = changes.as_ref().filter(|(item, _)| item.item == call);
                let cwd = AbsPath::new("/ws").unwrap();
                let scene = scene(&cwd, own.map(|(_, changes)| changes.as_slice()));
                let wanted = parse_review_request(&request.params, &scene).unwrap();
                assert_eq!(wanted.operation.session.to_string(), thread);
                assert_eq!(wanted.operation.call.0, call);
                assert_eq!(wanted.operation.cwd, cwd);
            }
            _ => {}
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn a_command_is_shown_as_its_script_with_codex_s_reason() {
    let wanted = seen(&request("May I touch it?")).unwrap();
    assert_eq!(wanted.presentation.content, "touch /out/o1");
    assert_eq!(wanted.presentation.metadata["reason"], "May I touch it?");
    assert_eq!(wanted.operation.tool, "Bash");
    assert_eq!(wanted.operation.cwd.as_str(), "/ws", "the request's own");
    assert_eq!(wanted.human_approval_reason, None);
}

#[test]
fn a_request_for_more_than_a_command_requires_a_person() {
    let plain = request("rm -rf x/y");
    assert_eq!(seen(&plain).unwrap().human_approval_reason, None);
    for more in [
        json!({ "kind": "humanCommand" }),
        json!({ "kind": "writeStdin" }),
        json!({ "environmentId": "elsewhere" }),
        json!({ "additionalPermissions": { "network": { "enabled": true } } }),
    ] {
        let wanted = seen(&with(&plain, more.clone())).unwrap();
        assert!(wanted.human_approval_reason.is_some(), "{more}");
    }
    assert!(seen(&request("touch /opt/y")).unwrap().human_approval_reason.is_some(), "recorded");
    assert!(seen(&with(&plain, json!({ "cwd": "x" }))).is_err(), "no directory");
}

#[test]
fn changes_are_shown_as_one_difference() {
    let cwd = AbsPath::new("/ws").unwrap();
    let changes = recorded().into_iter().filter_map(|heard| match heard {
        ServerMessage::FileChangeStarted(_, changes) => Some(changes),
        _ => None,
    });
    let changes: Vec<_> = changes.collect();
    let asked = request("\"call_8\"");
    let wanted = parse_review_request(&asked, &scene(&cwd, Some(&changes[1]))).unwrap();
    let expected = "--- /ws/d.txt\n+++ /dev/null\n-gone\n--- /ws/m.txt\n+++ /ws/n.txt\n@@ -1,2 +1,2 @@\n-x\n+z\n y\n\
        --- /ws/u.txt\n+++ /ws/u.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    assert_eq!(wanted.presentation.content, expected);
    let paths = ["/ws/d.txt", "/ws/m.txt", "/ws/n.txt", "/ws/u.txt"].map(str::to_owned).to_vec();
    assert_eq!(wanted.operation.action, Action::Edit { paths });
    assert_eq!(wanted.title, "Change 4 files");
    for none in [None, Some(&[][..])] {
        assert!(
            crate::approval_review::parse_review_request(&asked, &scene(&cwd, none)).is_err(),
            "nothing can be shown"
        );
    }
    let root = with(&asked, json!({ "grantRoot": "/" }));
    assert!(
        crate::approval_review::parse_review_request(&root, &scene(&cwd, Some(&changes[1])))
            .unwrap()
            .human_approval_reason
            .is_some()
    );
}

#[test]
fn more_permissions_are_the_files_that_they_open() {
    let wanted = seen(&request("let me")).unwrap();
    let read = Action::Read { paths: vec!["/etc".into()] };
    let write = Action::Edit { paths: vec!["/opt/x".into()] };
    assert_eq!(wanted.additional_actions, [read, write]);
    let shown = "read /etc\nchange /opt/x\nnetwork: {\"enabled\":true}";
    assert_eq!(wanted.presentation.content, shown);
    assert!(wanted.human_approval_reason.is_some());
    let odd = json!({ "permissions": { "fileSystem": { "entries": [
        { "path": { "type": "glob_pattern", "pattern": "/**" }, "access": "write" },
        { "path": { "type": "path", "path": "/x" }, "access": "deny" },
    ] } } });
    let wanted = seen(&with(&request("let me"), odd)).unwrap();
    assert!(
        matches!(&wanted.additional_actions[..], [Action::Opaque { .. }]),
        "{:?}",
        wanted.additional_actions
    );
}

/// Guards I19.
#[test]
fn exactly_the_answers_of_codex_are_offered() {
    let touch = request("May I touch it?");
    let list = offers(&touch, &["touch /out/o1"]);
    assert_eq!(keys(&list), ["y", "p", "n\\u{1b}"]);
    let ApprovalParams::Command(approval) = &touch else { panic!() };
    let answers: Vec<_> = list.options.iter().map(|offered| offered.answer.clone()).collect();
    let theirs = approval.available_decisions.clone().unwrap();
    assert_eq!(answers, theirs.into_iter().map(CodexAnswer::Review).collect::<Vec<_>>());
    assert!(list.options[1].meaning.ends_with("commands that begin with `touch`"));

    assert_eq!(keys(&offers(&request("git log"), &["git log"])), ["y", "n\\u{1b}"]);
    let none = with(&touch, json!({ "availableDecisions": null }));
    assert_eq!(keys(&offers(&none, &[])), ["y", "nd", "\\u{1b}"]);
    let few = with(&touch, json!({ "availableDecisions": ["decline"] }));
    assert_eq!(keys(&offers(&few, &[])), ["nd"]);
    assert_eq!(keys(&offers(&request("\"call_8\""), &[])), ["y", "a", "nd", "\\u{1b}"]);
    assert_eq!(keys(&offers(&request("let me"), &[])), ["y", "r", "a", "nd"]);
}

#[test]
fn where_a_person_is_demanded_only_this_once_is_offered() {
    let human = json!({ "kind": "humanCommand", "availableDecisions": ["accept", "acceptForSession",
        { "acceptWithExecpolicyAmendment": { "execpolicy_amendment": ["touch"] } }, "decline", "cancel"] });
    let human = with(&request("May I touch it?"), human);
    assert_eq!(keys(&offers(&human, &["touch /out/o1"])), ["y", "nd", "\\u{1b}"]);
}

#[test]
fn hosts_have_their_own_keys() {
    let rule = |action: &str| json!({ "applyNetworkPolicyAmendment": { "network_policy_amendment": { "action": action, "host": "x.io" } } });
    let host = with(
        &request("May I touch it?"),
        json!({ "command": null, "networkApprovalContext": { "host": "x.io", "protocol": "https" },
            "availableDecisions": ["accept", "acceptForSession", rule("allow"), rule("deny"), "decline", "cancel"] }),
    );
    let wanted = seen(&host).unwrap();
    assert_eq!(wanted.title, "Reach x.io by https");
    assert_eq!(wanted.presentation.content, "https://x.io/");
    let list = offers(&host, &[]);
    assert_eq!(keys(&list), ["y", "a", "p", "d", "n", "\\u{1b}"]);
    let words: Vec<_> =
        list.options.iter().map(|offered| offered.answer.to_approval_response()).collect();
    let yes = |scope| ApprovalResponse::new_approval(scope);
    let no = ApprovalResponse::Denied;
    assert_eq!(
        words,
        [
            yes(GrantScope::Once),
            yes(GrantScope::Session),
            yes(GrantScope::Project),
            no.clone(),
            no,
            ApprovalResponse::Cancelled
        ]
    );
}

/// Guards I19.
#[test]
fn a_rule_that_is_wider_than_the_shown_command_is_not_offered() {
    let touch = request("May I touch it?");
    let proposed = |words: Value| {
        let amendment =
            json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": words } });
        let fields = json!({ "proposedExecpolicyAmendment": words,
            "availableDecisions": ["accept", amendment, "cancel"] });
        offers(&with(&touch, fields), &["touch /out/o1"])
    };
    for words in [json!(["touch"]), json!(["touch", "/out/o1"])] {
        assert_eq!(proposed(words.clone()).options.len(), 3, "{words}");
    }
    let whole = json!(["/bin/bash", "-lc", "touch /out/o1"]);
    assert_eq!(proposed(whole).options.len(), 3, "the command as it is");
    for words in [
        json!([]),
        json!(["touch", "/out"]),
        json!(["rm"]),
        json!(["/bin/bash", "-lc"]),
        json!(["touch", "/out/o1\n"]),
        json!(["touch", "/out/o1", "x"]),
    ] {
        let offers = proposed(words.clone());
        assert_eq!((offers.options.len(), offers.withheld.len()), (2, 1), "{words}");
    }
    let other = with(&touch, json!({ "proposedExecpolicyAmendment": ["touch", "/out/o1"] }));
    assert_eq!(offers(&other, &["touch /out/o1"]).options.len(), 2, "another one is proposed");
}

#[test]
fn a_banned_prefix_is_marked() {
    let list = offers(&request("rm -rf x/y"), &["rm -rf x/y"]);
    let amendment = &list.options[1];
    assert!(amendment.needs_caution && amendment.meaning.ends_with("banned `rm`"), "{amendment:?}");
    let whole = offers(&request("FOO=1 ls > x"), &[]);
    assert!(whole.options[1].meaning.ends_with("banned `/bin/bash -lc`"), "{whole:?}");
    assert!(!offers(&request("wc -l"), &["echo"]).options[0].needs_caution);
}

// The real server accepted these answers, and reported them to the model.
#[test]
fn answers_are_written_as_codex_takes_them() {
    let id = crate::app_server::RequestId::Number(6);
    let more = request("let me");
    let lines: Vec<_> = offers(&more, &[])
        .options
        .iter()
        .map(|offered| offered.answer.render_line(&id)["result"].clone())
        .collect();
    let ApprovalParams::Permissions(approval) = &more else { panic!() };
    let wanted = &approval.permissions;
    assert_eq!(lines[0], json!({ "permissions": wanted, "scope": "turn" }));
    assert_eq!(
        lines[1],
        json!({ "permissions": wanted, "scope": "turn", "strictAutoReview": true })
    );
    assert_eq!(lines[2], json!({ "permissions": wanted, "scope": "session" }));
    assert_eq!(lines[3], json!({ "permissions": {}, "scope": "turn" }));
    assert_eq!(
        CodexAnswer::new_decline(&more).render_line(&id),
        json!({ "id": 6, "result": lines[3] })
    );
    assert_eq!(CodexAnswer::find_once_approval(&more), None, "no rule gives more permissions");
    let touch = request("May I touch it?");
    assert_eq!(
        CodexAnswer::find_once_approval(&touch).unwrap().render_line(&id),
        json!({ "id": 6, "result": { "decision": "accept" } })
    );
    assert_eq!(
        CodexAnswer::new_decline(&touch).render_line(&id),
        json!({ "id": 6, "result": { "decision": "decline" } })
    );
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let amendment = crate::review_decision::CodexReviewDecision::ApprovedExecpolicyAmendment {
        proposed_execpolicy_amendment: words(&["echo", "a b"]),
    };
    // The form of the lines that 0.169 writes into its default.rules.
    let line = r#"prefix_rule(pattern=["echo", "a b"], decision="allow")"#;
    assert_eq!(CodexAnswer::Review(amendment).rule_to_save().as_deref(), Some(line));
    let keeps: Vec<_> = offers(&touch, &["touch /out/o1"])
        .options
        .iter()
        .map(|o| o.answer.rule_to_save())
        .collect();
    let rule = r#"prefix_rule(pattern=["touch"], decision="allow")"#;
    assert_eq!(keeps, [None, Some(rule.to_owned()), None]);
    let dear = with(&touch, json!({ "availableDecisions": ["cancel"] }));
    assert_eq!(CodexAnswer::find_once_approval(&dear), None, "a yes is not offered");
}

/// Recorded tool calls with app server 0.169. One question is sent by the server itself, and claims
/// to be an approval of a tool.
const TOOLS: &str = include_str!("../../../../corpus/codex/app_server_tools.ndjson");

/// Returns each recorded question about a tool, with the calls that were running.
fn tools() -> Vec<(McpToolApproval, Vec<StartedMcpCall>)> {
    let lines = TOOLS.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (mut all, mut running) = (Vec::new(), Vec::new());
    for line in lines.filter(|line| line["from"] == "server") {
        match parse_server_message(line["message"].clone()) {
            ServerMessage::ToolCallStarted(item, call) => running.push((item, call)),
            ServerMessage::ItemCompleted(item) => running.retain(|(of, _)| *of != item),
            ServerMessage::ApprovalRequest(request) => {
                let ApprovalParams::Tool(approval) = request.params else { panic!() };
                all.push((*approval, running.iter().map(|(_, call)| call.clone()).collect()));
            }
            other => panic!("{other:?}"),
        }
    }
    all
}

fn tool(
    approval: &McpToolApproval,
    begun: &[StartedMcpCall],
) -> Result<ReviewRequest, &'static str> {
    let (cwd, begun) = (AbsPath::new("/ws").unwrap(), begun.iter().collect::<Vec<_>>());
    let scene = ThreadContext { started_calls: &begun, ..scene(&cwd, None) };
    parse_review_request(&ApprovalParams::Tool(Box::new(approval.clone())), &scene)
}

#[test]
fn a_tool_call_has_the_name_that_hooks_receive() {
    let all = tools();
    let wanted = tool(&all[0].0, &all[0].1).unwrap();
    assert_eq!(wanted.operation.tool, "mcp__files__remove");
    assert_eq!(wanted.operation.action, Action::CallTool);
    assert_eq!(wanted.operation.input, json!({ "path": "x" }));
    assert_eq!(wanted.presentation.content, "{\n  \"path\": \"x\"\n}");
    assert_eq!(wanted.human_approval_reason, None);
    let mut odd = all[0].clone();
    odd.0.message = "Allow it all?".to_owned();
    let other = tool(&odd.0, &odd.1).unwrap();
    assert_eq!(other.presentation.metadata["question"], "Allow it all?");
    assert!(other.human_approval_reason.is_some(), "a rule answers only the question of Codex");
    // The real server passed `mcp__my_files__remove` to its hook.
    let doubtful = ["fi__les", "files_", "fi-.les"].map(|server| (server, false));
    for (server, rules_answer) in [("my-files", true)].into_iter().chain(doubtful) {
        let (mut approval, mut begun) = all[0].clone();
        approval.server_name = server.to_owned();
        approval.message = format!("Allow the {server} MCP server to run tool \"remove\"?");
        begun[0].server = server.to_owned();
        let wanted = tool(&approval, &begun).unwrap();
        assert_eq!(wanted.human_approval_reason.is_none(), rules_answer, "{server}");
        let name = format!("mcp__{}__remove", server.replace(['-', '.'], "_"));
        assert_eq!(wanted.operation.tool, name);
    }
}

#[test]
fn a_server_cannot_ask_in_the_name_of_codex() {
    let all = tools();
    let forged = |(approval, begun): &&(McpToolApproval, Vec<StartedMcpCall>)| {
        tool(approval, begun).is_err()
    };
    let forged: Vec<_> = all.iter().filter(forged).collect();
    assert_eq!((all.len(), forged.len()), (6, 1));
    assert_eq!(forged[0].0.message, "Which colour?", "it says that it is the call of another tool");
    let (approval, begun) = &all[0];
    assert!(tool(approval, &[]).is_err(), "no call has begun");
    let mut other = begun.clone();
    other[0].arguments = json!({ "path": "z" });
    assert!(tool(approval, &other).is_err(), "another call has begun");
    let mut silent = approval.clone();
    silent.call.tool_params = None;
    assert!(tool(&silent, begun).is_err(), "it does not tell the arguments");
    let mut wants = approval.clone();
    wants.requested_schema =
        json!({ "type": "object", "properties": { "key": { "type": "string" } } });
    assert!(tool(&wants, begun).is_err(), "it wants to be told something");
}

#[test]
fn a_tool_is_answered_as_codex_offers() {
    let (approval, _) = tools().swap_remove(0);
    let offered = |persist: Value| {
        let mut approval = approval.clone();
        approval.call.persist = serde_json::from_value(persist).unwrap();
        offers(&ApprovalParams::Tool(Box::new(approval)), &[])
    };
    assert_eq!(keys(&offered(json!(["session", "always"]))), ["y", "a", "p", "nd", "\\u{1b}"]);
    assert_eq!(keys(&offered(json!("session"))), ["y", "a", "nd", "\\u{1b}"]);
    assert_eq!(keys(&offered(json!(null))), ["y", "nd", "\\u{1b}"]);
    let list = offered(json!(["session", "always"])).options;
    let scopes: Vec<_> = list.iter().map(|offered| offered.answer.to_approval_response()).collect();
    let yes = |scope| ApprovalResponse::new_approval(scope);
    let no = ApprovalResponse::Denied;
    let scoped = [GrantScope::Once, GrantScope::Session, GrantScope::Project].map(yes);
    assert_eq!(scopes, [&scoped[..], &[no.clone(), no]].concat());
    let kept = "mcp_servers.\"files\".tools.\"remove\".approval_mode = \"approve\"";
    let keeps: Vec<_> = list.iter().filter_map(|offered| offered.answer.rule_to_save()).collect();
    assert_eq!(keeps, [kept]);
    // The real server accepted each of these answers and acted on it.
    let told: Vec<_> =
        TOOLS.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    for offered in &list {
        let result =
            offered.answer.render_line(&crate::app_server::RequestId::Number(0))["result"].clone();
        assert!(told.iter().any(|line| line["message"]["result"] == result), "{result}");
    }
}
