//! Approvals for one task: a job of the shell, or a prompt that a person gave to an agent.

use std::{os::unix::process::CommandExt as _, process::Command};

use serde_json::{Value, json};

use crate::{
    pending::{answer, ask, asked, end, id},
    prompt::Terminal,
    support::{OPENOXIDE, World, code, stderr, stdout},
};

/// Runs a script as the leader of a separate job, and returns its output.
fn job(world: &World, script: &str) -> String {
    let mut bash = Command::new("bash");
    bash.args(["-c", &script.replace("OX", OPENOXIDE)]).current_dir(world.project());
    let usual = world.command(&[]);
    bash.env_clear().envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = bash.process_group(0).stdin(std::process::Stdio::null()).output().unwrap();
    stdout(&output)
}

/// Guards I29.
#[test]
fn a_grant_for_a_job_ends_with_it() {
    let world = World::new();
    let run = "OX run -c 'touch a' 2>/dev/null; echo $?";
    let inside = format!(
        "OX grants add 'Bash(touch *)' --task 2>/dev/null; {run}; bash -c \"{run}\"; OX grants list; true"
    );
    let text = job(&world, &inside);
    assert!(text.starts_with("0\n0\n  1  Bash(touch *), until 20"), "{text}");
    assert!(text.contains(", in the task job-") && !text.contains("ignored"), "{text}");
    assert_eq!(job(&world, &format!("{run}; true")), "4\n", "another job");
    assert_eq!(code(&world.run(&["check", "-c", "touch a"], b"")), 4);
    let listed = stdout(&world.run(&["grants", "list"], b""));
    assert!(
        listed.contains("ignored: granted for another task, or its task has ended"),
        "{listed}"
    );
    let output = world.run(&["run", "-c", "touch a"], b"");
    assert!(
        !stderr(&output).contains("grants nothing"),
        "it is as it was granted: {}",
        stderr(&output)
    );
}

#[test]
fn a_task_limit_is_refused_if_the_task_is_unknown() {
    let world = World::new();
    // It leads its own job: the shell puts itself in its place.
    let text = job(&world, "exec OX grants add 'Bash(touch *)' --task 2>&1");
    assert!(text.contains("this call does not belong to a task"), "{text}");
    let asker = ask(&world, &["--policy", "/dev/null", "-c", "touch one"]);
    let request = asked(&world, "touch one");
    let approve = ["approve", id(&request), "--scope", "project", "--task"];
    let (status, why) = answer(&world, &approve);
    assert_eq!((status, why.contains("belongs to no task")), (2, true), "{why}");
    answer(&world, &["deny", id(&request)]);
    end(asker);
    assert_eq!(stdout(&world.run(&["grants", "list"], b"")), "");
}

#[test]
fn the_prompt_offers_the_job_that_it_is_asked_in() {
    let world = World::new();
    let path = |name: &str| world.root().join(name).display().to_string();
    let environment = [
        ("PATH", "/usr/bin:/bin".to_owned()),
        ("HOME", world.root().display().to_string()),
        ("XDG_CONFIG_HOME", path("config")),
    ];
    let script = format!(
        "{OPENOXIDE} run -c 'touch one'; {OPENOXIDE} run --no-input -c 'touch two'; echo ended $?"
    );
    let mut terminal = Terminal::start(&world, "bash", &["-c", &script], &environment);
    terminal.wait_for("[p]");
    terminal.press("p");
    terminal.wait_for("[k] for this task");
    terminal.press("k");
    let (_, text) = terminal.end();
    assert!(
        text.contains("> yes, for the project, for this task") && text.contains("ended 0"),
        "{text}"
    );
    assert_eq!(code(&world.run(&["run", "-c", "touch three"], b"")), 4);
    let log = stdout(&world.run(&["audit", "log"], b""));
    assert!(
        log.contains("saved for the project: Bash(touch *) (as offered), in the task job-"),
        "{log}"
    );
}

fn hook(world: &World, prompt: &Value) -> String {
    let payload = json!({
        "session_id": "c6dc", "prompt_id": prompt, "cwd": world.project(), "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": "npm test" },
    });
    let payload = payload.to_string().replace("\"prompt_id\":null,", "");
    let output = world.run(&["hook", "claude"], payload.as_bytes());
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    found["hookSpecificOutput"]["permissionDecision"].as_str().unwrap().to_owned()
}

#[test]
fn a_task_of_claude_code_lasts_until_the_next_prompt() {
    let world = World::new();
    assert_eq!(hook(&world, &json!("87e7")), "ask");
    let log = stdout(&world.run(&["audit", "log", "--json"], b""));
    let record: Value = serde_json::from_str(&log).unwrap();
    assert_eq!(record["task"], "c6dc/87e7");
    let output = world.run(&["grants", "add", "Bash(npm *)", "--task=c6dc/87e7"], b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    // The compiled policy of another task must not hide it.
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    for (prompt, expected) in [
        (json!("87e8"), "ask"),
        (json!("87e7"), "allow"),
        (json!(null), "ask"),
        (json!(""), "ask"),
        (json!("87e7"), "allow"),
    ] {
        assert_eq!(hook(&world, &prompt), expected, "{prompt}");
    }
}
