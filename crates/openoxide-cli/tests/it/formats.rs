//! Policies of other programs: `--format`, `--exact`, and rules that OpenOxide cannot express.

use serde_json::{Value, json};

use crate::support::{World, code, stderr, stdout};

/// Returns the answers to a batch under one policy file.
fn batch(world: &World, arguments: &[&str], rows: &[Value]) -> Vec<(String, Value)> {
    let input: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let output = world.run(&[&["check", "--batch"], arguments].concat(), input.as_bytes());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap();
        let said = answer["decision"].as_str().unwrap_or("error").to_owned();
        (said, answer)
    };
    stdout(&output).lines().map(answer).collect()
}

fn said(answers: &[(String, Value)]) -> Vec<&str> {
    answers.iter().map(|(said, _)| said.as_str()).collect()
}

fn bash(command: &str) -> Value {
    json!({ "tool": "Bash", "input": { "command": command }, "cwd": "/p" })
}

const OPENCODE: &str = r#"{
  // the last rule that matches decides
  "permission": { "bash": { "*": "ask", "git *": "allow", "git push *": "deny" }, "edit": "deny" },
  "agent": { "plan": { "permission": { "bash": "deny" } } },
}"#;

#[test]
fn opencode_is_answered_to_the_letter() {
    let world = World::new();
    let file = world.file("opencode.jsonc", OPENCODE);
    let question =
        |patterns: &[&str]| json!({ "permission": "bash", "patterns": patterns, "cwd": "/p" });
    let rows = [
        bash("git status"),
        bash("git status && git push x"),
        bash("make"),
        bash("\"git\" status"),
        bash("cat /etc/passwd"),
        question(&["git status", "git pushx"]),
        question(&["git status", "git push"]),
        question(&[]),
        json!({ "permission": "edit", "patterns": ["x"] }),
        json!({ "tool": "Read", "input": { "file_path": "x.env" }, "cwd": "/p" }),
        json!({ "tool": "Read", "input": { "file_path": "x" }, "cwd": "/p" }),
        json!({ "tool": "Read", "input": {}, "cwd": "/p" }),
    ];
    let answers = batch(&world, &["--exact", "--policy", &file], &rows);
    let expected = [
        "allow", "deny", "ask", "ask", "ask", "allow", "deny", "allow", "deny", "ask", "allow",
        "error",
    ];
    assert_eq!(said(&answers), expected);
    assert_eq!(answers[1].1["rule"]["text"], "deny bash(git push *)");
    assert_eq!(answers[1].1["rule"]["line"], 3);
    let plan = ["--exact", "--agent", "plan", "--policy", &file];
    assert_eq!(said(&batch(&world, &plan, &rows[..1])), ["deny"]);
}

#[test]
fn opencode_as_a_layer_meets_our_own_analysis() {
    let world = World::new();
    let file = world.file("opencode.jsonc", OPENCODE);
    let rows = [
        bash("git status"),
        bash("git -C . push x"),
        bash("sudo git push x"),
        bash("make"),
        bash("git status > x"),
        json!({ "tool": "Edit", "input": { "file_path": "/p/x" }, "cwd": "/p" }),
    ];
    let answers = batch(&world, &["--policy", &file], &rows);
    assert_eq!(said(&answers), ["allow", "deny", "deny", "ask", "deny", "deny"]);
}

const CLAUDE: &str = r#"{ "permissions": {
    "deny": ["Bash(rm *)", "Read(secrets/**)"],
    "allow": ["Bash(npm run *)", "Bash(watch *)"]
} }"#;

#[test]
fn claude_code_is_answered_to_the_letter_and_as_a_layer() {
    let world = World::new();
    let file = world.file("settings.local.json", CLAUDE);
    let rows = [
        bash("npm run build && ls"),
        bash("npm run build; rm x"),
        bash("find . -exec rm {} +"),
        bash("sed s/a/b/ x"),
        json!({ "permission": "bash", "patterns": ["npm run a", "make"], "cwd": "/p" }),
        json!({ "tool": "Read", "input": { "file_path": "/p/a/secrets/k" }, "cwd": "/p" }),
    ];
    let exact = batch(&world, &["--exact", "--policy", &file], &rows);
    assert_eq!(said(&exact), ["allow", "deny", "ask", "ask", "ask", "deny"]);
    let layer = batch(&world, &["--policy", &file], &rows);
    assert_eq!(said(&layer), ["allow", "deny", "deny", "allow", "ask", "deny"]);
    let output = world.run(&["check", "--policy", &file, "-c", "true"], b"");
    assert!(
        stderr(&output).contains("`allow Bash(watch *)` cannot be expressed"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn unreadable_and_inexpressible_rules_are_errors() {
    let world = World::new();
    for (name, text, message) in [
        ("x.rules", "prefix_rule(pattern=[a])", "Variable `a` not found"),
        ("x.rules", "prefix_rule(pattern=[\"a\"], match=[\"b\"])", "x.rules:1:35"),
        ("x.yaml", "shell:\n  rulez: []\n", "x.yaml:2:3"),
        ("x.yml", "shell: {rules: [{pattern: '$X', allowed: false}]}", "cannot be expressed"),
        ("x.json", "{}", "--format"),
        ("opencode.json", r#"{"permission": {"bash": "maybe"}}"#, "unknown effect"),
        ("opencode.json", r#"{"permission": {"grep": "deny"}}"#, "cannot be expressed"),
        ("settings.json", r#"{"permissions": {"deny": "Bash"}}"#, "an array"),
        ("settings.json", r#"{"permissions": {"deny": ["Skill(x)"]}}"#, "cannot be expressed"),
        ("settings.json", "{} // no", "invalid JSON"),
    ] {
        let file = world.file(name, text);
        let output = world.run(&["check", "--policy", &file, "-c", "true"], b"");
        assert_eq!(code(&output), 2, "{name} {text}");
        assert!(stderr(&output).contains(message), "{name} {text}: {}", stderr(&output));
    }
    let file = world.file("x.json", OPENCODE);
    let output = world.run(
        &["check", "--exact", "--format", "opencode", "--policy", &file, "-c", "git status"],
        b"",
    );
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let native = world.file("x.toml", "");
    let output = world.run(&["check", "--exact", "--policy", &native, "-c", "true"], b"");
    assert_eq!(code(&output), 2);
}

// The verdicts are those of Codex 0.169 under `untrusted` (rows of corpus/codex/decide.ndjson have the same shapes).
#[test]
fn codex_to_the_letter_asks_about_all_that_no_rule_allows() {
    let world = World::new();
    let rules = "prefix_rule([\"ls\"])\nprefix_rule([\"curl\"], \"forbidden\")\nprefix_rule([\"git\", \"push\"], \"prompt\")\n";
    let file = world.file("x.rules", rules);
    let scripts =
        ["ls -l", "ls && ls x", "ls > f", "make", "curl x", "curl $X", "git push", "git status"];
    let mut rows =
        scripts.map(|script| json!({ "tool": "Bash", "input": { "command": script } })).to_vec();
    rows.push(json!({ "tool": "Read", "input": { "file_path": "x" } }));
    rows.push(json!({ "permission": "bash", "patterns": ["ls", "curl x"] }));
    let found = batch(&world, &["--exact", "--policy", &file], &rows);
    let expected = ["allow", "allow", "ask", "ask", "deny", "ask", "ask", "ask", "ask", "deny"];
    assert_eq!(said(&found), expected);
    let one = |args: &[&str]| {
        let all = [&["check", "--exact", "--policy", &file][..], args].concat();
        world.run(&all, b"")
    };
    let output = one(&["-c", "curl x"]);
    assert_eq!(code(&output), 3);
    assert!(stdout(&output).contains("`/bin/bash -lc 'curl x'` rejected: policy forbids"));
    assert_eq!(code(&one(&["--mode", "plan", "-c", "ls"])), 2);
    let wrong = world.file("wrong.rules", "prefix_rule([])\n");
    let output = world.run(&["check", "--exact", "--policy", &wrong, "-c", "ls"], b"");
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("wrong.rules"), "{}", stderr(&output));
}

/// Configurations that people write, with every form that command rules have in OpenCode.
const CONFIGURATIONS: &[&str] = &[
    r#""ask""#,
    r#""allow""#,
    r#"{ "bash": "deny" }"#,
    r#"{ "bash": { "*": "ask", "git *": "allow", "git push *": "deny" }, "edit": "deny" }"#,
    r#"{ "bash": { "*": "allow", "rm *": "deny" } }"#,
    r#"{ "edit": "deny", "bash": { "*": "deny", "ls *": "allow", "cat *": "allow", "git status": "allow" } }"#,
    r#"{ "*": "ask", "bash": { "*": "deny", "git *": "allow" } }"#,
    r#"{ "bash": { "*": "allow", "sudo *": "ask", "curl *": "deny" }, "external_directory": "ask" }"#,
    r#"{ "bash": { "*": "ask", "*rm*": "deny", "npm run *": "allow" } }"#,
    r#"{ "external_directory": { "*": "ask", "/tmp/*": "allow" }, "bash": "allow" }"#,
];

const COMMANDS: &str = include_str!("../../../../corpus/opencode/bash.json");
const LOOSER: &str = include_str!("../../../../corpus/opencode/looser.tsv");

/// Returns the commands that we may answer less strictly, with OpenCode's answer and ours.
fn looser() -> Vec<(String, &'static str, &'static str)> {
    let row = |line: &'static str| {
        let [command, theirs, ours, why] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        assert!(!why.is_empty());
        (serde_json::from_str(command).unwrap(), theirs, ours)
    };
    LOOSER.lines().skip(1).map(row).collect()
}

#[test]
fn without_exact_no_answer_is_looser_than_opencodes_but_for_those_that_are_listed() {
    let world = World::new();
    let rank = |said: &str| ["allow", "ask", "deny"].iter().position(|effect| *effect == said);
    let recorded: Vec<Value> = serde_json::from_str(COMMANDS).unwrap();
    let commands: Vec<&str> = recorded.iter().map(|row| row["command"].as_str().unwrap()).collect();
    let rows: Vec<Value> = commands.iter().map(|command| bash(command)).collect();
    let looser = looser();
    let (mut wrong, mut met) = (Vec::new(), vec![false; looser.len()]);
    for configuration in CONFIGURATIONS {
        let file = world.file("opencode.json", &format!(r#"{{ "permission": {configuration} }}"#));
        let ours = batch(&world, &["--policy", &file], &rows);
        let theirs = batch(&world, &["--exact", "--policy", &file], &rows);
        for ((command, ours), theirs) in commands.iter().zip(said(&ours)).zip(said(&theirs)) {
            if rank(ours).unwrap() >= rank(theirs).unwrap() {
                continue;
            }
            let listed = |(of, said, answer): &(String, &str, &str)| {
                of == command && *answer == ours && (*said == "any" || *said == theirs)
            };
            match looser.iter().position(listed) {
                Some(at) => met[at] = true,
                None => wrong.push(format!("{configuration}: {command}: {theirs}, ours {ours}")),
            }
        }
    }
    assert!(wrong.is_empty(), "looser than OpenCode:\n{}", wrong.join("\n"));
    let idle: Vec<_> = looser.iter().zip(&met).filter(|(_, met)| !**met).collect();
    assert!(idle.is_empty(), "listed, but not looser: {idle:?}");
}

const CODEX: &str = r#"prefix_rule(pattern=["git", ["status", "log"]], decision="allow")
prefix_rule(
    pattern = ["git", "push"],
    decision = "prompt",
    justification = "it leaves the house",
)
prefix_rule(pattern=["rm"], decision="forbidden")
"#;

#[test]
fn codex_rules_are_a_layer() {
    let world = World::new();
    let file = world.file("default.rules", CODEX);
    let rows = [
        bash("git status && git log"),
        bash("git -C . push"),
        bash("git status; sudo rm x"),
        bash("git status > /p/x"),
        bash("cargo build"),
    ];
    let answers = batch(&world, &["--policy", &file], &rows);
    assert_eq!(said(&answers), ["allow", "ask", "deny", "ask", "ask"]);
    assert_eq!(answers[1].1["rule"]["line"], 2);
    assert_eq!(answers[1].1["rule"]["text"], "ask prefix_rule(git push)");
    assert_eq!(answers[1].1["rule"]["reason"], "it leaves the house");
}

// The configuration of seed 001.
const LLM_DO: &str = "sandbox:
  paths:
    notes: { root: ./notes, mode: rw, suffixes: [.txt, .log] }
shell:
  default: { allowed: true, approval: true }
  rules:
    - pattern: git status
      approval: false
    - pattern: rm
      allowed: false
";

#[test]
fn llm_do_is_a_layer() {
    let world = World::new();
    let file = world.file("llm-do.yaml", LLM_DO);
    let notes = |tool: &str, name: &str| {
        let path = world.project().join("notes").join(name);
        json!({ "tool": tool, "input": { "file_path": path, "content": "" } })
    };
    let rows = [
        bash("git status"),
        bash("make"),
        bash("timeout 5 rm x"),
        notes("Read", "a.txt"),
        notes("Write", "a.txt"),
        notes("Write", "a.sh"),
        notes("Read", "../x"),
    ];
    let answers = batch(&world, &["--policy", &file], &rows);
    assert_eq!(said(&answers), ["allow", "ask", "deny", "allow", "ask", "deny", "deny"]);
    let rows = [bash("make")];
    let strict = batch(&world, &["--mode", "dont_ask", "--policy", &file], &rows);
    assert_eq!(said(&strict), ["deny"]);
}
