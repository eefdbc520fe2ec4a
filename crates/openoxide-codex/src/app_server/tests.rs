use openoxide_protocol::Action;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::{file_change::PatchChangeKind, review_decision::CodexReviewDecision};

/// Recorded messages of app server 0.169 and its client. The ids are unchanged, the directories
/// shortened.
const RECORDED: &str = include_str!("../../../../corpus/codex/app_server.ndjson");

#[derive(Deserialize)]
struct Recorded {
    from: String,
    message: Value,
}

fn recorded(from: &str) -> Vec<Value> {
    let lines = RECORDED.lines().map(|line| serde_json::from_str::<Recorded>(line).unwrap());
    lines.filter(|line| line.from == from).map(|line| line.message).collect()
}

/// Removes `null` fields. The schema allows every field that may be `null` to be left out.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.iter().filter(|(_, value)| !value.is_null());
            fields.map(|(key, value)| (key.clone(), without_nulls(value))).collect()
        }
        Value::Array(all) => all.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[test]
fn recorded_requests_are_read_and_written_alike() {
    let mut count = 0;
    for line in recorded("server") {
        let Some(read) = parse_request(&line).unwrap() else { continue };
        count += 1;
        assert_eq!(without_nulls(&serde_json::to_value(&read).unwrap()), without_nulls(&line));
        if let ApprovalParams::Command(command) = &read.params {
            assert_eq!(command.rest.keys().collect::<Vec<_>>(), ["commandActions"]);
        }
    }
    assert_eq!(count, RECORDED.matches("/requestApproval").count());
    assert!(count > 7);
}

#[test]
fn recorded_answers_are_read_and_written_alike() {
    let mut seen = Vec::new();
    for line in recorded("client") {
        let decision = line["result"]["decision"].clone();
        let read = decision_words::deserialize(json!([decision])).unwrap().unwrap().remove(0);
        assert_eq!(
            render_response(&serde_json::from_value(line["id"].clone()).unwrap(), &read),
            line
        );
        seen.push(read);
    }
    for plain in [
        CodexReviewDecision::Approved,
        CodexReviewDecision::ApprovedForSession,
        CodexReviewDecision::new_denial(),
        CodexReviewDecision::Abort,
    ] {
        assert!(seen.contains(&plain), "{plain:?}");
    }
}

/// The commands that the model called are in the driver's script. This list contains what was sent
/// to the server.
#[test]
fn the_script_is_found_in_its_shell() {
    let scripts: Vec<_> = recorded("server")
        .iter()
        .filter_map(|line| match parse_request(line).unwrap()?.params {
            ApprovalParams::Command(command) => Some(command.to_action()),
            _ => None,
        })
        .collect();
    for script in [
        "rm -rf /ws/none",
        "git log",
        "touch /out/o1",
        "echo 'a b' | wc -l",
        "FOO=1 ls > x",
        "printf \"é\\n\"; ls",
    ] {
        let wanted = Action::Command { script: script.to_owned() };
        assert!(scripts.contains(&wanted), "{script}: {scripts:?}");
    }
}

fn command(changes: &Value) -> CommandApproval {
    let mut params = json!({ "threadId": "t", "turnId": "u", "itemId": "i", "startedAtMs": 1 });
    let (params, changes) = (params.as_object_mut().unwrap(), changes.as_object().unwrap());
    params.extend(changes.clone());
    serde_json::from_value(Value::Object(params.clone())).unwrap()
}

#[test]
fn hosts_and_typed_input_are_not_commands() {
    let host = json!({ "networkApprovalContext": { "host": "x.example", "protocol": "http" }, "command": "ls" });
    assert_eq!(command(&host).to_action(), Action::Fetch { url: "http://x.example/".into() });
    for odd in [
        json!({ "kind": "writeStdin", "command": "ls" }),
        json!({ "command": "bash -lc 'ls" }),
        json!({ "command": "bash -lc ls\u{0}x" }),
        json!({}),
    ] {
        assert!(matches!(command(&odd).to_action(), Action::Opaque { .. }), "{odd}");
    }
    let zsh = command(&json!({ "command": "/bin/zsh -lc 'ls x'" })).to_action();
    assert_eq!(zsh, Action::Command { script: "/bin/zsh -lc 'ls x'".into() });
}

#[test]
fn only_offered_decisions_are_allowed() {
    let of = |decisions: Value| command(&json!({ "availableDecisions": decisions }));
    let some = of(json!(["accept", "cancel"]));
    assert!(
        some.allows_decision(&CodexReviewDecision::Approved)
            && some.allows_decision(&CodexReviewDecision::new_denial())
    );
    assert!(!some.allows_decision(&CodexReviewDecision::ApprovedForSession));
    assert!(!command(&json!({})).allows_decision(&CodexReviewDecision::ApprovedForSession));
    let amendment = CodexReviewDecision::ApprovedExecpolicyAmendment {
        proposed_execpolicy_amendment: vec!["ls".into()],
    };
    assert!(
        of(json!([{ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": ["ls"] } }]))
            .allows_decision(&amendment)
    );
}

#[test]
fn an_approval_request_that_is_not_understood_is_an_error() {
    for odd in [
        json!({ "id": 1, "method": "item/commandExecution/requestApproval", "params": {} }),
        json!({ "id": 1, "method": "item/somethingNew/requestApproval", "params": {} }),
        json!({ "id": {}, "method": "item/fileChange/requestApproval", "params": {} }),
    ] {
        assert!(parse_request(&odd).is_err(), "{odd}");
    }
    assert!(parse_request(&json!({ "method": "turn/started", "params": {} })).unwrap().is_none());
    assert!(parse_request(&json!([1])).unwrap().is_none());
}

#[test]
fn messages_that_a_reviewer_needs_are_parsed() {
    let all: Vec<_> = recorded("server").into_iter().map(parse_server_message).collect();
    let asked =
        all.iter().filter(|heard| matches!(heard, ServerMessage::ApprovalRequest(_))).count();
    assert_eq!(asked, RECORDED.matches("/requestApproval").count());
    assert!(all.contains(&ServerMessage::RequestResolved(RequestId::Number(0))));
    let changes = all.iter().filter_map(|heard| match heard {
        ServerMessage::FileChangeStarted(item, changes) => Some((item.item.as_str(), changes)),
        _ => None,
    });
    let changes = changes.collect::<Vec<_>>();
    let kinds = |at: usize| changes[at].1.iter().map(|change| (&*change.path, &change.kind));
    assert_eq!(kinds(0).collect::<Vec<_>>(), [("/ws/a.txt", &PatchChangeKind::Add)]);
    let moved = PatchChangeKind::Update { move_path: Some("/ws/n.txt".into()) };
    let update = PatchChangeKind::Update { move_path: None };
    let expected =
        [("/ws/d.txt", &PatchChangeKind::Delete), ("/ws/m.txt", &moved), ("/ws/u.txt", &update)];
    assert_eq!(kinds(1).collect::<Vec<_>>(), expected);
}

#[test]
fn requests_that_are_not_understood_are_unsupported() {
    let rows = [
        (json!({ "id": 1, "method": "mcpServer/elicitation/request", "params": {} }), true),
        (json!({ "id": 1, "method": "item/new/requestApproval", "params": {} }), true),
        (json!({ "id": 1, "method": "execCommandApproval", "params": {} }), true),
        (json!({ "id": 1, "method": "item/fileChange/requestApproval", "params": {} }), true),
        (json!({ "method": "turn/started", "params": {} }), false),
        (json!({ "method": "serverRequest/resolved", "params": {} }), false),
        (json!([1]), false),
    ];
    for (line, left) in rows {
        let heard = parse_server_message(line.clone());
        assert_eq!(matches!(heard, ServerMessage::UnsupportedRequest(_)), left, "{line}");
        assert_eq!(heard == ServerMessage::Ignored, !left, "{line}");
    }
    let failed = json!({ "id": 3, "error": { "code": 1, "message": "no rollout found" } });
    assert_eq!(
        parse_server_message(failed),
        ServerMessage::CallResponse(3, Err(ServerCallError("no rollout found".into())))
    );
    let done = json!({ "id": 3, "result": { "cwd": "/ws" } });
    assert_eq!(
        parse_server_message(done),
        ServerMessage::CallResponse(3, Ok(json!({ "cwd": "/ws" })))
    );
}

#[test]
fn questions_about_tools_are_read_and_written_alike() {
    let tools = include_str!("../../../../corpus/codex/app_server_tools.ndjson");
    let lines = tools.lines().map(|line| serde_json::from_str::<Recorded>(line).unwrap().message);
    let asked: Vec<_> =
        lines.filter(|line| line["method"] == mcp_tool_approval::ELICITATION_METHOD).collect();
    assert_eq!(asked.len(), 6);
    for line in &asked {
        let read = parse_request(line).unwrap().unwrap();
        assert_eq!(without_nulls(&serde_json::to_value(&read).unwrap()), without_nulls(line));
    }
    let mut plain = asked[0].clone();
    plain["params"]["_meta"] = Value::Null;
    assert_eq!(parse_request(&plain).unwrap(), None, "any question of a server");
    plain["params"]["_meta"] = json!({ "codex_approval_kind": "another" });
    assert!(parse_request(&plain).is_err(), "not understood");
}
