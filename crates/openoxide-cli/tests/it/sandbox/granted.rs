//! The attempts of `corpus/sandbox/granted.py`: what lets work through (private layers of git and of
//! caches, tracing, published ports, granted sockets, staged changes) lets nothing else through.

use serde_json::Value;

use super::{
    battery::{attempts_of, user},
    is_root,
};

const SCRIPT: &str = "corpus/sandbox/granted.py";
/// What differs between an ordinary run and one that intercepts or stages changes.
const OF_A_MODE: &str = "c_,s_,v_,g_link,g_hook,g_config_f,g_window,g_killed,t_sw,t_first";

fn escaped(rows: &[Value]) -> Vec<String> {
    rows.iter().filter(|row| row["verdict"] == "escaped").map(Value::to_string).collect()
}

fn assert_held(user: &str, prefixes: &str, flags: &[&str], at_least: usize) {
    let mut more = vec![prefixes];
    more.extend(flags);
    let rows = attempts_of(SCRIPT, "/mnt/openoxide", user, &more);
    assert_eq!(escaped(&rows), Vec::<String>::new());
    assert!(rows.len() >= at_least, "{}", rows.len());
}

/// Guards I34.
#[test]
fn what_is_granted_lets_nothing_else_through() {
    assert_held(&user(), "", &[], 90);
}

/// Guards I34.
#[test]
fn what_is_granted_to_another_user_lets_nothing_else_through() {
    if is_root() {
        assert_held("1234", "", &[], 90);
    }
}

/// Guards I23.
#[test]
fn what_is_granted_lets_nothing_else_through_a_live_run() {
    let user = if is_root() { "1234".to_owned() } else { user() };
    assert_held(&user, OF_A_MODE, &["--live"], 30);
}

#[test]
fn what_is_granted_lets_nothing_else_through_a_staged_run() {
    let user = if is_root() { "1234".to_owned() } else { user() };
    assert_held(&user, OF_A_MODE, &["--stage"], 30);
}

/// The same judge sees what the same attempts do when nothing confines them.
#[test]
fn unconfined_the_attempts_reach_the_host() {
    let names = [
        "g_config_fsmonitor",
        "g_config_hooks_path",
        "g_commondir",
        "g_link_edit_message",
        "g_window_while_it_runs",
        "c_poison",
        "t_swapped_connect",
        "s_other_socket",
        "n_port_not_published",
        "v_directory_becomes_link",
        "j_nothing_is_left_running",
        "j_terminal_input",
    ];
    let user = if is_root() { "1234".to_owned() } else { user() };
    let rows = attempts_of(SCRIPT, "none", &user, &[&names.join(",")]);
    let unseen: Vec<_> = rows.iter().filter(|row| row["verdict"] != "escaped").collect();
    assert!(rows.len() >= names.len());
    assert_eq!(unseen, Vec::<&Value>::new());
}
