//! `codex`: what the program on the command line answers. The rules themselves are held by `corpus/codex/execpolicy.ndjson`.

use serde_json::{Value, json};

use crate::support::{World, code, stderr, stdout, workspace};

const RULES: &str = r#"prefix_rule(["git", ["status", "diff"]])
prefix_rule(["git"], "prompt", justification = "git needs review")
prefix_rule(["rm"], "forbidden", justification = "use trash")
[prefix_rule([tool, "install"]) for tool in ["npm", "pnpm"]]
host_executable("git", ["/usr/bin/git"])
"#;

/// Returns the status and the answer.
fn check(world: &World, arguments: &[&str]) -> (i32, String) {
    let output = world.run(&[&["codex", "execpolicy", "check"], arguments].concat(), b"");
    (code(&output), stdout(&output))
}

// The answers are those of Codex 0.169 to the same calls.
#[test]
fn codex_checks_are_answered_to_the_letter() {
    let world = World::new();
    let file = world.file("default.rules", RULES);
    let status = r#"{"prefixRuleMatch":{"matchedPrefix":["git","status"],"decision":"allow"}}"#;
    let git = r#"{"prefixRuleMatch":{"matchedPrefix":["git"],"decision":"prompt","justification":"git needs review"}}"#;
    for (command, expected) in [
        (&["git", "status"][..], format!(r#"{{"matchedRules":[{status},{git}],"decision":"prompt"}}"#)),
        (&["--", "git", "push"], format!(r#"{{"matchedRules":[{git}],"decision":"prompt"}}"#)),
        (&["ls", "-la"], r#"{"matchedRules":[]}"#.to_owned()),
        (&["/usr/bin/git", "status"], r#"{"matchedRules":[]}"#.to_owned()),
        (&["bash", "-lc", "git status && rm x"], r#"{"matchedRules":[]}"#.to_owned()),
        (&["git", "--pretty", "-r"], format!(r#"{{"matchedRules":[{git}],"decision":"prompt"}}"#)),
        (&["--resolve-host-executables", "/opt/git", "status"], r#"{"matchedRules":[]}"#.to_owned()),
        (
            &["--resolve-host-executables", "/opt/npm", "install"],
            r#"{"matchedRules":[{"prefixRuleMatch":{"matchedPrefix":["npm","install"],"decision":"allow","resolvedProgram":"/opt/npm"}}],"decision":"allow"}"#.to_owned(),
        ),
        (
            &["rm", "-rf", "/"],
            r#"{"matchedRules":[{"prefixRuleMatch":{"matchedPrefix":["rm"],"decision":"forbidden","justification":"use trash"}}],"decision":"forbidden"}"#.to_owned(),
        ),
    ] {
        let answer = check(&world, &[&["-r", &file], command].concat());
        assert_eq!(answer, (0, expected + "\n"), "{command:?}");
    }
    let pretty = check(&world, &["--rules", &file, "--pretty", "ls"]);
    assert_eq!(pretty, (0, "{\n  \"matchedRules\": []\n}\n".to_owned()));
}

#[test]
fn rejected_rules_are_reported_with_the_messages_of_codex() {
    let world = World::new();
    let file = world.file("bad.rules", "x = 1\nprefix_rule([\"a\"], \"deny\")\n");
    let check = ["codex", "execpolicy", "check", "-r", &file, "a"];
    let output = world.run(&check, b"");
    let expected = format!(
        "Error: failed to parse policy at {file}\n\nCaused by:\n    starlark error: Traceback (most recent call last):\n      * {file}:2, in <module>\n          prefix_rule([\"a\"], \"deny\")\n    error: invalid decision: deny\n     --> {file}:2:1\n      |\n    2 | prefix_rule([\"a\"], \"deny\")\n      | ^^^^^^^^^^^^^^^^^^^^^^^^^^\n      |\n"
    );
    assert_eq!((code(&output), stdout(&output)), (1, String::new()));
    assert_eq!(stderr(&output).trim_end(), expected.trim_end());

    let output = world.run(&["codex", "execpolicy", "check", "-r", "/not/there.rules", "a"], b"");
    let expected = "Error: failed to read policy at /not/there.rules\n\nCaused by:\n    No such file or directory (os error 2)\n";
    assert_eq!((code(&output), stderr(&output)), (1, expected.to_owned()));
    for usage in [&["-r", &file][..], &["a"], &["-r", &file, "--pretty=true", "a"]] {
        let output = world.run(&[&["codex", "execpolicy", "check"], usage].concat(), b"");
        assert_eq!((code(&output), stdout(&output)), (2, String::new()), "{usage:?}");
    }
}

#[test]
fn control_characters_are_shown_by_their_code() {
    let world = World::new();
    let file = world.file("bad.rules", "prefix_rule([\"a\"], \"\u{1b}[2J\")\n");
    let output = world.run(&["codex", "execpolicy", "check", "-r", &file, "a"], b"");
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains(r"invalid decision: \x1b[2J"), "{}", stderr(&output));
}

/// Returns the verdict of `codex decide` on each command, and the decision of `check` under the same rules.
fn both_answers(world: &World, rules: &str, commands: &[&str]) -> Vec<(String, String)> {
    let lines = |row: &dyn Fn(&str) -> Value| -> String {
        commands.iter().map(|command| format!("{}\n", row(command))).collect()
    };
    let exact = lines(&|command| json!({ "cmd": command }));
    let policy = ["--policy", "on-request", "--sandbox", "workspace-write", "--rules", rules];
    let exact = world.run(&[&["codex", "decide"][..], &policy].concat(), exact.as_bytes());
    let ours = lines(&|command| json!({ "tool": "Bash", "input": { "command": command } }));
    let ours = world.run(&["check", "--policy", rules, "--batch"], ours.as_bytes());
    let said = |output: &std::process::Output, name: &str| -> Vec<String> {
        let rows = stdout(output);
        let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.map(|row| row[name].as_str().unwrap().to_owned()).collect()
    };
    said(&exact, "verdict").into_iter().zip(said(&ours, "decision")).collect()
}

// The commands that Codex 0.169 runs although its rules match them: each row of
// docs/compatibility/codex.md.
#[test]
fn evasions_of_codex_rules_do_not_evade_ours() {
    let table = include_str!("../../../../corpus/codex/evasions.tsv");
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|row| row.split('\t').collect()).collect();
    let world = World::new();
    let rules = world.file("x.rules", include_str!("../../../../corpus/codex/evasions.rules"));
    let commands: Vec<String> =
        rows.iter().map(|row| row[0].replace("\\n", "\n").replace("\\\\", "\\")).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let found = both_answers(&world, &rules, &commands);
    assert_eq!(found.len(), rows.len());
    let wrong: Vec<_> = rows
        .iter()
        .zip(&found)
        .filter(|(row, (exact, ours))| (row[1], row[2]) != (exact, ours))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let page = std::fs::read_to_string(workspace().join("docs/compatibility/codex.md")).unwrap();
    for row in rows {
        let command = row[0].replace('|', "\\|");
        assert!(page.contains(&format!("`{command}`")), "{command} is not on the page");
    }
}

#[test]
fn each_line_that_is_a_call_is_decided_and_others_are_errors() {
    let world = World::new();
    let rules =
        world.file("x.rules", "prefix_rule([\"ls\"], \"prompt\", justification = \"why\")\n");
    let decide =
        ["codex", "decide", "--policy", "on-request", "--sandbox", "read-only", "-r", &rules];
    let input = "{\"id\":7,\"cmd\":\"ls -l\"}\n{\"cmd\":{\"cmd\":\"true\"}}\n\n{\"cmd\":3}\n[]\n";
    let output = world.run(&decide, input.as_bytes());
    let rows: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(rows.len(), 4);
    let expected = json!({
        "schema": 1, "id": 7, "verdict": "PROMPT", "reason": "`/bin/bash -lc 'ls -l'` requires approval: why",
        "amend": null, "bypass_sandbox": false, "avail": ["accept", "cancel"],
    });
    assert_eq!(rows[0], expected);
    assert_eq!((&rows[1]["verdict"], &rows[1]["id"]), (&json!("RUN"), &Value::Null));
    assert!(rows[2]["error"].as_str().unwrap().contains("`cmd` must be a string"));
    assert!(rows[3]["error"].is_string());
    for usage in [&["--policy", "sometimes"][..], &["--sandbox", "none"], &["--dialect", "1"]] {
        assert_eq!(code(&world.run(&[&decide[..], usage].concat(), b"")), 2, "{usage:?}");
    }
}

// Observed on 0.169: the paths of a patch decide, whichever way it is applied, and no rule is
// checked.
#[test]
fn a_patch_is_decided_by_its_paths_as_a_tool_and_as_a_script() {
    let world = World::new();
    let rules = world.file("x.rules", "prefix_rule([\"apply_patch\"], \"forbidden\")\n");
    let decide = ["codex", "decide", "--policy", "on-request", "--sandbox", "workspace-write"];
    let places = ["--cwd", "/w/p", "--writable", "/w/more", "--rules", &rules];
    let patch = |file: &str| format!("*** Begin Patch\n*** Add File: {file}\n+x\n*** End Patch");
    let script = |file: &str| format!("cd sub && apply_patch <<'E'\n{}\nE", patch(file));
    let calls = [
        json!({ "patch": patch("a") }),
        json!({ "patch": patch("../a"), "id": 1 }),
        json!({ "patch": patch("/w/more/a") }),
        json!({ "patch": patch(".git/hooks/x") }),
        json!({ "cmd": script("../a") }),
        json!({ "cmd": script("a"), "workdir": ".." }),
        json!({ "patch": patch("a"), "cmd": "ls" }),
        json!({}),
    ];
    let input: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let output = world.run(&[&decide[..], &places].concat(), input.as_bytes());
    let rows: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row["verdict"].as_str(), row["changes"][0]["path"].as_str()))
        .collect();
    let (run, asked) = (Some("RUN"), Some("PROMPT"));
    let expected = [
        (run, Some("/w/p/a")),
        (asked, Some("/w/a")),
        (run, Some("/w/more/a")),
        (asked, Some("/w/p/.git/hooks/x")),
        (run, Some("/w/p/a")),
        (asked, Some("/w/sub/a")),
        (None, None),
        (None, None),
    ];
    assert_eq!(found, expected, "{}", stderr(&output));
    assert_eq!(rows[1]["changes"][0]["kind"], json!({ "type": "add" }));
    assert_eq!(rows[6]["error"], "expected either `cmd` or `patch`, not both");
    assert!(rows[7]["error"].as_str().unwrap().contains("`cmd`"));
}

#[test]
fn rules_of_an_administrator_are_added_to_those_of_files() {
    let world = World::new();
    let rules = world.file("x.rules", include_str!("../../../../corpus/codex/managed.rules"));
    let managed = include_str!("../../../../corpus/codex/managed.toml");
    let managed = world.file("requirements.toml", managed);
    let decide = |file: &str| {
        let policy = ["codex", "decide", "--policy", "on-request", "--sandbox", "read-only"];
        let files = ["--rules", &rules, "--requirements", file];
        world.run(
            &[&policy[..], &files].concat(),
            b"{\"cmd\":\"git push\"}\n{\"cmd\":\"touch z\"}\n",
        )
    };
    let output = decide(&managed);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let rows: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let reason = json!("`/bin/bash -lc 'git push'` requires human approval: ask a human");
    assert_eq!((&rows[0]["kind"], &rows[0]["reason"]), (&json!("humanCommand"), &reason));
    assert_eq!(rows[0]["avail"], json!(["accept", "decline", "cancel"]));
    assert_eq!(rows[1]["verdict"], "REJECT");

    let wrong = world.file("wrong.toml", "[rules]\nprefix_rules = []\n");
    let output = decide(&wrong);
    let expected = format!(
        "Error: invalid rules in requirements (set by {wrong}): rules prefix_rules cannot be empty"
    );
    assert_eq!((code(&output), stdout(&output)), (2, String::new()));
    assert_eq!(stderr(&output).trim_end(), expected);
}

#[test]
fn amend_adds_a_rule_once_and_refuses_programs_that_run_anything() {
    let world = World::new();
    let home = world.project().join("codex");
    std::fs::create_dir(&home).unwrap();
    let home = home.to_str().unwrap();
    let amend = |words: &[&str]| {
        world.run(&[&["codex", "amend", "--home", home, "--"][..], words].concat(), b"")
    };
    for _ in 0..2 {
        assert_eq!(code(&amend(&["npm", "test"])), 0);
    }
    let written = std::fs::read_to_string(format!("{home}/rules/default.rules")).unwrap();
    assert_eq!(written, "prefix_rule(pattern=[\"npm\", \"test\"], decision=\"allow\")\n");
    let refused = amend(&["bash", "-lc"]);
    assert_eq!(code(&refused), 1);
    assert!(stderr(&refused).contains("would let any program run"));
}
