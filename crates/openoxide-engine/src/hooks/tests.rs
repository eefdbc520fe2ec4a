use std::{fs, path::Path, time::Duration};

use openoxide_permission::{HookCommand, HookMatcher, LayerKind};

use super::*;

/// A temporary directory with its own project, in which hooks run.
struct Place {
    dir: tempfile::TempDir,
    cwd: AbsPath,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cwd = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        Self { dir, cwd }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    async fn ask(&self, hooks: &[Hook]) -> Vec<HookAnswer> {
        self.ask_about(hooks, &json!({ "command": "git push" })).await
    }

    async fn ask_about(&self, hooks: &[Hook], input: &Value) -> Vec<HookAnswer> {
        let call = HookCall {
            event: HookEvent::PreToolUse,
            session: "c6dc".to_owned(),
            call_id: "toolu_1",
            tool: "Bash",
            input,
            cwd: &self.cwd,
            project: &self.cwd,
            mode: PermissionMode::AcceptEdits,
            facts: &OperationFacts::default(),
        };
        ask_hooks(hooks, &call).await
    }

    /// Runs one script as a hook.
    async fn one(&self, script: &str) -> (HookDecision, String) {
        let answer = self.ask(&[hook(script)]).await.remove(0);
        (answer.decision, answer.reason)
    }
}

fn hook(script: &str) -> Hook {
    Hook {
        layer: LayerKind::User,
        file: "/h/policy.toml".to_owned(),
        line: 4,
        event: HookEvent::PreToolUse,
        matcher: HookMatcher::default(),
        command: HookCommand::Shell(script.to_owned()),
        timeout: Duration::from_secs(20),
        may_allow: true,
        respects_ask_rules: false,
        project: None,
        is_trusted: true,
    }
}

fn decision(word: &str) -> String {
    let output = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": "so it is",
    }});
    format!("printf %s '{output}'")
}

/// Guards I12.
#[tokio::test]
async fn each_hook_exit_follows_the_contract_of_claude_code_or_fails() {
    use HookDecision::{Allow, Ask, Deny, Failed, Pass};
    let place = Place::new();
    let (allow, deny, ask) = (decision("allow"), decision("deny"), decision("ask"));
    let rows = [
        // Statuses.
        ("true".to_owned(), Pass, ""),
        ("echo no >&2; exit 2".to_owned(), Deny, "no"),
        (format!("{allow}; echo no >&2; exit 2"), Deny, "no"),
        ("exit 1".to_owned(), Failed, "exit status 1"),
        ("echo why >&2; exit 1".to_owned(), Failed, "exit status 1: why"),
        (format!("{allow}; exit 1"), Failed, "exit status 1"),
        (format!("{deny}; exit 1"), Deny, "so it is"),
        ("exit 127".to_owned(), Failed, "exit status 127"),
        ("kill -9 $$".to_owned(), Failed, "killed by signal 9"),
        // Answers.
        (allow.clone(), Allow, "so it is"),
        (format!("echo; {allow}; echo"), Allow, "so it is"),
        (deny.clone(), Deny, "so it is"),
        (ask, Ask, "so it is"),
        (decision("defer"), Ask, "so it is"),
        (
            decision("perhaps"),
            Failed,
            "the decision is not one of `allow`, `deny`, `ask` and `defer`",
        ),
        ("echo '{}'".to_owned(), Pass, ""),
        (r#"echo '{"continue":true,"suppressOutput":true}'"#.to_owned(), Pass, ""),
        (r#"echo '{"continue":false,"stopReason":"enough"}'"#.to_owned(), Deny, "enough"),
        (r#"echo '{"decision":"approve","reason":"old"}'"#.to_owned(), Allow, "old"),
        (r#"echo '{"decision":"block","reason":"old"}'"#.to_owned(), Deny, "old"),
        (
            r#"echo '{"decision":7}'"#.to_owned(),
            Failed,
            "the decision is neither `approve` nor `block`",
        ),
        // What cannot be read.
        ("echo fine".to_owned(), Failed, "its output is not a JSON object"),
        ("echo '[]'".to_owned(), Failed, "its output is not a JSON object"),
        ("printf '\\0'".to_owned(), Failed, "its output is not a JSON object"),
    ];
    for (script, said, reason) in rows {
        assert_eq!(place.one(&script).await, (said, reason.to_owned()), "{script}");
    }
    for script in [
        "echo '{'".to_owned(),
        format!("{allow}; {allow}"),
        r#"echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}'"#.to_owned(),
        r#"echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","permissionDecision":"allow"}}'"#.to_owned(),
        r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":7}}'"#.to_owned(),
        r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{}}}'"#.to_owned(),
        "printf '{\"a\":'; yes '[' | head -20000".to_owned(),
    ] {
        assert_eq!(place.one(&script).await.0, Failed, "{script}");
    }
}

#[tokio::test]
async fn hook_output_is_limited_and_a_truncated_allow_fails() {
    let place = Place::new();
    let many = "head -c 1000000 /dev/zero | tr '\\0' ' '";
    let (said, reason) = place.one(&format!("{}; {many}", decision("allow"))).await;
    assert_eq!(said, HookDecision::Failed, "{reason}");
    assert_eq!(place.one(&format!("{}; {many}", decision("deny"))).await.0, HookDecision::Deny);
    let (said, reason) = place.one(&format!("{many} | tr ' ' x >&2; exit 2")).await;
    assert_eq!((said, reason.len()), (HookDecision::Deny, 1000));
}

#[tokio::test]
async fn a_hook_receives_the_payload_of_claude_code() {
    let place = Place::new();
    assert_eq!(place.one("cat > told; env > around; pwd > where").await.0, HookDecision::Pass);
    let told: Value = serde_json::from_slice(&fs::read(place.path("told")).unwrap()).unwrap();
    let expected = json!({
        "session_id": "c6dc", "cwd": place.cwd, "permission_mode": "acceptEdits",
        "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "git push" }, "tool_use_id": "toolu_1",
        "openoxide": {
            "schema": 1, "mode": "accept_edits", "facts": { "accesses": [], "findings": [] },
        },
    });
    assert_eq!(told, expected);
    let around = fs::read_to_string(place.path("around")).unwrap();
    assert!(around.contains(&format!("CLAUDE_PROJECT_DIR={}\n", place.cwd)), "{around}");
    assert_eq!(fs::read_to_string(place.path("where")).unwrap().trim_end(), place.cwd.as_str());
}

#[tokio::test]
async fn a_hook_need_not_listen() {
    let place = Place::new();
    let input = json!({ "command": "x".repeat(4 << 20) });
    for (script, said) in
        [("true", HookDecision::Pass), ("exec 0<&-; sleep 0.2", HookDecision::Pass)]
    {
        assert_eq!(place.ask_about(&[hook(script)], &input).await[0].decision, said, "{script}");
    }
    let answers = place.ask_about(&[hook("cat | wc -c > length")], &input).await;
    assert_eq!(answers[0].decision, HookDecision::Pass);
    let length = fs::read_to_string(place.path("length")).unwrap();
    assert!(length.trim().parse::<usize>().unwrap() > 4 << 20);
}

#[tokio::test]
async fn a_program_is_run_as_it_is() {
    let place = Place::new();
    let program = |words: &[&str]| Hook {
        command: HookCommand::Program(words.iter().map(|word| (*word).to_owned()).collect()),
        ..hook("")
    };
    let answers =
        place.ask(&[program(&["touch", "a b", "$HOME"]), program(&["no-such-hook"])]).await;
    assert_eq!(answers[0].decision, HookDecision::Pass);
    assert!(place.path("a b").exists() && place.path("$HOME").exists());
    assert_eq!(answers[1].decision, HookDecision::Failed);
    assert!(answers[1].reason.starts_with("it could not be started: "), "{}", answers[1].reason);
    let nowhere = AbsPath::new("/nowhere/at/all").unwrap();
    let gone = Place { cwd: nowhere, ..place };
    assert_eq!(gone.one("true").await.0, HookDecision::Failed, "a directory that is not there");
}

/// Returns whether a process is still running. A zombie is not running.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[tokio::test]
async fn a_hook_whose_time_is_up_ends_with_all_that_it_started() {
    let place = Place::new();
    let script =
        "sleep 600 & echo $! > one; (sleep 600 & echo $! > two; wait) & echo $$ > self; wait";
    let slow = Hook { timeout: Duration::from_secs(1), ..hook(script) };
    let answer = place.ask(&[slow]).await.remove(0);
    assert_eq!(
        (answer.decision, answer.reason.as_str()),
        (HookDecision::Failed, "it took longer than 1 s")
    );
    for name in ["one", "two", "self"] {
        let pid = fs::read_to_string(place.path(name)).unwrap();
        let mut patience = 100;
        while runs(pid.trim()) && patience > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            patience -= 1;
        }
        assert!(!runs(pid.trim()), "{name} still runs");
    }
}

#[tokio::test]
async fn a_program_that_a_hook_leaves_behind_does_not_hold_us_up_and_makes_it_ask() {
    let place = Place::new();
    let allow = decision("allow");
    for (script, said) in [
        (format!("{allow}; sleep 5 & exit 0"), HookDecision::Failed),
        (format!("{allow}; setsid sleep 5 & exit 0"), HookDecision::Failed),
        ("sleep 5 & exit 0".to_owned(), HookDecision::Failed),
        (format!("{}; sleep 5 & exit 0", decision("deny")), HookDecision::Deny),
        ("sleep 5 & exit 2".to_owned(), HookDecision::Deny),
        (format!("{allow}; sleep 5 > /dev/null 2>&1 & exit 0"), HookDecision::Allow),
        // Output that another process writes within the grace period is read.
        (
            "exec > >(sleep 0.1; tr x a); echo '{\"decision\":\"xpprove\"}'".to_owned(),
            HookDecision::Allow,
        ),
    ] {
        let start = std::time::Instant::now();
        let (found, reason) = place.one(&script).await;
        assert_eq!(found, said, "{script}: {reason}");
        assert!(start.elapsed() < Duration::from_secs(5), "{script}");
    }
}

#[tokio::test]
async fn hooks_run_side_by_side_and_answer_in_their_order() {
    let place = Place::new();
    // Each waits until the other has started.
    let wait = |own: &str, other: &str, then: &str| {
        hook(&format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done; {then}"))
    };
    let hooks = [wait("a", "b", "sleep 0.2; exit 2"), wait("b", "a", &decision("allow"))];
    let answers = place.ask(&hooks).await;
    let said: Vec<_> = answers.iter().map(|answer| answer.decision).collect();
    assert_eq!(said, [HookDecision::Deny, HookDecision::Allow]);
    assert_eq!(answers[0].hook.line, Some(4));
    assert_eq!(answers[0].hook.text, "hook touch");
}

#[tokio::test]
async fn only_hooks_that_the_call_concerns_are_asked() {
    let place = Place::new();
    let for_tool = |matcher: &str| Hook {
        matcher: HookMatcher::parse_name_patterns(matcher).unwrap(),
        ..hook("exit 2")
    };
    let answers = place.ask(&[for_tool("Edit|Write"), for_tool("Bash"), for_tool("mcp__*")]).await;
    assert_eq!(answers.len(), 1);
    assert!(place.ask(&[for_tool("Read")]).await.is_empty());
    let tight = Hook { may_allow: false, ..hook(&decision("allow")) };
    assert_eq!(place.ask(&[tight]).await[0].decision, HookDecision::Pass);
}

/// Returns whether a process is gone or is a zombie.
fn is_gone(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

#[tokio::test]
async fn who_no_longer_waits_ends_the_hooks_with_all_that_they_started() {
    let place = Place::new();
    let pids = || fs::read_to_string(place.path("pids")).unwrap_or_default();
    let hooks = [hook("sleep 600 & echo $$ $! > pids; wait")];
    let step = || tokio::time::sleep(Duration::from_millis(20));
    let runs = async {
        while !pids().ends_with('\n') {
            step().await;
        }
    };
    tokio::select! {
        answers = place.ask(&hooks) => panic!("it ended: {answers:?}"),
        () = runs => {}
    }
    let start = std::time::Instant::now();
    while !pids().split_whitespace().all(is_gone) {
        assert!(start.elapsed() < Duration::from_secs(10), "a hook goes on");
        step().await;
    }
    assert_eq!(pids().split_whitespace().count(), 2);
}

/// Runs one script as the hook of a permission request.
async fn requested(place: &Place, script: &str) -> (HookDecision, String) {
    let call = HookCall {
        event: HookEvent::PermissionRequest,
        session: "c6dc".to_owned(),
        call_id: "toolu_1",
        tool: "Bash",
        input: &json!({ "command": "git push" }),
        cwd: &place.cwd,
        project: &place.cwd,
        mode: PermissionMode::Default,
        facts: &OperationFacts::default(),
    };
    let hook = Hook { event: HookEvent::PermissionRequest, ..hook(script) };
    let answer = ask_hooks(&[hook], &call).await.remove(0);
    (answer.decision, answer.reason)
}

/// The rows were measured on Claude Code 2.1.330, where "no decision" leaves the question to the person, as `failed` does here.
#[tokio::test]
async fn the_answer_to_a_permission_request_is_read_as_claude_code_reads_it_or_asks() {
    use HookDecision::{Allow, Deny, Failed, Pass};
    let place = Place::new();
    let says = |decision: Value| {
        let output = json!({ "hookEventName": "PermissionRequest", "decision": decision });
        format!("printf %s '{}'", json!({ "hookSpecificOutput": output }))
    };
    let rule = json!({ "toolName": "Bash" });
    let rules = json!([{ "type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session" }]);
    let rows = [
        ("true".to_owned(), Pass),
        (says(json!({ "behavior": "allow" })), Allow),
        (says(json!({ "behavior": "deny", "message": "no" })), Deny),
        (says(json!({ "behavior": "deny", "message": "no", "interrupt": true })), Deny),
        (says(json!({ "behavior": "ask" })), Failed),
        (says(json!({ "behavior": "allow", "updatedInput": { "command": "x" } })), Failed),
        (says(json!({ "behavior": "allow", "updatedPermissions": rules })), Failed),
        ("echo why >&2; exit 2".to_owned(), Failed),
        ("exit 1".to_owned(), Failed),
        ("echo junk".to_owned(), Failed),
        (decision("allow"), Failed),
        (decision("deny"), Deny),
        ("echo '{\"decision\":\"approve\"}'".to_owned(), Failed),
    ];
    for (script, expected) in rows {
        let (said, reason) = requested(&place, &script).await;
        assert_eq!(said, expected, "{script}: {reason}");
    }
    assert_eq!(requested(&place, "cat > told").await.0, Pass);
    let told: Value = serde_json::from_slice(&fs::read(place.path("told")).unwrap()).unwrap();
    assert_eq!(told["hook_event_name"], "PermissionRequest");
    assert!(told.get("tool_use_id").is_none(), "{told}");
}

/// Guards I12.
#[tokio::test]
async fn a_project_hook_runs_in_the_project_that_was_trusted() {
    let place = Place::new();
    let project = AbsPath::new(place.path("own").to_str().unwrap()).unwrap();
    fs::create_dir(place.path("own")).unwrap();
    // The directory of the call, which can be any directory, contains a file with the same name.
    fs::write(place.path("guard.sh"), "exit 0").unwrap();
    fs::write(place.path("own/guard.sh"), "exit 2").unwrap();
    let words = ["bash", "${CLAUDE_PROJECT_DIR}/guard.sh"].map(str::to_owned).to_vec();
    for command in [
        HookCommand::Shell("bash guard.sh".to_owned()),
        HookCommand::Shell("bash \"$CLAUDE_PROJECT_DIR\"/guard.sh".to_owned()),
        HookCommand::Program(words),
    ] {
        let of = |project| Hook { project, command: command.clone(), ..hook("") };
        let answers = place.ask(&[of(None), of(Some(project.clone()))]).await;
        assert_eq!(
            (answers[0].decision, answers[1].decision),
            (HookDecision::Pass, HookDecision::Deny)
        );
    }
}

/// Guards I12.
#[tokio::test]
async fn an_untrusted_hook_is_not_run_and_fails() {
    let place = Place::new();
    let unvouched =
        Hook { is_trusted: false, ..hook(&format!("touch ran; {}", decision("allow"))) };
    let answers = place.ask(&[unvouched, hook("true")]).await;
    assert_eq!(
        (answers[0].decision, answers[1].decision),
        (HookDecision::Failed, HookDecision::Pass)
    );
    assert!(!place.path("ran").exists());
}
