//! The policy layers on disk: which files apply, and which of them require trust.

use std::fs;

use serde_json::Value;

use crate::{
    prompt::Terminal,
    support::{World, code, stderr, stdout},
};

const LOOSENING: &str = "mode = \"accept_edits\"\n[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(git push *)\"]\n";

fn with_project_policy(text: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.project().join(".openoxide")).unwrap();
    fs::write(world.project().join(".openoxide/policy.toml"), text).unwrap();
    world
}

/// Returns the decision about a script.
pub(crate) fn decision(world: &World, args: &[&str], script: &str) -> String {
    let output = world.run(&[&["check", "--json", "-c", script], args].concat(), b"");
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}{}", stdout(&output), stderr(&output)));
    answer["decision"].as_str().unwrap().to_owned()
}

/// Answers the question of `openoxide trust` with a key.
pub(crate) fn answer_trust(world: &World, key: &str) -> (u32, String) {
    let mut terminal = Terminal::run(world, &["trust"]);
    terminal.wait_for("[y]");
    terminal.press(key);
    terminal.end()
}

/// Guards I10.
#[test]
fn a_project_policy_applies_once_its_content_is_trusted() {
    let world = with_project_policy(LOOSENING);
    assert_eq!(decision(&world, &[], "touch x"), "ask");
    assert_eq!(decision(&world, &[], "git push"), "deny", "what tightens counts at once");
    let (code, text) = answer_trust(&world, "y");
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("+.openoxide/policy.toml: allow Bash(touch *)"), "{text}");
    assert_eq!(decision(&world, &[], "touch x"), "allow");
    let more = LOOSENING.replace("touch *)\"", "touch *)\", \"Bash(make *)\"");
    fs::write(world.project().join(".openoxide/policy.toml"), more).unwrap();
    assert_eq!(decision(&world, &[], "touch x"), "ask", "other content has to be vouched for anew");
    let (_, text) = answer_trust(&world, "y");
    assert!(text.contains(" .openoxide/policy.toml: allow Bash(touch *)"), "{text}");
    assert!(text.contains("+.openoxide/policy.toml: allow Bash(make *)"), "{text}");
    assert_eq!(decision(&world, &[], "make x"), "allow");
    assert_eq!(code_of(&world, &["trust", "--revoke"]), 0);
    assert_eq!(decision(&world, &[], "touch x"), "ask");
}

#[test]
fn trusting_a_missing_directory_is_an_error() {
    let world = World::new();
    fs::create_dir_all(world.project().join(".openoxide")).unwrap();
    fs::write(world.project().join(".openoxide/policy.toml"), LOOSENING).unwrap();
    assert_eq!(answer_trust(&world, "y").0, 0);
    for more in [&[][..], &["--show"], &["--revoke"]] {
        let output = world.run(&[&["trust", "none"], more].concat(), b"");
        let missing = world.project().join("none");
        let told = format!("no such file or directory: {}", missing.display());
        assert_eq!(code(&output), 2, "{more:?}");
        assert!(stderr(&output).contains(&told), "{}", stderr(&output));
    }
    let output = world.run(&["trust", "/dev/null"], b"");
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("neither a directory nor a file: /dev/null"));
    let gone = world.root().join("gone");
    fs::rename(world.project(), &gone).unwrap();
    let revoke = ["trust", "--revoke", world.project().to_str().unwrap()].map(str::to_owned);
    let mut command = world.command(&revoke.each_ref().map(String::as_str));
    let output = command.current_dir(&gone).output().unwrap();
    assert_eq!(code(&output), 0, "what was vouched for and is gone: {}", stderr(&output));
    assert!(stderr(&output).contains("trust revoked"), "{}", stderr(&output));
}

fn code_of(world: &World, args: &[&str]) -> i32 {
    code(&world.run(args, b""))
}

#[test]
fn a_project_that_moved_is_another_one() {
    let world = with_project_policy(LOOSENING);
    assert_eq!(answer_trust(&world, "y").0, 0);
    assert_eq!(decision(&world, &[], "touch x"), "allow");
    let moved = world.root().join("moved");
    fs::rename(world.project(), &moved).unwrap();
    let cwd = ["--cwd", moved.to_str().unwrap()];
    fs::create_dir(world.project()).unwrap();
    assert_eq!(decision(&world, &cwd, "touch x"), "ask");
}

#[test]
fn without_a_terminal_no_project_can_be_trusted() {
    let world = with_project_policy(LOOSENING);
    let output = world.run(&["trust"], b"y\n");
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert!(stderr(&output).contains("requires a terminal"), "{}", stderr(&output));
    let output = world.run(&["run", "-c", "touch x"], b"y\n");
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert_eq!(decision(&world, &[], "touch x"), "ask");
}

#[test]
fn a_first_run_asks_for_trust_and_a_no_is_not_asked_again() {
    let world = with_project_policy(LOOSENING);
    let mut terminal = Terminal::run(&world, &["run", "-c", "touch x"]);
    terminal.wait_for("let the settings of");
    terminal.wait_for("[y]");
    terminal.press("n");
    terminal.wait_for("touch x");
    terminal.wait_for("[a]");
    terminal.press("n");
    assert_eq!(terminal.end().0, 126);
    let mut terminal = Terminal::run(&world, &["run", "-c", "touch x"]);
    terminal.wait_for("[a]");
    terminal.press("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("let the settings of"), "{text}");
}

#[test]
fn rules_on_the_command_line_are_a_layer() {
    let world = World::new()
        .policy("[permissions]\nask = [\"Bash(touch *)\"]\ndeny = [\"Bash(make *)\"]\n");
    assert_eq!(decision(&world, &["--allow", "Bash(touch *)"], "touch x"), "allow");
    assert_eq!(decision(&world, &["--allow", "Bash(make *)"], "make x"), "deny", "a deny is final");
    assert_eq!(decision(&world, &["--deny", "Bash(git *)"], "git status"), "deny");
    assert_eq!(decision(&world, &["--ask", "Bash(git *)"], "git status"), "ask");
    let output = world.run(&["check", "-c", "x", "--deny", "Bash(x"], b"");
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("`--deny Bash(x`: the rule does not end"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn another_directory_can_belong_to_the_project() {
    let world = World::new();
    let other = world.root().join("other");
    fs::create_dir(&other).unwrap();
    let script = format!("cat {}/a.txt", other.display());
    assert_eq!(decision(&world, &[], &script), "ask");
    assert_eq!(decision(&world, &["--add-dir", other.to_str().unwrap()], &script), "allow");
}

#[test]
fn the_files_and_the_rules_can_be_listed() {
    let world = with_project_policy(LOOSENING).policy("[permissions]\nask = [\"Bash(npm *)\"]\n");
    let paths = stdout(&world.run(&["config", "path", "--json"], b""));
    let states: Vec<(String, String)> = paths
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|row| {
            (row["layer"].as_str().unwrap().to_owned(), row["state"].as_str().unwrap().to_owned())
        })
        .collect();
    let expected = [
        ("managed", "missing"),
        ("local", "missing"),
        ("local", "missing"),
        ("project", "tightens"),
        ("user", "applies"),
    ];
    assert_eq!(states, expected.map(|(layer, state)| (layer.to_owned(), state.to_owned())));
    let rules = stdout(&world.run(&["rules", "list", "--origins", "--deny", "Bash(x)"], b""));
    let mut lines = rules.lines();
    assert_eq!(lines.next(), Some("cli      deny   Bash(x)  (command line)"));
    let project = world.project().join(".openoxide/policy.toml:4");
    assert_eq!(
        lines.next().unwrap(),
        format!("project  deny   Bash(git push *)  {}", project.display())
    );
    let user = format!("user     ask    Bash(npm *)  {}:2", world.user_policy().display());
    assert_eq!(lines.next().unwrap(), user);
    assert!(lines.all(|line| line.starts_with("default ")), "{rules}");
}

#[test]
fn a_policy_that_all_can_write_allows_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new().policy("[permissions]\nallow = [\"Bash(touch *)\"]\n");
    assert_eq!(decision(&world, &[], "touch x"), "allow");
    fs::set_permissions(world.user_policy(), fs::Permissions::from_mode(0o666)).unwrap();
    let output = world.run(&["check", "-c", "touch x"], b"");
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("other users can write it"), "{}", stderr(&output));
}

#[test]
fn a_project_grant_is_kept_until_it_is_revoked() {
    let world = World::new();
    let mut terminal = Terminal::run(&world, &["run", "-c", "touch one"]);
    terminal.wait_for("[p]");
    terminal.press("p");
    terminal.wait_for("[Esc] back");
    terminal.press("p");
    assert_eq!(terminal.end().0, 0);
    assert_eq!(
        decision(&world, &[], "touch two"),
        "allow",
        "the rule that was shown, not the command"
    );
    assert_eq!(decision(&world, &[], "rm two"), "ask");
    let listed = stdout(&world.run(&["grants", "list"], b""));
    assert_eq!(listed, "  1  Bash(touch *)\n");
    let rules = stdout(&world.run(&["rules", "list", "--origins"], b""));
    assert!(rules.contains("local    allow  Bash(touch *)"), "{rules}");
    assert_eq!(code_of(&world, &["grants", "revoke", "2"]), 1);
    assert_eq!(code_of(&world, &["grants", "revoke", "Bash(touch *)"]), 0);
    assert_eq!(decision(&world, &[], "touch two"), "ask");
}

#[test]
fn a_grant_of_every_command_is_warned_about() {
    let world = World::new();
    for rule in ["Bash", "Bash(*)"] {
        let output = world.run(&["grants", "add", rule], b"");
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(stderr(&output).contains("OX405"), "{rule}: {}", stderr(&output));
    }
    let output = world.run(&["grants", "add", "Bash(make all)"], b"");
    assert!(!stderr(&output).contains("OX405"), "{}", stderr(&output));
}

#[test]
fn a_forged_grant_is_not_valid() {
    let world = World::new();
    fs::create_dir(world.project().join(".openoxide")).unwrap();
    let mac = "00".repeat(32);
    let text = format!("[[grant]]\nrule = \"Bash(touch *)\"\nmac = \"{mac}\"\n");
    fs::write(world.project().join(".openoxide/approvals.toml"), text).unwrap();
    let output = world.run(&["check", "-c", "touch x"], b"");
    assert_eq!(code(&output), 4);
    let note = "approvals.toml:1: `Bash(touch *)` grants nothing: invalid signature";
    assert!(stderr(&output).contains(note), "{}", stderr(&output));
    assert_eq!(code_of(&world, &["grants", "prune"]), 0);
    assert!(!stderr(&world.run(&["check", "-c", "touch x"], b"")).contains("grants nothing"));
}

#[test]
fn a_limited_grant_is_valid_within_its_limits() {
    let world = World::new();
    std::fs::create_dir_all(world.project().join("sub/deep")).unwrap();
    let grant = |arguments: &[&str]| {
        assert_eq!(code(&world.run(&[&["grants", "add"], arguments].concat(), b"")), 0);
    };
    let run = |script: &str| code(&world.run(&["run", "-c", script], b""));
    let check = |script: &str| code(&world.run(&["check", "-c", script], b""));
    grant(&["Bash(touch twice *)", "--times", "2"]);
    assert_eq!([(); 3].map(|()| check("touch twice a")), [0; 3], "looking uses nothing up");
    assert_eq!([(); 3].map(|()| run("touch twice a")), [0, 0, 4]);
    grant(&["Bash(touch below *)", "--below", "sub"]);
    assert_eq!(check("touch below a"), 4);
    assert_eq!(check("cd sub && touch below a"), 0);
    assert_eq!(check("cd sub/deep && touch below a"), 0);
    for elsewhere in ["cd sub && cd .. && touch below a", "test -d x && cd sub; touch below a"] {
        assert_eq!(check(elsewhere), 4, "{elsewhere}");
    }
    let from_sub = |script: &str| code(&world.run(&["check", "--cwd", "sub", "-c", script], b""));
    // The working directory is one of two. A directory that is not known does not match `--below`.
    assert_eq!(from_sub("test -d x && cd deep; touch below a"), 4);
    assert_eq!(from_sub("touch below a"), 0);
    std::os::unix::fs::symlink("..", world.project().join("sub/up")).unwrap();
    for elsewhere in [
        "test -d x && cd ..; touch below a",
        "env -C .. touch below a",
        "timeout 5 env -C .. touch below a",
        "for d in a; do cd ..; touch below a; done",
        "cd -; touch below a",
        "cd up && touch below a",
    ] {
        assert_eq!(from_sub(elsewhere), 4, "{elsewhere}");
    }
    grant(&["Bash(wombat *)", "--below", "sub"]);
    assert_eq!(from_sub("wombat x"), 0);
    for elsewhere in ["env -C .. wombat x", "timeout 5 env -C .. wombat x", "wombat $x"] {
        assert_eq!(from_sub(elsewhere), 4, "{elsewhere}");
    }
    grant(&["Bash(touch long *)", "--for", "1h"]);
    assert_eq!(check("touch long a"), 0);
    let wrong = [
        &["grants", "add", "Edit(/x)"][..],
        &["grants", "add", "Bash("],
        &["grants", "add", "Bash(x)", "--times", "0"],
        &["grants", "add", "Bash(x)", "--for", "soon"],
        &["grants", "add", "Bash(x)", "--for", "0s"],
        &["grants", "add", "Bash(x)", "--below", "none"],
        &["grants", "add", "Bash(x)", "--below", ".openoxide/approvals.toml"],
    ];
    for arguments in wrong {
        assert_eq!(code(&world.run(arguments, b"")), 2, "{arguments:?}");
    }
}

#[test]
fn a_limited_grant_does_not_block_other_rules() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash(touch *)\"]\n");
    let once = ["grants", "add", "Bash(touch *)", "--times", "1"];
    assert_eq!(code(&world.run(&once, b"")), 0);
    let run = || code(&world.run(&["run", "-c", "touch a"], b""));
    assert_eq!([run(), run()], [0, 0]);
}
