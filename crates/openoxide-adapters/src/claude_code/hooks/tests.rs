use super::*;

fn read_hooks(hooks: &str) -> ClaudeHooks {
    parse_hooks(&format!("{{\n\"hooks\": {hooks}\n}}"), LayerKind::Project, "settings.json")
}

fn pre(hook: &str) -> String {
    format!(r#"{{"PreToolUse": [{{"matcher": "Bash", "hooks": [{hook}]}}]}}"#)
}

#[test]
fn hooks_that_decide_are_read_with_their_place() {
    // The format in the hook reference.
    let found = read_hooks(
        r#"{
"PreToolUse": [
  {"matcher": "Edit|Write",
   "hooks": [
     {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/style.sh"},
     {"type": "command", "command": "${CLAUDE_PROJECT_DIR}/x", "args": ["a b", ""], "timeout": 2.5}]}],
"PermissionRequest": [{"hooks": [{"type": "command", "command": "answer", "timeout": 9000}]}]
}"#,
    );
    assert_eq!((found.errors.as_slice(), found.notes.as_slice()), (&[][..], &[][..]));
    let [style, program, answer] = found.hooks.as_slice() else { panic!("{found:?}") };
    let script = "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/style.sh";
    assert_eq!(style.command, HookCommand::Shell(script.to_owned()));
    assert_eq!(
        (style.line, style.event, style.layer),
        (6, HookEvent::PreToolUse, LayerKind::Project)
    );
    assert!(style.matcher.matches("Write") && !style.matcher.matches("Bash"));
    assert!(style.may_allow && style.respects_ask_rules);
    let words = ["${CLAUDE_PROJECT_DIR}/x", "a b", ""].map(str::to_owned).to_vec();
    assert_eq!(program.command, HookCommand::Program(words));
    assert_eq!((program.line, program.timeout), (7, Duration::from_secs(3)));
    assert_eq!(
        (answer.event, answer.timeout),
        (HookEvent::PermissionRequest, Duration::from_mins(5))
    );
    assert!(answer.matcher.matches("anything") && !answer.respects_ask_rules);
}

#[test]
fn hooks_that_cannot_be_run_are_reported() {
    let rows = [
        (r#"{"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}"#.to_owned(), "`Stop`"),
        (pre(r#"{"type": "http", "url": "http://localhost/"}"#), "type `http`"),
        (pre(r#"{"type": "prompt", "prompt": "is it safe?"}"#), "type `prompt`"),
        (pre(r#"{"type": "agent", "prompt": "is it safe?"}"#), "type `agent`"),
        (pre(r#"{"type": "mcp_tool", "server": "s", "tool": "t"}"#), "type `mcp_tool`"),
        (pre(r#"{"type": "command", "command": "x", "async": true}"#), "`async`"),
        (pre(r#"{"type": "command", "command": "x", "shell": "powershell"}"#), "`powershell`"),
        (pre(r#"{"type": "command", "command": "openoxide hook claude"}"#), "it would call itself"),
    ];
    for (hooks, expected) in rows {
        let found = read_hooks(&hooks);
        assert!(found.hooks.is_empty() && found.errors.is_empty(), "{hooks}: {found:?}");
        let [note] = found.notes.as_slice() else { panic!("{hooks}: {found:?}") };
        assert!(note.starts_with("settings.json:2: ") && note.contains(expected), "{note}");
    }
    let off = r#"{"disableAllHooks": true, "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#;
    let found = parse_hooks(off, LayerKind::Project, "settings.json");
    assert!(found.hooks.is_empty() && found.notes.len() == 1, "{found:?}");
    let on = parse_hooks(&off.replace("true", "\"yes\""), LayerKind::Project, "settings.json");
    assert_eq!(on.hooks.len(), 1, "only `true` switches them off");
}

#[test]
fn a_hook_with_widened_conditions_cannot_allow() {
    for hooks in [
        pre(r#"{"type": "command", "command": "x", "if": "Bash(git push *)"}"#),
        pre(r#"{"type": "command", "command": "x"}"#).replace(r#""Bash""#, r#""[BE].*""#),
    ] {
        let found = read_hooks(&hooks);
        let [hook] = found.hooks.as_slice() else { panic!("{found:?}") };
        assert!(hook.applies_to(HookEvent::PreToolUse, "Bash") && !hook.may_allow, "{hook:?}");
        assert_eq!(found.notes.len(), 1, "{found:?}");
    }
}

#[test]
fn errors_have_a_location_and_may_lose_a_restriction() {
    let rows = [
        ("7".to_owned(), "7"),
        (r#"{"PreToolUse": 8}"#.to_owned(), "8"),
        (r#"{"PreToolUse": [9]}"#.to_owned(), "9"),
        (r#"{"PreToolUse": [{}]}"#.to_owned(), "{}"),
        (r#"{"PreToolUse": [{"matcher": 7, "hooks": []}]}"#.to_owned(), "7"),
        (pre("7"), "7"),
        (pre(r#"{"command": "x"}"#), r#"{"command": "x"}"#),
        (pre(r#"{"type": "Command", "command": "x"}"#), r#""Command""#),
        (pre(r#"{"type": "comand", "command": "x"}"#), r#""comand""#),
        (pre(r#"{"type": 7, "command": "x"}"#), "7"),
        (pre(r#"{"type": "HTTP", "url": "http://localhost/"}"#), r#""HTTP""#),
        (r#"{"preToolUse": []}"#.to_owned(), "[]"),
        (r#"{"Permissionrequest": []}"#.to_owned(), "[]"),
        (pre(r#"{"type": "command"}"#), r#"{"type": "command"}"#),
        (pre(r#"{"type": "command", "command": " "}"#), r#"" ""#),
        (pre(r#"{"type": "command", "command": "a\u0000b"}"#), r#""a\u0000b""#),
        (pre(r#"{"type": "command", "command": "x", "args": "y"}"#), r#""x""#),
        (pre(r#"{"type": "command", "command": "x", "timeout": "5"}"#), r#""5""#),
        (pre(r#"{"type": "command", "command": "x", "timeout": 0}"#), "0"),
    ];
    for (hooks, at) in rows {
        let text = format!("{{\n\"hooks\": {hooks}\n}}");
        let found = parse_hooks(&text, LayerKind::User, "settings.json");
        let [fault] = found.errors.as_slice() else { panic!("{text}: {found:?}") };
        assert_eq!(text.get(fault.span.clone()).unwrap(), at, "{text}");
        assert!(fault.loses_restriction && found.hooks.is_empty(), "{text}");
    }
    let many = vec![r#"{"type": "command", "command": "x"}"#; MAX_HOOKS + 1].join(",");
    let found = read_hooks(&pre(&many));
    assert_eq!((found.hooks.len(), found.errors.len()), (MAX_HOOKS, 1));
}

#[test]
fn only_managed_hooks_is_read_as_the_client_reads_it() {
    let only = |value: &str| {
        let text = format!(r#"{{"allowManagedHooksOnly": {value}}}"#);
        parse_hooks(&text, LayerKind::Managed, "managed-settings.json").managed_only
    };
    // `"yes"` is treated as true (observed).
    assert!(only("true") && only("\"yes\"") && !only("false"));
}
