//! Requests that wait, answered from another terminal: real processes, one data base.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    prompt::Terminal,
    support::{OPENOXIDE, World, code, stderr, stdout},
};

const SESSION: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

pub(crate) fn ask(world: &World, args: &[&str]) -> Child {
    let mut command = world.command(&["run", "--wait=60"]);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

pub(crate) fn pending(world: &World) -> Vec<Value> {
    let output = world.run(&["pending", "--json"], b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits until the request about this script waits, and returns it.
pub(crate) fn asked(world: &World, script: &str) -> Value {
    let start = Instant::now();
    loop {
        if let Some(found) = pending(world).into_iter().find(|one| one["content"] == script) {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "nobody asks about `{script}`");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn id(request: &Value) -> &str {
    request["id"].as_str().unwrap()
}

pub(crate) fn end(asker: Child) -> Output {
    asker.wait_with_output().unwrap()
}

pub(crate) fn answer(world: &World, args: &[&str]) -> (i32, String) {
    let output = world.run(args, b"");
    (code(&output), stderr(&output))
}

fn data_base(world: &World) -> PathBuf {
    world.root().join(".local/state/openoxide/openoxide.db")
}

fn there(world: &World, name: &str) -> bool {
    world.project().join(name).exists()
}

#[test]
fn an_approval_from_elsewhere_runs_the_shown_command_once() {
    let world = World::new();
    let asker = ask(&world, &["-c", "touch a"]);
    let request = asked(&world, "touch a");
    for field in ["session", "title", "digest", "asked_at"] {
        assert!(request[field].is_string(), "{field} in {request}");
    }
    assert_eq!(
        (&request["schema"], &request["accesses"][0]["access"]),
        (&1.into(), &"exec".into())
    );
    assert!(!there(&world, "a"));
    let (first, shown) = answer(&world, &["approve", id(&request).get(..30).unwrap()]);
    assert!(shown.contains("$ touch a") && shown.contains("change "), "{shown}");
    let (second, why) = answer(&world, &["deny", id(&request)]);
    assert_eq!((first, second), (0, 1), "{why}");
    assert!(why.contains("was approved (by `openoxide approve`"), "{why}");
    let output = end(asker);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(there(&world, "a") && pending(&world).is_empty());
    let via = |args: &[&str]| -> Vec<String> {
        let records = stdout(&world.run(&[&["audit", "log", "--json"], args].concat(), b""));
        let records = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let answers = records.filter(|record| record["answer"]["channel"] == "command");
        answers.map(|record| record["via"].as_str().unwrap().to_owned()).collect()
    };
    let mut all = via(&["--all-records"]);
    all.sort_unstable();
    assert_eq!(all, ["approve", "run"], "both programs record the answer");
    assert_eq!(via(&[]), ["run"], "it is one call");
    let log = stdout(&world.run(&["audit", "log"], b""));
    assert_eq!(log.matches("touch a").count(), 2, "the call, and its reason: {log}");
    assert!(log.contains("ask, approved") && log.contains("ended: exit 0"), "{log}");
    let stats = stdout(&world.run(&["audit", "stats", "--json"], b""));
    let stats: Value = serde_json::from_str(&stats).unwrap();
    assert_eq!(stats["decisions"]["ask"], 1, "one question, however many wrote it down: {stats}");
}

#[test]
fn a_no_comes_back_with_its_message_and_ends_the_session() {
    let world = World::new();
    let session = ["--session", SESSION];
    let [one, two, three] = ["touch a", "touch b", "touch c"].map(|script| {
        let asker = ask(&world, &[&session[..], &["-c", script]].concat());
        (asker, asked(&world, script))
    });
    let other = ask(&world, &["-c", "touch d"]);
    let stays = asked(&world, "touch d");
    assert_eq!(answer(&world, &["deny", "--alone", id(&one.1)]).0, 0);
    assert_eq!(pending(&world).len(), 3, "a denial ends itself alone");
    let (status, said) = answer(&world, &["deny", id(&two.1), "--message", "use src"]);
    assert_eq!(status, 0);
    assert!(said.contains("and 1 more of its session"), "{said}");
    let waiting = pending(&world);
    assert_eq!((waiting.len(), id(&waiting[0])), (1, id(&stays)));
    for (asker, why) in [(one.0, "rejected"), (two.0, "rejected: use src"), (three.0, "rejected")] {
        let output = end(asker);
        assert_eq!(code(&output), 126);
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
    assert_eq!(answer(&world, &["deny", id(&stays)]).0, 0);
    assert_eq!(code(&end(other)), 126);
}

#[test]
fn a_project_approval_is_saved_and_covers_pending_requests() {
    let world = World::new();
    let first = ask(&world, &["-c", "touch a"]);
    let request = asked(&world, "touch a");
    let covered = ask(&world, &["-c", "touch b"]);
    asked(&world, "touch b");
    let other = ask(&world, &["-c", "mkdir c"]);
    let stays = asked(&world, "mkdir c");
    assert_eq!(answer(&world, &["approve", id(&request), "--scope", "project"]).0, 0);
    let grants = stdout(&world.run(&["grants", "list"], b""));
    assert!(grants.contains("Bash(touch *)"), "{grants}");
    assert_eq!((code(&end(first)), code(&end(covered))), (0, 0));
    assert!(there(&world, "a") && there(&world, "b") && !there(&world, "c"));
    assert_eq!(pending(&world).len(), 1);
    answer(&world, &["deny", id(&stays)]);
    end(other);
}

/// Grants do not apply where a person named the policy: the approval applies once, and nothing is
/// reported as saved.
#[test]
fn a_project_approval_of_a_request_with_a_named_policy_saves_nothing() {
    let world = World::new();
    let policy = world.root().join("named.toml");
    fs::write(&policy, "").unwrap();
    let asker = ask(&world, &["--policy", policy.to_str().unwrap(), "-c", "touch a"]);
    let request = asked(&world, "touch a");
    let (status, said) = answer(&world, &["approve", id(&request), "--scope", "project"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("grants are not saved; approved once"), "{said}");
    assert!(!said.contains("saved for this project"), "{said}");
    assert_eq!(code(&end(asker)), 0);
    assert_eq!(stdout(&world.run(&["grants", "list"], b"")), "");
}

#[test]
fn a_session_approval_covers_only_identical_requests() {
    let world = World::new();
    let ask = |script| ask(&world, &["--session", SESSION, "-c", script]);
    let (one, two) = (ask("touch a"), ask("touch a"));
    let start = Instant::now();
    while pending(&world).len() < 2 {
        assert!(start.elapsed() < Duration::from_secs(30), "not both ask");
        std::thread::sleep(Duration::from_millis(20));
    }
    let other = ask("touch b");
    let stays = asked(&world, "touch b");
    let request = asked(&world, "touch a");
    assert_eq!(answer(&world, &["approve", id(&request), "--scope", "session"]).0, 0);
    assert_eq!((code(&end(one)), code(&end(two))), (0, 0));
    assert_eq!(id(&pending(&world)[0]), id(&stays));
    answer(&world, &["deny", id(&stays)]);
    assert_eq!(code(&end(other)), 126);
}

#[test]
fn explicit_approval_requests_need_their_own_approval() {
    let world = World::new();
    let script = "rm -rf /nowhere/../etc";
    let asker = ask(&world, &["-c", script]);
    let request = asked(&world, script);
    assert_eq!(request["explicit"], true, "{request}");
    let digest = request["digest"].as_str().unwrap();
    for wrong in [
        &["--scope", "session", "--digest", digest][..],
        &["--scope", "project", "--digest", digest],
        &["--digest", "00000000"],
        &["--digest", digest.get(..4).unwrap()],
        &[],
    ] {
        let (status, why) = answer(&world, &[&["approve", id(&request)], wrong].concat());
        assert_eq!(status, 2, "{wrong:?}: {why}");
    }
    assert_eq!(pending(&world).len(), 1);
    assert_eq!(answer(&world, &["deny", id(&request)]).0, 0);
    assert_eq!(code(&end(asker)), 126);
    // An approval with the digest that was shown is accepted.
    let asker = ask(&world, &["-c", "touch a"]);
    let request = asked(&world, "touch a");
    let digest = request["digest"].as_str().unwrap();
    assert_eq!(
        answer(&world, &["approve", id(&request), "--digest", digest.get(..12).unwrap()]).0,
        0
    );
    assert_eq!(code(&end(asker)), 0);
}

/// A rule allows the command and a hook asks about it. Other changes of the database do not answer
/// the question of the hook.
#[test]
fn no_rule_answers_a_question_of_a_hook() {
    let asks =
        r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}"#;
    let script = format!("grep -q 'touch hooked' && echo '{asks}'; true");
    let hook = format!("[[hooks]]\nevent = \"pre_tool_use\"\ncommand = '''{script}'''\n");
    let world = World::new().policy(&format!("permissions.allow = [\"Bash(touch *)\"]\n{hook}"));
    let asker = ask(&world, &["-c", "touch hooked"]);
    let request = asked(&world, "touch hooked");
    let other = ask(&world, &["-c", "make something"]);
    let noise = asked(&world, "make something");
    assert_eq!(answer(&world, &["deny", id(&noise), "--alone"]).0, 0);
    drop(end(other));
    std::thread::sleep(Duration::from_millis(300));
    assert!(!there(&world, "hooked"), "nobody said yes");
    let digest = request["digest"].as_str().unwrap();
    assert_eq!(answer(&world, &["approve", id(&request), "--digest", digest]).0, 0);
    assert_eq!(code(&end(asker)), 0);
    assert!(there(&world, "hooked"));
}

#[test]
fn a_timeout_or_a_termination_signal_runs_nothing() {
    let world = World::new();
    let output = world.run(&["run", "--wait=1", "-c", "touch a"], b"");
    assert_eq!(code(&output), 5, "{}", stderr(&output));
    // Who waited for hooks before listens anew.
    let hooked = World::new().policy("[[hooks]]\nevent = \"pre_tool_use\"\ncommand = \"true\"\n");
    for (world, signal) in [(&world, "TERM"), (&world, "INT"), (&hooked, "TERM"), (&hooked, "INT")]
    {
        let asker = ask(world, &["-c", "touch a"]);
        let request = asked(world, "touch a");
        let sent = Command::new("kill").args(["-s", signal, &asker.id().to_string()]).status();
        assert!(sent.unwrap().success());
        assert_eq!(code(&end(asker)), 130);
        let (status, why) = answer(world, &["approve", id(&request)]);
        assert_eq!(status, 1);
        assert!(why.contains("was withdrawn"), "{why}");
    }
    assert!(!there(&world, "a"));
}

#[test]
fn the_request_of_a_killed_process_is_abandoned() {
    let world = World::new();
    let mut asker = ask(&world, &["-c", "touch a"]);
    let request = asked(&world, "touch a");
    asker.kill().unwrap();
    asker.wait().unwrap();
    let (status, why) = answer(&world, &["approve", id(&request)]);
    assert_eq!(status, 1);
    assert!(why.contains("was abandoned"), "{why}");
    assert!(pending(&world).is_empty());
}

/// Guards I18.
#[test]
fn a_deny_that_came_meanwhile_is_final() {
    let world = World::new();
    let asker = ask(&world, &["-c", "touch a"]);
    let request = asked(&world, "touch a");
    let send = |signal: &str| {
        let sent = Command::new("kill").args(["-s", signal, &asker.id().to_string()]).status();
        assert!(sent.unwrap().success());
    };
    send("STOP"); // It must not see the new rule before the answer comes.
    fs::write(world.user_policy(), "[permissions]\ndeny = [\"Bash(touch *)\"]\n").unwrap();
    assert_eq!(answer(&world, &["approve", id(&request)]).0, 0);
    send("CONT");
    let output = end(asker);
    assert_eq!(code(&output), 126);
    assert!(stderr(&output).contains("policy.toml:2"), "{}", stderr(&output));
    assert!(!there(&world, "a"));
}

#[test]
fn names_that_name_nothing_or_several_are_mistakes() {
    let world = World::new();
    assert_eq!(answer(&world, &["approve", "0"]).0, 2);
    assert!(!data_base(&world).exists(), "to look makes no data base");
    let askers = ["touch a", "touch b"].map(|script| {
        let asker = ask(&world, &["-c", script]);
        (asker, asked(&world, script))
    });
    let (status, why) = answer(&world, &["approve", "0"]);
    assert_eq!(status, 2);
    assert!(why.contains("matches several") && why.contains(id(&askers[0].1)), "{why}");
    assert_eq!(answer(&world, &["deny", "fedc"]).0, 2);
    for (asker, request) in askers {
        answer(&world, &["deny", id(&request)]);
        end(asker);
    }
}

#[test]
fn an_answer_from_elsewhere_ends_the_prompt() {
    for (verb, expected) in [("approve", 0), ("deny", 126)] {
        let world = World::new();
        let terminal = Terminal::run(&world, &["run", "-c", "touch a"]);
        terminal.wait_for("[y]");
        let request = asked(&world, "touch a");
        assert_eq!(request["expires_at"], Value::Null);
        assert_eq!(answer(&world, &[verb, id(&request)]).0, 0);
        let (code, text) = terminal.end();
        assert_eq!((code, there(&world, "a")), (expected, expected == 0), "{text}");
        assert!(text.contains("the question was withdrawn"), "{text}");
    }
}

#[test]
fn an_answer_in_the_prompt_is_seen_elsewhere() {
    let world = World::new();
    let mut terminal = Terminal::run(&world, &["run", "-c", "touch a"]);
    terminal.wait_for("[y]");
    let request = asked(&world, "touch a");
    terminal.press("y");
    assert_eq!(terminal.end().0, 0);
    let (status, why) = answer(&world, &["deny", id(&request)]);
    assert_eq!(status, 1);
    assert!(why.contains("was approved (by the prompt"), "{why}");
}

/// Guards I20.
#[test]
fn decisions_by_rules_never_open_the_database() {
    let policy = "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(mkdir *)\"]\n";
    let world = World::new().policy(policy);
    assert_eq!(code(&world.run(&["run", "--wait", "-c", "touch a"], b"")), 0);
    assert_eq!(code(&world.run(&["run", "--wait", "-c", "mkdir b"], b"")), 126);
    assert_eq!(code(&world.run(&["run", "-c", "chmod 1 c"], b"")), 4);
    assert!(world.run(&["hook", "claude"], b"{}").status.success());
    assert!(!data_base(&world).exists());
}

#[test]
fn an_agent_may_list_pending_requests_but_not_answer_them() {
    let world = World::new();
    for (script, answers) in [
        ("openoxide pending --json", false),
        ("openoxide run --wait -c ls", false),
        ("openoxide approve 7", true),
        ("openoxide --no-input deny 7", true),
    ] {
        let output = world.run(&["check", "--allow", "Bash(openoxide *)", "-c", script], b"");
        let said = stdout(&output).contains("would approve requests on your behalf");
        assert_eq!((code(&output), said), (4, answers), "{script}: {}", stdout(&output));
    }
}

/// Runs `run --wait` where the database cannot be used, and returns its standard error.
fn fails(world: &World) -> String {
    let output = world.run(&["run", "--wait=60", "-c", "touch a"], b"");
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert!(!there(world, "a"));
    let (status, _) = answer(world, &["pending"]);
    assert_eq!(status, 1);
    stderr(&output)
}

fn made(world: &World) -> rusqlite::Connection {
    world.run(&["run", "--wait=1", "-c", "touch a"], b"");
    rusqlite::Connection::open(data_base(world)).unwrap()
}

#[test]
fn a_newer_data_base_means_ask_and_stays() {
    let world = World::new();
    made(&world).execute_batch("PRAGMA user_version = 99").unwrap();
    let before = fs::read(data_base(&world)).unwrap();
    assert!(fails(&world).contains("written by a newer version of OpenOxide"));
    assert_eq!(fs::read(data_base(&world)).unwrap(), before);
}

#[test]
fn a_damaged_data_base_means_ask_and_stays() {
    let world = World::new();
    drop(made(&world));
    fs::write(data_base(&world), "This is no data base, but somebody's letter.".repeat(99))
        .unwrap();
    let before = fs::read(data_base(&world)).unwrap();
    let why = fails(&world);
    assert!(why.contains("database corrupt") && why.contains("delete it"), "{why}");
    assert_eq!(fs::read(data_base(&world)).unwrap(), before);
}

#[test]
fn a_lock_that_is_held_for_ever_means_ask() {
    let world = World::new();
    let holder = made(&world);
    holder.execute_batch("PRAGMA locking_mode = exclusive; BEGIN EXCLUSIVE").unwrap();
    assert!(fails(&world).contains("another process kept it locked for too long"));
}

#[test]
fn a_state_that_cannot_be_written_means_ask() {
    let world = World::new();
    fs::create_dir_all(world.root().join(".local")).unwrap();
    fs::write(world.root().join(".local/state"), "no directory").unwrap();
    let output = world.run(&["run", "--wait=60", "-c", "touch a"], b"");
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert!(stderr(&output).contains("openoxide: error: "), "{}", stderr(&output));
}

#[test]
fn a_full_disk_asks_and_keeps_pending_requests() {
    let world = World::new();
    let waits = ask(&world, &["-c", "touch b"]);
    let request = asked(&world, "touch b");
    // A limit on the file size has the same effect as a full disk. Without the trap, the signal
    // would kill the process.
    let script = format!("trap '' XFSZ; ulimit -f 1; exec {OPENOXIDE} run --wait=60 -c 'touch a'");
    let command = world.command(&[]);
    let mut full = Command::new("bash");
    full.args(["-c", &script]).current_dir(world.project()).env_clear().stdin(Stdio::null());
    full.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = full.output().unwrap();
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert!(stderr(&output).contains("openoxide: error: "), "{}", stderr(&output));
    assert_eq!(answer(&world, &["approve", id(&request)]).0, 0);
    assert_eq!(code(&end(waits)), 0);
    assert!(there(&world, "b") && !there(&world, "a"));
}

/// An approval is for the directory that was checked.
#[test]
fn a_directory_that_changes_while_a_question_is_open_is_not_used() {
    let world = World::new();
    let project = world.project();
    for name in ["a", "b", "c"] {
        fs::create_dir(project.join(name)).unwrap();
    }
    let link = project.join("link");
    std::os::unix::fs::symlink(project.join("a"), &link).unwrap();
    for (cwd, change, reason) in [
        ("link", "ln -sfn b link", "b/made"),
        ("c", "mv c old && mkdir c", "working directory is not the one"),
    ] {
        let asker = ask(&world, &["--sandbox=off", "--cwd", cwd, "-c", "touch made"]);
        let request = asked(&world, "touch made");
        let changed = Command::new("sh").args(["-c", change]).current_dir(&project).status();
        assert!(changed.unwrap().success());
        let digest = request["digest"].as_str().unwrap();
        answer(&world, &["approve", id(&request), "--digest", digest]);
        let output = end(asker);
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
        for name in ["a", "b", "c"] {
            assert!(!project.join(name).join("made").exists(), "{cwd}: {name}");
        }
    }
}

/// Grants are for commands. A rule about a file applies to the session, and the message reports it.
#[test]
fn a_project_approval_of_a_file_rule_counts_for_the_session_and_is_not_called_saved() {
    let world = World::new();
    fs::write(world.root().join("outside.txt"), "").unwrap();
    let script = "echo x > ../outside.txt";
    let start = || ask(&world, &["--session", SESSION, "-c", script]);
    let asker = start();
    let request = asked(&world, script);
    let (status, said) = answer(&world, &["approve", id(&request), "--scope", "project"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("approved for this session: Edit("), "{said}");
    assert!(!said.contains("saved for this project: Edit("), "{said}");
    let ended = end(asker);
    assert_eq!(code(&ended), 0, "{}", stderr(&ended));
    let listed = stdout(&world.run(&["grants", "list"], b""));
    assert!(!listed.contains("Edit("), "{listed}");
}
