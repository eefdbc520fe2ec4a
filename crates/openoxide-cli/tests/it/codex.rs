//! `codex`: what the program on the command line answers. The rules themselves are held by `corpus/codex/execpolicy.ndjson`.

use crate::support::{World, code, stderr, stdout};

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
fn what_codex_does_not_take_is_said_in_its_words() {
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
fn what_could_deceive_a_terminal_is_shown_by_its_number() {
    let world = World::new();
    let file = world.file("bad.rules", "prefix_rule([\"a\"], \"\u{1b}[2J\")\n");
    let output = world.run(&["codex", "execpolicy", "check", "-r", &file, "a"], b"");
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains(r"invalid decision: \x1b[2J"), "{}", stderr(&output));
}
