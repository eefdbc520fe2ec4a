//! Commands that show the state of the system: its processes, sockets, services and terminals.
//!
//! In the sandbox, they would show only the sandbox, and an agent would conclude that a server does
//! not run.

use openoxide_protocol::{Access, Decision};

/// Programs that show processes, sockets, services, sessions or the network. In the program table,
/// they are harmless only with options that change nothing.
const SYSTEM_PROGRAMS: [&str; 30] = [
    "docker",
    "dmesg",
    "fuser",
    "htop",
    "ifconfig",
    "ip",
    "iostat",
    "journalctl",
    "last",
    "launchctl",
    "loginctl",
    "lsof",
    "netstat",
    "nerdctl",
    "nvidia-smi",
    "pgrep",
    "pidof",
    "pidstat",
    "podman",
    "ps",
    "pstree",
    "screen",
    "ss",
    "systemctl",
    "tmux",
    "top",
    "uptime",
    "vmstat",
    "w",
    "who",
];
/// Programs that only select and print lines of such output.
const LINE_PROGRAMS: [&str; 20] = [
    "[", "awk", "cat", "column", "cut", "echo", "egrep", "false", "fgrep", "grep", "head",
    "printf", "sed", "sleep", "sort", "tail", "test", "tr", "true", "wc",
];

/// Returns whether the commands of a decision show the state of the system, and nothing else is run
/// that does more than print lines of their output.
pub(crate) fn shows_system_state(decision: &Decision) -> bool {
    let mut programs = decision.parts.iter().filter_map(|part| {
        let Access::Exec(exec) = &part.access else { return None };
        Some(exec.argv.known_word(0).unwrap_or_default())
    });
    let is_system = |program: &str| SYSTEM_PROGRAMS.contains(&program);
    programs.clone().any(is_system)
        && programs.all(|program| is_system(program) || LINE_PROGRAMS.contains(&program))
}
