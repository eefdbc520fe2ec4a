//! Additional directories: `directories` in a policy file, and the equivalents in other formats.

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};

use crate::{
    layers::{answer_trust, decision},
    prompt::Terminal,
    support::{World, code, stderr, stdout},
};

/// Creates a project with two directories next to it, and files in each.
fn world() -> World {
    let world = World::new();
    fs::create_dir_all(world.project().join(".openoxide")).unwrap();
    for name in ["lib", "other"] {
        fs::create_dir(world.root().join(name)).unwrap();
        fs::write(world.root().join(name).join("a.txt"), "").unwrap();
        fs::write(world.root().join(name).join(".env"), "").unwrap();
    }
    world
}

fn in_project(world: &World, text: &str) {
    fs::write(world.project().join(".openoxide/policy.toml"), text).unwrap();
}

const HERE: &str = "directories = [\"../lib\"]\n";

#[test]
fn an_additional_directory_is_treated_like_the_project() {
    // A path in the user's file is relative to that file. The home directory is two levels above
    // it.
    let world = world().policy("directories = [\"../../lib\"]\n");
    for (args, script, expected) in [
        (&[][..], "cat ../lib/a.txt", "allow"),
        (&[], "cat ../other/a.txt", "ask"),
        (&[], "cat ../lib/.env", "ask"),
        (&[], "cat ../lib/../other/a.txt", "ask"),
        (&[], "touch ../lib/b.txt", "ask"),
        (&["--mode", "accept_edits"], "touch ../lib/b.txt", "allow"),
        (&["--mode", "accept_edits"], "touch ../other/b.txt", "ask"),
        (&["--mode", "accept_edits"], "touch ../lib/.git/hooks/pre-commit", "ask"),
        (&["--mode", "plan"], "cat ../lib/a.txt", "allow"),
        (&["--mode", "plan"], "touch ../lib/b.txt", "deny"),
    ] {
        assert_eq!(decision(&world, args, script), expected, "{args:?} {script}");
    }
    let deny = format!("Read(/{}/**)", world.root().join("lib").display());
    assert_eq!(decision(&world, &["--deny", &deny], "cat ../lib/a.txt"), "deny", "a deny is final");
}

#[test]
fn a_hook_and_a_batch_in_another_directory_see_it_too() {
    let world = world().policy("directories = [\"../../lib\"]\n");
    let file = world.root().join("lib/a.txt");
    let call = json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "cwd": world.project(), "tool_name": "Read",
        "tool_input": { "file_path": file }, "tool_use_id": "t",
    });
    for _ in 0..2 {
        let output = world.run(&["hook", "claude"], call.to_string().as_bytes());
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "allow", "{answer}");
    }
    let row = json!({ "tool": "Read", "input": { "file_path": file }, "cwd": world.root().join("other") });
    let output = world.run(&["check", "--batch"], format!("{row}\n").as_bytes());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["decision"], "allow", "{answer}");
}

#[test]
fn a_project_widens_nothing_until_it_is_trusted_and_a_link_that_changes_ends_that() {
    let world = world();
    let link = world.root().join("link");
    symlink(world.root().join("lib"), &link).unwrap();
    in_project(&world, "directories = [\"../link\"]\n");
    let read = || decision(&world, &[], "cat ../link/a.txt");
    assert_eq!(read(), "ask");
    let (code, text) = answer_trust(&world, "y");
    assert_eq!(code, 0, "{text}");
    let lib = world.root().join("lib");
    let shown = format!("+.openoxide/policy.toml: directory ../link ({})", lib.display());
    assert!(text.replace(['\n', '\r'], "").contains(&shown), "{text}");
    assert_eq!(read(), "allow");
    fs::remove_file(&link).unwrap();
    symlink(world.root().join("other"), &link).unwrap();
    assert_eq!(read(), "ask", "it leads elsewhere");
    assert_eq!(decision(&world, &[], "cat ../lib/a.txt"), "ask");
    let output = world.run(&["trust", "--show"], b"");
    assert!(stdout(&output).contains("directory ../link"), "{}", stdout(&output));
}

#[test]
fn a_link_in_a_persons_own_file_also_requires_trust() {
    let world = world().policy("directories = [\"~/link\"]\n");
    symlink(world.root().join("lib"), world.root().join("link")).unwrap();
    let read = || decision(&world, &[], "cat ~/link/a.txt");
    assert_eq!(read(), "ask");
    let own = world.root().join("config/openoxide");
    let told = format!("run `openoxide trust {}` to review its settings", own.display());
    assert!(stdout(&world.run(&["trust"], b"")).contains(&told));
    let mut terminal = Terminal::run(&world, &["trust", own.to_str().unwrap()]);
    terminal.wait_for("[y]");
    terminal.press("y");
    assert_eq!(terminal.end().0, 0);
    assert_eq!(read(), "allow");
    fs::remove_file(world.root().join("link")).unwrap();
    symlink(world.root().join("other"), world.root().join("link")).unwrap();
    assert_eq!(read(), "ask");
}

#[test]
fn a_directory_that_is_too_broad_is_an_error_with_its_line() {
    for text in ["/", "~", "~/.ssh", "/etc", "../../.."] {
        let world = world().policy(&format!("mode = \"plan\"\ndirectories = [\"{text}\"]\n"));
        let output = world.run(&["check", "-c", "ls"], b"");
        assert_eq!(code(&output), 2, "{text}");
        assert!(stderr(&output).contains("policy.toml:2:16"), "{}", stderr(&output));
    }
}

#[test]
fn directories_are_listed_linted_laid_out_and_compared() {
    let world = world();
    let file = world.file("p.toml", "directories = [ '../lib',\"../gone\" ]\n");
    let output = world.run(&["rules", "lint", &file], b"");
    assert_eq!(code(&output), 1);
    let expected = "p.toml:1:27: warning[OX408]: `../gone` has no effect: no such directory";
    assert!(stdout(&output).contains(expected), "{}", stdout(&output));
    let listed = stdout(&world.run(&["rules", "list", "--policy", &file, "--json"], b""));
    let rows: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rows: Vec<_> = rows.iter().filter(|row| row["directory"].is_string()).collect();
    assert_eq!((&rows[0]["state"], &rows[0]["line"]), (&json!("applies"), &json!(1)));
    assert_eq!(rows[0]["path"], json!(world.root().join("lib")));
    assert_eq!((&rows[1]["directory"], &rows[1]["state"]), (&json!("../gone"), &json!("missing")));
    let words = stdout(&world.run(&["rules", "list", "--policy", &file, "--origins"], b""));
    assert!(words.contains(&format!("cli      dir    ../gone (missing)  {file}:1")), "{words}");
    assert_eq!(code(&world.run(&["rules", "fmt", &file], b"")), 0);
    let laid_out = "directories = [\n    \"../lib\",\n    \"../gone\",\n]\n";
    assert_eq!(fs::read_to_string(&file).unwrap(), laid_out);
    let other = world.file("q.toml", "directories = [\"../other\", \"../gone/\"]\n");
    let output = world.run(&["rules", "diff", &file, &other], b"");
    assert_eq!(stdout(&output), "- directory ../lib  (line 2)\n+ directory ../other  (line 1)\n");
}

#[test]
fn claude_codes_additional_directories_are_ours_and_ours_theirs() {
    let world = world();
    fs::create_dir(world.project().join(".claude")).unwrap();
    let text = r#"{ "permissions": { "additionalDirectories": ["../lib", "~/notes", "~"] } }"#;
    let settings = world.file(".claude/settings.json", text);
    let policy = ["--policy", settings.as_str()];
    assert_eq!(decision(&world, &policy, "cat ../lib/a.txt"), "allow");
    assert_eq!(decision(&world, &policy, "cat ../other/a.txt"), "ask");
    let output = world.run(&["rules", "convert", &settings, "--to", "native"], b"");
    let lib = world.root().join("lib");
    let expected = format!("directories = [\n    \"{}\",\n    \"~/notes\",\n]\n", lib.display());
    assert!(stdout(&output).starts_with(&expected), "{}", stdout(&output));
    assert!(stderr(&output).contains("it is your home directory; ignored"), "{}", stderr(&output));
    let native = world.file("p.toml", &stdout(&output));
    let output = world.run(&["rules", "convert", &native, "--to", "claude"], b"");
    let back: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(back["permissions"]["additionalDirectories"], json!([lib, "~/notes"]));
    for program in ["opencode", "codex", "llm-do"] {
        let output = world.run(&["rules", "convert", &native, "--to", program, "--json"], b"");
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let lost: Value = serde_json::from_str(stderr(&output).lines().nth(1).unwrap()).unwrap();
        assert_eq!((&lost["rule"], &lost["line"]), (&json!("directory ~/notes"), &json!(3)));
        assert_eq!(lost["became"], "narrower");
    }
}

#[test]
fn the_schema_knows_them() {
    let world = world();
    in_project(&world, HERE);
    let schema: Value =
        serde_json::from_str(&stdout(&world.run(&["schema", "policy"], b""))).unwrap();
    assert_eq!(schema["properties"]["directories"]["type"], "array");
}

/// Directories of the system and home directories are no projects, for any user.
#[test]
fn no_mode_allows_changes_in_a_directory_that_is_no_project() {
    let world = World::new().policy("[sandbox]\nauto_allow = \"project\"\n");
    let decide = |cwd: &std::path::Path, args: &[&str]| {
        let mut command = world.command(&[&["check", "--json"], args].concat());
        let output = command.current_dir(cwd).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["decision"].as_str().unwrap().to_owned()
    };
    let edits = ["--mode", "accept_edits", "-c", "touch x"];
    assert_eq!(decide(&world.project(), &edits), "allow");
    for cwd in ["/usr/local", "/usr/lib", "/etc", "/opt", "/srv", "/var/lib", "/run", "/root", "/"]
    {
        let cwd = std::path::Path::new(cwd);
        assert_eq!(decide(cwd, &edits), "ask", "{}", cwd.display());
    }
    assert_eq!(decide(&world.root(), &edits), "ask", "the home directory");
    let run =
        ["run", "--mode", "accept_edits", "--sandbox=off", "--no-input", "--", "touch", "made"];
    let output = world.command(&run).current_dir(world.root()).output().unwrap();
    assert!(!output.status.success() && !world.root().join("made").exists(), "{output:?}");
}
