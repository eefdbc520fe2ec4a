//! Package managers in the sandbox.

use std::{
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use super::Arena;

/// The longest time of a client that does not try again. npm waits 10 seconds before it does.
const AT_ONCE: Duration = Duration::from_secs(9);

/// Runs a command without any host. Returns its output and its duration.
fn run_offline(arena: &Arena, options: &[&str], command: &[&str]) -> (Output, Duration) {
    let start = Instant::now();
    let mut run = arena.run(options, command);
    let output = run.stdin(Stdio::null()).output().unwrap();
    (output, start.elapsed())
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn clients_of_refused_registries_end_at_once() {
    let arena = Arena::new();
    let commands: [&[&str]; 3] = [
        &["npm", "view", "is-odd", "version"],
        &["python3", "-m", "pip", "download", "--no-deps", "six"],
        &["git", "ls-remote", "https://example.org/repository"],
    ];
    for command in commands.into_iter().filter(|command| is_installed(command[0])) {
        for network in [&[][..], &["--net", "other.example"]] {
            let (output, duration) = run_offline(&arena, network, command);
            assert!(!output.status.success() && duration < AT_ONCE, "{command:?}: {duration:?}");
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(text.contains("openoxide: refused: a connection to"), "{text}");
        }
    }
}

#[test]
fn a_reachable_registry_is_tried_again() {
    let arena = Arena::new();
    let script = "echo ${npm_config_fetch_retries-default} ${CARGO_NET_RETRY-default}";
    for (options, expected) in [
        (&[][..], "0 0\n"),
        (&["--net", "registry.npmjs.org"], "default 0\n"),
        (&["--net", "index.crates.io,registry.npmjs.org"], "default default\n"),
        (&["--env", "CARGO_NET_RETRY=7"], "0 7\n"),
    ] {
        let (output, _) = run_offline(&arena, options, &["sh", "-c", script]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{options:?}");
    }
}
