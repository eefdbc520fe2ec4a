//! Tests of the `[sandbox]` table of a policy file from outside: what the kernel then enforces, and
//! which layers may set it.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};

use crate::{
    sandbox::Arena,
    support::{World, code, stderr, stdout},
};

const RULES: &str = "[permissions]\nallow = [\"Bash(./do.sh)\", \"Bash(env)\"]\n";

/// A project next to a home directory. The temporary directory of a sandbox must hide neither.
struct Place {
    arena: Arena,
}

impl Place {
    fn new(user: &str) -> Self {
        let arena = Arena::new();
        fs::create_dir_all(arena.path("home/.config/openoxide")).unwrap();
        fs::create_dir_all(arena.path("w/.git")).unwrap();
        fs::create_dir_all(arena.path("w/.openoxide")).unwrap();
        fs::write(arena.path("home/.config/openoxide/policy.toml"), format!("{user}\n{RULES}"))
            .unwrap();
        Self { arena }
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.arena.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn has(&self, name: &str) -> bool {
        self.arena.path(name).exists()
    }

    /// Runs the program. Returns its exit code, its standard output and its standard error.
    fn openoxide(&self, args: &[&str]) -> (i32, String, String) {
        let mut command = self.arena.command();
        command.args(args).env("SECRET_TOKEN", "t0ps3cret").env("BASH_ENV", "/nowhere");
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        (code(&output), stdout(&output), stderr(&output))
    }

    /// Runs a script of the project, whose content is not analysed, in the sandbox.
    fn sh(&self, script: &str) -> (i32, String, String) {
        self.script(script, &[])
    }

    fn script(&self, script: &str, options: &[&str]) -> (i32, String, String) {
        self.file("w/do.sh", &format!("#!/bin/sh\n{script}\n"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.arena.path("w/do.sh"), mode).unwrap();
        self.openoxide(&[&["run"], options, &["--", "./do.sh"]].concat())
    }
}

#[test]
fn the_sandbox_settings_of_the_user_are_enforced() {
    let place = Place::new(
        "[sandbox]\nwritable = [\"~/cache\"]\nunreadable = [\"~/company\"]\nprotected = [\"~/cache/kept\"]\nenvironment = [\"SECRET_TOKEN\", \"BASH_ENV\"]\n",
    );
    place.file("home/company/plan", "secret");
    place.file("home/cache/kept/x", "old");
    place.file("home/other/x", "old");
    let script = "cat ~/company/plan; echo new > ~/cache/made; echo bad > ~/cache/kept/x; echo bad > ~/other/x; echo $SECRET_TOKEN$BASH_ENV; echo in > here";
    let (_, said, errors) = place.sh(script);
    assert_eq!(said, "t0ps3cret\n", "{errors}");
    assert!(place.has("home/cache/made") && place.has("w/here"), "{errors}");
    for name in ["home/cache/kept/x", "home/other/x"] {
        assert_eq!(fs::read_to_string(place.arena.path(name)).unwrap(), "old", "{name}");
    }
}

/// Guards I36.
#[test]
fn a_project_tightens_without_trust_and_loosens_with_it() {
    let place = Place::new("");
    place.file("home/cache/x", "");
    place.file("w/deploy/x", "old");
    place.file("w/keys/x", "secret");
    place.file(
        "w/.openoxide/policy.toml",
        "[sandbox]\nwritable = [\"~/cache\"]\nenvironment = [\"SECRET_TOKEN\"]\nprotected = [\"deploy/\"]\nunreadable = [\"keys\"]\nlimits.processes = 4000\n",
    );
    let script =
        "cat keys/x; echo bad > deploy/x; echo new > ~/cache/made; echo \"<$SECRET_TOKEN>\"";
    let (_, said, errors) = place.sh(script);
    assert_eq!((said.as_str(), place.has("home/cache/made")), ("<>\n", false), "{errors}");
    assert_eq!(fs::read_to_string(place.arena.path("w/deploy/x")).unwrap(), "old");
    let (_, shown, _) = place.openoxide(&["trust", "--show"]);
    for setting in ["sandbox writable ~/cache", "sandbox environment SECRET_TOKEN"] {
        assert!(shown.contains(setting), "{shown}");
    }
    assert!(!shown.contains("protected") && !shown.contains("unreadable"), "{shown}");
}

/// Guards I36.
#[test]
fn a_required_sandbox_cannot_be_disabled() {
    for (user, project, line) in [
        ("[sandbox]\nrequire = \"fail_fast\"\n", "", "policy.toml:2"),
        ("", "\n[sandbox]\nrequire = \"refuse_tools\"\n", "policy.toml:3"),
    ] {
        let place = Place::new(user);
        place.file("w/.openoxide/policy.toml", project);
        let (status, _, said) = place.script("echo ran > ran", &["--sandbox", "off"]);
        assert_eq!((status, place.has("w/ran")), (126, false), "{said}");
        assert!(said.contains(line) && said.contains("`--sandbox off` is refused"), "{said}");
        assert_eq!((place.sh("echo ran > ran").0, place.has("w/ran")), (0, true));
    }
    let place = Place::new("");
    let (status, _, said) = place.script("true", &["--sandbox", "off"]);
    assert_eq!(status, 0, "where nobody requires it, a person says so: {said}");
    let place = Place::new("sandbox.require = 7\n");
    let (status, _, said) = place.script("true", &["--sandbox", "off"]);
    assert_eq!(status, 126, "it may have been required: {said}");
}

#[test]
fn deny_patterns_are_enforced_inside_and_ask_patterns_are_not() {
    let place = Place::new("");
    let rules = "[permissions]\nallow = [\"Bash(./do.sh)\"]\ndeny = [\"Read(//**/*.pem)\", \"Edit(//**/migrations/**)\"]\n";
    place.file("home/.config/openoxide/policy.toml", rules);
    place.file("w/a/ca.pem", "secret");
    place.file("w/.env", "own");
    place.file("w/db/migrations/1.sql", "old");
    let (_, said, errors) = place.sh(
        "cat a/*.pem; cat .env; echo bad > db/migrations/1.sql; echo bad > db/migrations/2.sql",
    );
    assert_eq!(said, "own", "{errors}");
    assert_eq!(fs::read_to_string(place.arena.path("w/db/migrations/1.sql")).unwrap(), "old");
    assert!(!place.has("w/db/migrations/2.sql"));
    assert!(!errors.contains("only for the files that were scanned"), "{errors}");
}

#[test]
fn variables_pass_that_the_person_names_and_none_that_steers() {
    let place = Place::new("");
    let run = |env: &str| place.openoxide(&["run", "--env", env, "--", "env"]);
    assert!(run("SECRET_TOKEN").1.contains("SECRET_TOKEN=t0ps3cret\n"));
    assert!(run("SECRET_TOKEN=other").1.contains("SECRET_TOKEN=other\n"));
    assert!(!run("LANG").1.contains("SECRET_TOKEN"));
    let (status, said, _) = run("BASH_ENV=/x");
    assert_ne!((status, said.contains("BASH_ENV")), (0, true));
}

#[test]
fn limits_and_the_network_are_the_strictest_of_all() {
    let place =
        Place::new("[sandbox]\nnetwork = \"on\"\nlimits = { seconds = 50, memory = 4000 }\n");
    place.file(
        "w/.openoxide/policy.toml",
        "[sandbox]\nnetwork = \"off\"\nlimits = { memory = 1000 }\n",
    );
    let (_, said, errors) =
        place.sh("ulimit -v; ls /sys/class/net 2>/dev/null | grep -vx lo; true");
    assert_eq!(said.lines().next(), Some("1024000"), "{errors}");
    let (_, shown, _) = place.openoxide(&["explain", "-c", "./do.sh"]);
    assert!(
        shown.contains(
            "the policy's sandbox: network off; at most 50 seconds; at most 1000 MiB of memory\n"
        ),
        "{shown}"
    );
}

#[test]
fn sandbox_run_limits_processes() {
    let place = Place::new("");
    let args = [
        "sandbox",
        "run",
        "--processes",
        "700",
        "--",
        "sh",
        "-c",
        "ulimit -u 2>/dev/null || bash -c 'ulimit -u'",
    ];
    let (status, said, errors) = place.openoxide(&args);
    assert_eq!((status, said.as_str()), (0, "700\n"), "{errors}");
    assert_eq!(place.openoxide(&["sandbox", "run", "--processes", "0", "--", "true"]).0, 2);
}

/// Guards I36.
#[test]
fn an_agent_is_asked_about_whatever_starts_something_unjudged() {
    let world =
        World::new().policy("[permissions]\nallow = [\"Bash(openoxide *)\", \"Bash(make)\"]\n");
    for (script, expected) in [
        ("openoxide sandbox run -- make", "ask"),
        ("openoxide sandbox supervise 3 4", "ask"),
        ("openoxide run --sandbox off -- make", "ask"),
        ("openoxide run --env TOKEN -- make", "ask"),
    ] {
        for mode in ["default", "bypass_permissions"] {
            let output = world.run(&["check", "--json", "--mode", mode, "-c", script], b"");
            let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
            assert_eq!(found["decision"], json!(expected), "{mode} {script}: {found}");
        }
    }
    // Without the mode the analysis of the shell asks: it knows no verb of ours that runs something from one that looks.
    let looks = ["check", "--mode", "bypass_permissions", "-c", "openoxide sandbox status"];
    assert_eq!(code(&world.run(&looks, b"")), 0);
    let none = World::new();
    let output = none.run(&["check", "--json", "-c", "openoxide run -- make"], b"");
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found["decision"], json!("ask"), "{found}");
}

#[test]
fn diff_and_fmt_keep_the_sandbox_settings() {
    let world = World::new();
    let old = world.file("old.toml", "[sandbox]\nnetwork='on'\nenvironment=['A','B']\n");
    let new = world.file(
        "new.toml",
        "[sandbox]\nnetwork = \"off\"\nenvironment = [\"B\"]\nlimits.seconds = 5\n",
    );
    let output = world.run(&["rules", "diff", &old, &new], b"");
    let expected = "- sandbox environment A\n- sandbox network internet\n+ sandbox limits.seconds 5\n+ sandbox network off\n";
    assert_eq!((code(&output), stdout(&output).as_str()), (1, expected));
    assert_eq!(code(&world.run(&["rules", "fmt", &old], b"")), 0);
    let output = world.run(&["rules", "diff", &old, &new], b"");
    assert_eq!(stdout(&output), expected);
    let wrong = world.file("wrong.toml", "[sandbox]\nnetwork = \"some\"\n");
    let output = world.run(&["check", "--policy", &wrong, "-c", "ls"], b"");
    let said = stderr(&output);
    assert_eq!(code(&output), 2, "{said}");
    assert!(
        said.contains("wrong.toml:2:11") && said.contains("invalid value for `network`"),
        "{said}"
    );
}

#[test]
fn the_compiled_policy_has_the_same_sandbox_settings() {
    let place = Place::new("[sandbox]\nrequire = \"fail_fast\"\nunreadable = [\"~/company\"]\n");
    place.file("home/company/plan", "secret");
    // A file that has just changed is not kept.
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    for _ in 0..2 {
        let (_, said, errors) = place.sh("cat ~/company/plan; echo ran");
        assert_eq!(said, "ran\n", "{errors}");
        let kept = fs::read_dir(place.arena.path("home/.cache/openoxide")).unwrap();
        assert_eq!(kept.count(), 1);
        assert_eq!(place.openoxide(&["run", "--sandbox", "off", "--", "env"]).0, 126);
    }
}
