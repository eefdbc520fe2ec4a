//! The attempts of `corpus/sandbox`, each in a separate sandbox. The host reports the results.

use std::{path::PathBuf, process::Command};

use serde_json::Value;

use super::is_root;
use crate::support::{OPENOXIDE, workspace};

/// Prepares a private mount that other users may access, and runs the harness there.
const IN_OWN_MOUNTS: &str =
    "mount -t tmpfs none /mnt && cp \"$0\" /mnt/openoxide && cd / && exec python3 -B \"$@\"";

/// Runs attempts as this user. The names of none are all of them.
fn attempts(launcher: &str, user: &str, names: &str) -> Vec<Value> {
    attempts_by(launcher, user, &[names])
}

/// The same, with the names and perhaps a backend.
fn attempts_by(launcher: &str, user: &str, more: &[&str]) -> Vec<Value> {
    let harness = workspace().join("corpus/sandbox/harness.py");
    let mut command = if is_root() {
        let mut command = Command::new("unshare");
        command.args(["-m", "--propagation", "private", "sh", "-c", IN_OWN_MOUNTS, OPENOXIDE]);
        command.arg(harness).args([launcher, "/mnt/arena", user]);
        command
    } else {
        let mut command = Command::new("python3");
        // Tests run at the same time.
        let name = [&[launcher, user], more].concat().join("-").replace(['/', ','], "_");
        let base = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("arena-{name}"));
        let launcher = if launcher == "none" { launcher } else { OPENOXIDE };
        command.arg("-B").arg(harness).arg(launcher).arg(base).arg(user);
        command
    };
    rows(command.args(more))
}

fn rows(command: &mut Command) -> Vec<Value> {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn user() -> String {
    String::from_utf8(Command::new("id").arg("-u").output().unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned()
}

/// Returns the attempts that escaped and the everyday operations that failed.
fn faults(rows: &[Value]) -> Vec<String> {
    let fault = |row: &&Value| {
        let everyday = row["id"].as_str().unwrap().starts_with("ok_");
        row["verdict"] == "escaped" || (everyday && row["verdict"] != "done")
    };
    rows.iter().filter(fault).map(Value::to_string).collect()
}

/// Guards I34.
#[test]
fn no_attempt_escapes() {
    // Root has more to try; in CI this is root.
    let rows = attempts("/mnt/openoxide", &user(), "");
    assert_eq!(faults(&rows), Vec::<String>::new());
    assert!(rows.len() > 200, "{}", rows.len());
}

/// Guards I34.
#[test]
fn no_other_user_gets_out() {
    if is_root() {
        let rows = attempts("/mnt/openoxide", "1234", "");
        assert_eq!(faults(&rows), Vec::<String>::new());
        assert!(rows.len() > 200, "{}", rows.len());
    }
}

/// Returns the user for a second mode: another one, where this is root.
fn ordinary_user() -> String {
    if is_root() { "1234".to_owned() } else { user() }
}

/// A live run, which intercepts changes, asks about them and refuses them, opens no more than other
/// runs.
///
/// Guards I23.
#[test]
fn no_attempt_escapes_a_live_run() {
    let rows = attempts_by("/mnt/openoxide", &ordinary_user(), &["", "live"]);
    assert_eq!(faults(&rows), Vec::<String>::new());
    assert!(rows.len() > 200, "{}", rows.len());
}

/// Attempts whose changes are staged and then applied. The others are the same in each mode, and
/// `harness.py` runs all of them.
const STAGED: &str = "ok_,w_,w2_s,p_,p2_,x_daemon,x_set";

/// Changes that are staged and applied reach no more than those of other runs.
///
/// Guards I37.
#[test]
fn no_attempt_escapes_a_staged_run() {
    let mut rows = attempts_by("/mnt/openoxide", &ordinary_user(), &[STAGED, "stage"]);
    assert!(rows.len() > 80, "{}", rows.len());
    // An overlay moves a directory by copying it.
    rows.retain(|row| row["id"] != "ok_ws_rename_topdir");
    assert_eq!(faults(&rows), Vec::<String>::new());
}

/// Differences under `bwrap` that do not reach the host. No Unix socket can be created except
/// pairs. Its `/dev/pts` is a separate instance, whose times can be set. Its `/dev/core` is a link
/// into the new /proc, which only root can open.
const OF_BWRAP: [(&str, &str); 3] = [
    ("ok_unix_server_in_ws", "Operation not permitted"),
    ("w2_everywhere", "escaped ['utime /dev/pts']"),
    ("k2_devices", "escaped ['/dev/core']"),
];

/// As an ordinary user: root is refused there.
/// Guards I34.
#[test]
fn no_attempt_escapes_bwrap() {
    let mut rows = attempts_by("/mnt/openoxide", &ordinary_user(), &["", "bubblewrap"]);
    assert!(rows.len() > 200, "{}", rows.len());
    let known = |row: &Value, (id, said): &(&str, &str)| {
        row["id"] == *id && row["inside"]["val"].as_str().is_some_and(|val| val.ends_with(said))
    };
    rows.retain(|row| !OF_BWRAP.iter().any(|of| known(row, of)));
    assert_eq!(faults(&rows), Vec::<String>::new());
}

/// The same harness sees what the same attempts do when nothing holds them.
/// Guards I34.
#[test]
fn unconfined_the_same_attempts_reach_the_host() {
    let names = [
        "w_outside",
        "w_chmod_outside",
        "w_rename_out",
        "w2_paths",
        "w2_stdin_chmod",
        "w2_suid_left",
        "w2_tmpfile_link",
        "p_git_config",
        "p_missing_create_file",
        "p_rename_protected",
        "p_nested_repo_hook",
        "p2_new_bare",
        "p2_link_target",
        "r_ssh_key",
        "r_env_secret",
        "r_sibling_environ",
        "n_tcp",
        "n_udp",
        "n_unix_abstract",
        "n2_unix_dgram",
        "n_inherited_socket",
        "x_signal_sibling",
        "x_sysv_shm",
        "x_daemon_survives",
        "x2_sibling_limits",
        "k2_userfaultfd",
    ];
    let rows = attempts("none", &user(), &names.join(","));
    let unseen: Vec<_> = rows.iter().filter(|row| row["verdict"] != "escaped").collect();
    assert!(rows.len() >= names.len());
    assert_eq!(unseen, Vec::<&Value>::new());
}
