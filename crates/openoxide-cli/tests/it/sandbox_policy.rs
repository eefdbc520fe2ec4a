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
        place.sh("tail -n +3 /proc/net/dev | cut -d : -f 1 | tr -d ' ' | grep -vx lo; true");
    assert_eq!(said, "", "{errors}");
    let fill = |mebibytes: u32| {
        place.sh(&format!(
            "python3 -c 'x = []\nfor n in range({mebibytes}): x.append(b\"x\" * (1 << 20))\nprint(n)'"
        ))
    };
    // Between the limits of the two layers, and below both.
    let (status, said, errors) = fill(1500);
    assert!(status != 0 && said.is_empty(), "{status} {said} {errors}");
    let (status, said, errors) = fill(500);
    assert_eq!((status, said.as_str()), (0, "499\n"), "{errors}");
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

/// Guards I39.
#[test]
fn auto_allow_removes_only_files_that_git_can_restore() {
    let place = Place::new("[sandbox]\nauto_allow = \"project\"\n");
    let git = |script: &str| {
        let mut bash = std::process::Command::new("bash");
        let done = bash.args(["-c", script]).current_dir(place.arena.path("w")).status();
        assert!(done.unwrap().success(), "{script}");
    };
    git(
        "git init -q . && echo 1 > a && echo 2 > b && touch -d '1 hour ago' a b && git add a b && \
         echo 3 > b && echo 4 > new",
    );
    let (exit, _, told) = place.openoxide(&["run", "--", "rm", "a"]);
    assert_eq!(exit, 0, "{told}");
    assert!(told.contains("sandboxed: `rm a` removes files that git can restore"), "{told}");
    assert!(!place.has("w/a"));
    for words in [&["rm", "b"][..], &["rm", "new"], &["rm", "-r", "b"]] {
        let (exit, _, told) = place.openoxide(&[&["run", "--"], words].concat());
        assert_eq!(exit, 4, "{words:?}: {told}");
    }
    assert!(place.has("w/b") && place.has("w/new"));
    git("git checkout -q -- a && grep -qx 1 a");
    let (exit, _, told) = place.openoxide(&["run", "--", "git", "reset", "-q", "--", "b"]);
    assert_eq!(exit, 0, "{told}");
    git("grep -qx 3 b && git ls-files | grep -qx a && ! git ls-files | grep -qx b");
    let (exit, _, told) = place.openoxide(&["run", "--", "git", "reset", "-q", "--hard"]);
    assert_eq!(exit, 4, "{told}");
    let (exit, _, told) = place.openoxide(&["run", "--", "chmod", "+x", "b"]);
    assert_eq!(exit, 0, "{told}");
    git("test -x b && test ! -x new");
    let (exit, _, told) = place.openoxide(&["run", "--sandbox", "off", "--", "rm", "a"]);
    assert_eq!(exit, 4, "{told}");
    assert!(place.has("w/a"));
}

/// Guards I39.
#[test]
fn auto_allow_removes_only_build_output_that_git_ignores() {
    let place = Place::new("[sandbox]\nauto_allow = \"project\"\n");
    let prepare = |script: &str| {
        let mut bash = std::process::Command::new("bash");
        let done = bash.args(["-ec", script]).current_dir(place.arena.path("w")).status();
        assert!(done.unwrap().success(), "{script}");
    };
    let remove = |words: &[&str]| place.openoxide(&[&["run", "--"], words].concat());
    prepare(
        "git init -q . && printf 'dist\\nbuild\\ntarget\\n' > .gitignore && mkdir dist ../home/kept && \
         touch ../home/kept/file dist/a && ln -s ../../home/kept dist/link && mkdir build target && \
         touch build/a && git add -f build && git init -q target/other && ln -s ../home/kept out",
    );
    let (exit, _, told) = remove(&["rm", "-rf", "dist"]);
    assert_eq!(exit, 0, "{told}");
    assert!(told.contains("sandboxed: `rm -rf dist` removes build output"), "{told}");
    assert!(!place.has("w/dist") && place.has("home/kept/file"));
    for path in ["build", "target", "out", "out/", "."] {
        let (exit, _, told) = remove(&["rm", "-rf", path]);
        assert_eq!(exit, 4, "{path}: {told}");
    }
    assert!(place.has("w/build/a") && place.has("w/target/other/.git/HEAD") && place.has("w/out"));
    prepare("mkdir dist");
    let (exit, _, told) = place.openoxide(&["run", "--sandbox", "off", "--", "rm", "-rf", "dist"]);
    assert_eq!(exit, 4, "{told}");
    assert!(place.has("w/dist"));
}

/// Guards I39.
#[test]
fn auto_allow_confines_statements_in_a_database_file() {
    let sqlite = |file: std::path::PathBuf, sql: &str| {
        let done = std::process::Command::new("sqlite3").arg(file).arg(sql).output();
        done.ok().map(|done| stdout(&done))
    };
    let place = Place::new("[sandbox]\nauto_allow = \"project\"\n");
    let create = "create table t(a); insert into t values (1)";
    let (inside, outside) = (place.arena.path("w/a.db"), place.arena.path("home/b.db"));
    if sqlite(inside.clone(), create).is_none() || sqlite(outside.clone(), create).is_none() {
        return; // SQLite is not installed.
    }
    let run = |sql: &str| place.openoxide(&["run", "--", "sqlite3", "a.db", sql]);
    let (exit, printed, told) = run("insert into t values (2); select count(*) from t");
    assert_eq!((exit, printed.as_str()), (0, "2\n"), "{told}");
    assert!(told.contains("sandboxed: `sqlite3"), "{told}");
    for sql in ["drop table t", "delete from t", "attach '../home/b.db' as b; drop table b.t"] {
        let (exit, _, told) = run(sql);
        assert_eq!(exit, 4, "{sql}: {told}");
    }
    let (exit, _, told) =
        place.openoxide(&["run", "--", "sqlite3", "../home/b.db", "insert into t values (2)"]);
    assert_eq!(exit, 4, "{told}");
    let count = "select count(*) from t";
    assert_eq!(sqlite(inside, count).as_deref(), Some("2\n"));
    assert_eq!(sqlite(outside, count).as_deref(), Some("1\n"));
}

/// Guards I39.
#[test]
fn what_auto_allow_allows_runs_only_in_the_sandbox() {
    let place = Place::new("[sandbox]\nauto_allow = \"project\"\n");
    let script = "echo in > made; echo out > ~/escaped; true";
    let (exit, _, told) = place.openoxide(&[
        "run",
        "--",
        "python3",
        "-c",
        &format!("import os; os.system({script:?})"),
    ]);
    assert_eq!(exit, 0, "{told}");
    assert!(told.starts_with("openoxide: sandboxed: `python3 -c"), "{told}");
    assert!(place.has("w/made") && !place.has("home/escaped"), "{told}");
    // Without a sandbox, a person is asked.
    let (exit, _, told) = place.openoxide(&[
        "run",
        "--sandbox",
        "off",
        "--",
        "python3",
        "-c",
        "open('unconfined', 'w')",
    ]);
    assert_eq!(exit, 4, "{told}");
    assert!(!place.has("w/unconfined"));
    let answer = |options: &[&str]| {
        let (exit, text, _) =
            place.openoxide(&[&["check", "--json", "-c", "make"], options].concat());
        let answer: Value = serde_json::from_str(&text).unwrap();
        (exit, answer["decision"].clone(), answer["obligations"].clone())
    };
    assert_eq!(answer(&[]), (0, json!("allow"), json!(["sandboxed"])));
    assert_eq!(answer(&["--no-sandbox"]), (4, json!("ask"), Value::Null));
    assert_eq!(answer(&["--mode", "plan"]).1, json!("deny"));
    assert_eq!(answer(&["--ask", "Bash(make)"]).1, json!("ask"));
    // What the hook of an agent allows is not confined.
    let call = json!({
        "session_id": "s",
        "cwd": place.arena.path("w"),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": { "command": "make" },
        "tool_use_id": "1",
    });
    place.file("call", &call.to_string());
    let mut hook = place.arena.command();
    hook.args(["hook", "codex"]).stdin(fs::File::open(place.arena.path("call")).unwrap());
    let output = hook.output().unwrap();
    assert!(!stdout(&output).contains("\"allow\""), "{}", stdout(&output));
}

#[test]
fn a_read_only_command_that_no_rule_allows_is_confined_to_reading() {
    let place = Place::new("[sandbox]\nauto_allow = \"project\"\n");
    // A stand-in for an error of the program table: `ls` writes. It is not in the project, where it would be unknown.
    place.file("tools/ls", "#!/bin/sh\necho written > made\necho listed\n");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(place.arena.path("tools/ls"), mode).unwrap();
    let run = |setting: &str| {
        place.file("home/.config/openoxide/policy.toml", setting);
        let mut command = place.arena.command();
        command.args(["run", "--", "ls"]).stdin(std::process::Stdio::null());
        let path = format!("{}:/usr/bin:/bin", place.arena.path("tools").display());
        let output = command.env("PATH", path).output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        (stdout(&output), place.has("w/made"))
    };
    let listed = "listed\n".to_owned();
    assert_eq!(run("[sandbox]\nauto_allow = \"project\"\n"), (listed.clone(), false));
    assert_eq!(run(""), (listed.clone(), false));
    assert_eq!(run("[permissions]\nallow = [\"Bash(ls)\"]\n"), (listed, true));
}

#[test]
fn a_project_cannot_set_auto_allow_without_trust() {
    let place = Place::new("");
    place.file("w/.openoxide/policy.toml", "[sandbox]\nauto_allow = \"all\"\n");
    let check = || place.openoxide(&["check", "-c", "make"]);
    let (exit, text, told) = check();
    assert_eq!((exit, text.starts_with("ask:")), (4, true), "{text}{told}");
    assert!(told.contains("permissive setting ignored"), "{told}");
    // It can forbid what the user allows.
    place.file("home/.config/openoxide/policy.toml", "[sandbox]\nauto_allow = \"all\"\n");
    assert_eq!(check().0, 0);
    place.file("w/.openoxide/policy.toml", "[sandbox]\nauto_allow = \"off\"\n");
    assert_eq!(check().0, 4);
}

/// Guards I39.
#[test]
fn code_that_auto_allow_confines_reads_no_secret_of_another_program() {
    let place = Place::new("[sandbox]\nauto_allow = \"project\"\n");
    let path = |name: &str| place.arena.path(name);
    let script = "#!/bin/sh\ncat \"$HOME/.config/git/credentials\" 2>&1; echo ran\n";
    std::fs::create_dir_all(path("home/.config/git")).unwrap();
    std::fs::write(path("home/.config/git/credentials"), "https://me:hidden@h.test\n").unwrap();
    std::fs::create_dir_all(path("w/bin")).unwrap();
    std::fs::write(path("w/bin/git"), script).unwrap();
    let mut chmod = std::process::Command::new("chmod");
    assert!(chmod.arg("755").arg(path("w/bin/git")).status().unwrap().success());
    for script in [
        "git --version; sh bin/git",
        "git --version; ./bin/git",
        "git --version; . ./bin/git",
        "PATH=./bin:$PATH git log",
        "export PATH=$PWD/bin:$PATH; git status",
    ] {
        let (exit, out, told) = place.openoxide(&["run", "--", "bash", "-c", script]);
        assert_eq!(exit, 0, "{script}: {told}");
        assert!(out.contains("ran") && !out.contains("hidden"), "{script}: {out}");
    }
}
