//! Tests of `rules`: its findings, its changes, and the conversion of policies to the formats of
//! other programs.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Stdio};

use serde_json::{Value, json};

use crate::support::{World, code, stderr, stdout, workspace};

fn rank(decision: &str) -> usize {
    ["allow", "ask", "deny"].iter().position(|one| *one == decision).expect(decision)
}

/// Calls of every kind: everyday commands, and tools.
fn calls() -> Vec<String> {
    let everyday = fs::read_to_string(workspace().join("corpus/everyday/commands.tsv")).unwrap();
    let command = |row: &str| row.split('\t').nth(1).unwrap().to_owned();
    let commands = everyday.lines().skip(1).step_by(9).map(command);
    let own = [
        "git status",
        "git push x",
        "git push --force x",
        "rm -rf x",
        "npm run build",
        "npm run",
        "make",
        "echo 'a b' c",
    ];
    let commands = commands.chain(own.map(str::to_owned));
    let bash = commands
        .map(|script| json!({ "tool": "Bash", "input": { "command": script }, "cwd": "/p" }));
    let path = |tool: &str, path: &str| json!({ "tool": tool, "input": { "file_path": path }, "cwd": "/p" });
    let paths = ["src/a.rs", ".env", "secrets/x", "/etc/passwd", "notes/a.txt", "notes/b.sh", "/p"];
    let files = paths.iter().flat_map(|name| [path("Read", name), path("Write", name)]);
    let hosts = ["example.com", "a.example.com", "other.io"];
    let fetches = hosts.map(|host| json!({ "tool": "WebFetch", "input": { "url": format!("https://{host}/") }, "cwd": "/p" }));
    let tools = ["mcp__github__get_issue", "mcp__github__delete", "Task"];
    let tools =
        tools.map(|tool| json!({ "tool": tool, "input": { "subagent_type": "x" }, "cwd": "/p" }));
    bash.chain(files).chain(fetches).chain(tools).map(|row| row.to_string()).collect()
}

fn decisions(world: &World, file: &str, calls: &[String]) -> Vec<String> {
    let output = world.run(&["check", "--batch", "--policy", file], calls.join("\n").as_bytes());
    assert_eq!(code(&output), 0, "{file}: {}", stderr(&output));
    let said = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap();
        answer["decision"].as_str().unwrap_or("error").to_owned()
    };
    stdout(&output).lines().map(said).collect()
}

const POLICIES: &[(&str, &str)] = &[
    (
        "plain.toml",
        "[permissions]\ndeny = [\"Bash(rm *)\"]\nask = [\"Bash(git push *)\", \"Bash(git commit * -m *)\"]\n\
         allow = [\"Bash(npm run *)\", \"Bash(git *)\", \"Bash(make)\", \"Bash(cargo*)\"]\n",
    ),
    (
        "files.toml",
        "[permissions]\ndeny = [\"Read(secrets/**)\", \"Edit(//etc/**)\", \"WebFetch(domain:*.example.com)\"]\n\
         ask = [\"Read(.env)\"]\nallow = [\"Edit(/src/**)\", \"WebFetch(domain:example.com)\", \"Bash\"]\n",
    ),
    (
        "order.toml",
        "[permissions]\ncombining = \"last-match\"\n\
         [[permissions.rule]]\npermission = \"bash\"\npattern = \"*\"\naction = \"ask\"\n\
         [[permissions.rule]]\npermission = \"bash\"\npattern = \"git *\"\naction = \"allow\"\n\
         [[permissions.rule]]\npermission = \"bash\"\npattern = \"git push *\"\naction = \"deny\"\n\
         [[permissions.rule]]\npermission = \"bash\"\npattern = \"git push --force *\"\naction = \"ask\"\n",
    ),
    (
        "lax.toml",
        "[permissions]\ncombining = \"deny-allow-ask\"\ndeny = [\"mcp__github__delete\"]\nask = [\"Bash(git push *)\"]\nallow = [\"Bash(git *)\"]\n",
    ),
    ("quoted.toml", "[permissions]\ndeny = [\"Bash(echo 'a b' *)\"]\nallow = [\"Bash(make)\"]\n"),
    (
        "settings.json",
        r#"{"permissions": {"deny": ["Bash(rm *)", "Read(secrets/**)"], "ask": ["Bash(git push *)"],
            "allow": ["Bash(git:*)", "Edit(src/**)", "WebFetch(domain:example.com)"]}}"#,
    ),
    (
        "opencode.json",
        r#"{"permission": {"bash": {"*": "ask", "git *": "allow", "git push *": "deny"},
            "edit": {"*": "ask", "src/*": "allow"}, "read": {"*": "allow", "secrets/*": "deny"}, "webfetch": "ask"}}"#,
    ),
    (
        "default.rules",
        "prefix_rule(pattern=[\"git\"])\nprefix_rule(pattern=[\"git\", [\"push\", \"pull\"]], decision=\"prompt\")\n\
         prefix_rule(pattern=[\"rm\"], decision=\"forbidden\", justification=\"use trash\")\n\
         network_rule(host=\"other.io\", protocol=\"https\", decision=\"deny\")\n",
    ),
    (
        "x.yaml",
        "sandbox: {paths: {notes: {root: notes, mode: rw, suffixes: [.txt]}, src: {root: src, mode: rw, write_approval: false}}}\n\
         shell:\n  default: {approval: true}\n  rules:\n    - {pattern: git push}\n    - {pattern: git, approval: false}\n    - {pattern: rm, allowed: false}\n",
    ),
];

const TARGETS: &[(&str, &str)] = &[
    ("native", "out.toml"),
    ("claude", "settings.out.json"),
    ("opencode", "opencode.jsonc"),
    ("codex", "out.rules"),
    ("llm-do", "out.yaml"),
];

// A policy in the format of another program is never less strict. Rules that would be less strict
// are refused.
/// Guards I27.
#[test]
fn a_converted_policy_is_never_looser() {
    let (world, calls) = (World::new(), calls());
    let (mut written, mut refused) = (0, 0);
    for (name, text) in POLICIES {
        let file = world.file(name, text);
        let before = decisions(&world, &file, &calls);
        for (program, target) in TARGETS {
            let output = world.run(&["rules", "convert", &file, "--to", program], b"");
            let said = stderr(&output);
            if code(&output) == 1 {
                assert!(said.contains("result would restrict nothing"), "{name} {program}: {said}");
                assert_eq!(stdout(&output), "");
                refused += 1;
                continue;
            }
            assert_eq!(code(&output), 0, "{name} {program}: {said}");
            let converted = world.file(target, &stdout(&output));
            let after = decisions(&world, &converted, &calls);
            for ((call, before), after) in calls.iter().zip(&before).zip(&after) {
                assert!(
                    rank(after) >= rank(before),
                    "{name} -> {program}: {call}: {before} -> {after}\n{}",
                    stdout(&output)
                );
            }
            fs::remove_file(converted).unwrap();
            written += 1;
        }
    }
    assert!(written >= 24 && refused >= 3, "{written} {refused}");
}

#[test]
fn a_policy_comes_back_from_our_own_words_unchanged() {
    let (world, calls) = (World::new(), calls());
    // In these formats, a denial to read does not deny changes, and names can end in a suffix that
    // our rules cannot express.
    let otherwise = ["opencode.json", "x.yaml"];
    for (name, text) in POLICIES.iter().filter(|(name, _)| !otherwise.contains(name)) {
        let file = world.file(name, text);
        let output = world.run(&["rules", "import", &file], b"");
        let ours = world.file("back.toml", &stdout(&output));
        assert_eq!(decisions(&world, &ours, &calls), decisions(&world, &file, &calls), "{name}");
    }
}

#[test]
fn a_rule_is_added_and_removed_and_all_else_stays() {
    let text = "# mine\n[permissions]\nallow = [\n    # builds\n    \"Bash(make)\", # quick\n]\n";
    let world = World::new().policy(text);
    let output = world.run(&["rules", "add", "allow", "Bash(npm run *)"], b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let path = world.user_policy();
    let read = || fs::read_to_string(&path).unwrap();
    assert_eq!(read(), text.replace("# quick\n", "# quick\n    \"Bash(npm run *)\",\n"));
    assert_eq!(code(&world.run(&["check", "-c", "npm run x"], b"")), 0);
    let again = world.run(&["rules", "add", "allow", "Bash(npm run *)"], b"");
    assert!(stderr(&again).contains("already"), "{}", stderr(&again));
    assert_eq!(code(&world.run(&["rules", "remove", "Bash(npm run *)"], b"")), 0);
    assert_eq!(read(), text);
    assert_eq!(code(&world.run(&["rules", "remove", "Bash(npm run *)"], b"")), 1);
    let wrong = world.run(&["rules", "add", "deny", "bsh(rm)"], b"");
    assert_eq!((code(&wrong), read()), (2, text.to_owned()));
    assert!(stderr(&wrong).contains("did you mean `Bash`?"), "{}", stderr(&wrong));
    let reason =
        world.run(&["rules", "add", "ask", "Bash(git push *)", "--reason", "it leaves"], b"");
    assert_eq!(code(&reason), 0, "{}", stderr(&reason));
    assert!(read().ends_with("action = \"ask\"\nreason = \"it leaves\"\n"), "{}", read());
    fs::write(&path, "[permissions]\nallow = 1\n").unwrap();
    let broken = world.run(&["rules", "add", "deny", "Bash(rm *)"], b"");
    assert_eq!((code(&broken), read()), (2, "[permissions]\nallow = 1\n".to_owned()));
}

/// Each reads the file, changes it and puts it back: without a lock the last one takes the rules of the others with it.
#[test]
fn rules_that_are_added_and_removed_at_once_are_all_kept() {
    const COUNT: usize = 8;
    let old = |number| format!("Bash(old-{number} *)");
    let list: Vec<String> = (0..COUNT).map(|number| format!("{:?}", old(number))).collect();
    let world = World::new().policy(&format!("[permissions]\nallow = [{}]\n", list.join(", ")));
    let mut running = Vec::new();
    for number in 0..COUNT {
        let new = format!("Bash(new-{number} *)");
        for args in [["rules", "add", "deny", &new].as_slice(), &["rules", "remove", &old(number)]]
        {
            let quiet = Stdio::null;
            running.push(world.command(args).stdout(quiet()).stderr(quiet()).spawn().unwrap());
        }
    }
    assert!(running.iter_mut().all(|child| child.wait().unwrap().success()));
    let text = fs::read_to_string(world.user_policy()).unwrap();
    assert_eq!(text.matches("Bash(new-").count(), COUNT, "{text}");
    assert_eq!(text.matches("Bash(old-").count(), 0, "{text}");
}

#[test]
fn the_project_has_separate_policy_files() {
    let world = World::new();
    for (flag, name) in [("--project", "policy.toml"), ("--local", "local.toml")] {
        let output = world.run(&["rules", "add", flag, "allow", "Bash(make *)"], b"");
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(stderr(&output).contains("openoxide trust"), "{}", stderr(&output));
        assert!(world.project().join(".openoxide").join(name).exists());
    }
    let link = World::new();
    fs::create_dir(link.project().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", link.project().join(".openoxide")).unwrap();
    let output = link.run(&["rules", "add", "--project", "deny", "Bash(make *)"], b"");
    assert_eq!(code(&output), 2);
    assert!(!link.project().join("elsewhere/policy.toml").exists());
}

#[test]
fn a_foreign_policy_is_merged_into_ones_own() {
    let world = World::new().policy("[permissions]\n# mine\ndeny = [\"Bash(rm *)\"]\n");
    let file = world.file(
        "settings.json",
        r#"{"permissions": {"allow": ["Bash(make *)"], "deny": ["Bash(dd *)"]}}"#,
    );
    let output = world.run(&["rules", "import", "--write", &file], b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let expected = "[permissions]\n# mine\ndeny = [\"Bash(rm *)\", \"Bash(dd *)\"]\nallow = [\"Bash(make *)\"]\n";
    assert_eq!(fs::read_to_string(world.user_policy()).unwrap(), expected);
    let mode = fs::metadata(world.user_policy()).unwrap().permissions().mode();
    assert_eq!(mode & 0o002, 0);
    let file =
        world.file("opencode.json", r#"{"permission": {"bash": {"*": "deny", "ls": "allow"}}}"#);
    let output = world.run(&["rules", "import", "--write", &file], b"");
    assert_eq!(code(&output), 2);
    assert_eq!(fs::read_to_string(world.user_policy()).unwrap(), expected);
}

#[test]
fn findings_are_json_too() {
    let world = World::new();
    let file = world.file(
        "x.toml",
        "[permissions]\nallow = [\"Bash(ls)\", \"Bash(python3 *)\", \"Bash(ls)\"]\n",
    );
    let output = world.run(&["rules", "lint", "--json", &file], b"");
    assert_eq!(code(&output), 1);
    let rows: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row["code"].as_str().unwrap(), row["line"].clone(), row["column"].clone()))
        .collect();
    assert_eq!(found, [("OX406", json!(2), json!(23)), ("OX401", json!(2), json!(42))]);
    assert_eq!(code(&world.run(&["rules", "lint", "--level", "error", &file], b"")), 0);
    let none = World::new();
    assert_eq!(code(&none.run(&["rules", "lint"], b"")), 0);
}

#[test]
fn a_difference_can_be_asked_of_commands() {
    let world = World::new();
    let old = world.file("old.toml", "[permissions]\nallow = [\"Bash(git *)\"]\n");
    let new = world.file(
        "new.toml",
        "[permissions]\nask = [\"Bash(git push *)\"]\nallow = [\"Bash(git  *)\"]\n",
    );
    let row = json!({ "tool": "Bash", "input": { "command": "git push y" } });
    let commands = world.file("commands", &format!("git status\ngit push x\n\n{row}\n"));
    let output = world.run(&["rules", "diff", &old, &new, "--commands", &commands, "--json"], b"");
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let rows: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["added", "decision", "decision"]);
    assert_eq!((&rows[1]["old"], &rows[1]["new"]), (&json!("allow"), &json!("ask")));
    assert_eq!(code(&world.run(&["rules", "diff", &old, &old], b"")), 0);
}

#[test]
fn the_order_of_rules_is_kept_where_it_matters() {
    let world = World::new();
    let file = world.file("order.toml", POLICIES[2].1);
    let output = world.run(&["rules", "export", "--format", "opencode", &file], b"");
    let expected = r#"{
  "permission": {
    "bash": {
      "*": "ask",
      "git *": "allow",
      "git push *": "deny",
      "git push --force *": "ask"
    }
  }
}
"#;
    assert_eq!(stdout(&output), expected);
}

#[test]
fn a_project_file_is_tested_in_its_project() {
    let world = World::new();
    fs::create_dir(world.project().join(".openoxide")).unwrap();
    let test = "[[test]]\ntool = \"Write\"\ninput = { file_path = \"src/x\", content = \"\" }\nexpect = \"allow\"\n";
    let text = format!(
        "mode = \"plan\"\n[permissions]\nallow = [\"Edit(/src/**)\"]\n{test}mode = \"default\"\n"
    );
    world.file(".openoxide/policy.toml", &text);
    for arguments in [&["rules", "test"][..], &["rules", "test", ".openoxide/policy.toml"]] {
        let output = world.run(arguments, b"");
        assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    }
    world.file(".openoxide/policy.toml", &text.replace("mode = \"default\"\n", ""));
    let output = world.run(&["rules", "test"], b"");
    assert_eq!(code(&output), 1);
    assert!(stdout(&output).contains("expected allow, found deny"), "{}", stdout(&output));
}

#[test]
fn a_rule_that_does_nothing_is_added_with_a_warning() {
    let world = World::new().policy("[permissions]\ndeny = [\"Bash(git *)\"]\n");
    let output = world.run(&["rules", "add", "allow", "Bash(git push *)"], b"");
    assert_eq!(code(&output), 0);
    assert!(stderr(&output).contains("never decides"), "{}", stderr(&output));
}
