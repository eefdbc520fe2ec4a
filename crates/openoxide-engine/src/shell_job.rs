//! The task of a person's own call: the shell job that it is part of, such as a script or an agent.
//!
//! A job is a process group. It has ended when its leader has exited. The leader's process ID and
//! start time, together with the boot ID, are unique. A leader that has exited but was not waited
//! for yet has ended as well. A call that leads its own job is a separate task: the task has
//! nothing beyond the call.

use std::fs;

use openoxide_protocol::SessionId;

/// Returns the task that this process belongs to: the shell job that it is part of, in this
/// session. Returns `None` if the end of the job cannot be detected.
#[must_use]
pub fn shell_job_task(session: Option<SessionId>) -> Option<String> {
    let own = read_stat("self")?;
    let leader = read_stat(&own.process_group.to_string())?;
    if leader.pid == own.pid || leader.has_ended {
        return None;
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let boot = boot.split('-').next()?;
    let session = session.map(|session| format!("{session}/")).unwrap_or_default();
    Some(format!("{session}job-{}-{}-{boot}", leader.pid, leader.start_time))
}

/// The status of a process, as reported by the system.
struct ProcessStat {
    pid: u32,
    has_ended: bool,
    process_group: u32,
    start_time: u64,
}

fn read_stat(process: &str) -> Option<ProcessStat> {
    parse_stat(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// Parses a line of `/proc/PID/stat` (proc(5)). The name is in parentheses and may contain any
/// byte, so the fields after the last parenthesis are used.
fn parse_stat(line: &str) -> Option<ProcessStat> {
    let pid = line.split(' ').next()?.parse().ok()?;
    let (_, rest) = line.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let ended = matches!(fields.next()?, "Z" | "X" | "x");
    let group = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(16)?.trim_end().parse().ok()?;
    Some(ProcessStat { pid, has_ended: ended, process_group: group, start_time: started })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// proc(5): pid comm state ppid pgrp session … starttime is the 22nd.
    #[test]
    fn the_status_of_a_process_with_any_name_is_parsed() {
        let rest = (6..=30).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        for name in ["bash", "a b", "x) R 9 9 (", ""] {
            let found = parse_stat(&format!("77 ({name}) S 4 5 {rest}\n")).unwrap();
            assert_eq!((found.pid, found.process_group, found.start_time), (77, 5, 22), "{name}");
            assert!(!found.has_ended, "{name}");
        }
        for state in ["Z", "X"] {
            assert!(
                parse_stat(&format!("77 (Z) {state} 4 5 {rest}\n")).unwrap().has_ended,
                "{state}"
            );
        }
        assert!(parse_stat("77 (x").is_none() && parse_stat("").is_none());
    }

    #[test]
    fn a_zombie_process_has_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id().to_string();
        assert!(!read_stat(&pid).unwrap().has_ended);
        child.kill().unwrap();
        let ends = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            read_stat(&pid).unwrap().has_ended
        });
        child.wait().unwrap();
        assert!(ends && read_stat(&pid).is_none());
    }
}
