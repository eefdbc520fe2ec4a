//! Parsing of the status that `bwrap` reports, and of the outcome of a program that ran under it
//! (`--json-status-fd`: one line of JSON for each message).

use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, access},
    io::{read, retry_on_intr},
    process::{Pid, WaitStatus},
};
use serde_json::Value;

use crate::{
    interface::{CommandOutcome, LaunchConfig},
    ipc::{InitMessage, is_readable},
};

/// The maximum length of the status. `bwrap` writes two short lines.
const MAX_STATUS_BYTES: usize = 4096;

/// Waits until `bwrap` reports the process ID of the first process inside. Returns `None` if
/// `bwrap` has ended.
pub(super) fn read_child_pid(status: &OwnedFd, said: &mut Vec<u8>) -> Option<Pid> {
    loop {
        if let Some(first) = find_number("child-pid", said) {
            return Pid::from_raw(first);
        }
        read_more(status, said)?;
    }
}

/// Reads the rest of the status that is available.
pub(super) fn read_remaining(status: &OwnedFd, said: &mut Vec<u8>) {
    while is_readable(status.as_fd()) && read_more(status, said).is_some() {}
}

fn read_more(status: &OwnedFd, said: &mut Vec<u8>) -> Option<()> {
    let mut bytes = [0; 512];
    let length = retry_on_intr(|| read(status, &mut bytes)).ok()?;
    said.extend(bytes.get(..length)?);
    (length > 0 && said.len() < MAX_STATUS_BYTES).then_some(())
}

fn find_number(name: &str, said: &[u8]) -> Option<i32> {
    let whole = said.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let mut found = whole.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    found.find_map(|said| said.get(name)?.as_i64()).and_then(|number| number.try_into().ok())
}

/// Builds the message about the end of the program. `bwrap` reports an exit status only if it
/// started the program. Otherwise this function searches for the program as execvp(3) does.
pub(super) fn build_exit_message(
    bwrap: WaitStatus,
    said: &[u8],
    launch: &LaunchConfig,
) -> InitMessage {
    if let Some(status) = find_number("exit-code", said) {
        return InitMessage::Ended(CommandOutcome::Exited(u8::try_from(status).unwrap_or(u8::MAX)));
    }
    if let Some(signal) = bwrap.terminating_signal() {
        return InitMessage::Ended(CommandOutcome::Signalled(
            u8::try_from(signal).unwrap_or(u8::MAX),
        ));
    }
    match find_exec_error(launch) {
        Some(end) => InitMessage::Ended(end),
        None => InitMessage::Failed {
            step: "confining it with bwrap, which reports the reason".to_owned(),
            error: libc::EIO,
        },
    }
}

/// Returns why a program cannot be started, if the reason can be found.
fn find_exec_error(launch: &LaunchConfig) -> Option<CommandOutcome> {
    let places = candidate_paths(launch);
    let there: Vec<_> = places.iter().filter(|path| path.exists()).collect();
    if there.is_empty() {
        return Some(CommandOutcome::NotFound);
    }
    let starts =
        |path: &&PathBuf| path.is_file() && access(path.as_path(), Access::EXEC_OK).is_ok();
    there.iter().copied().find(starts).is_none().then_some(CommandOutcome::NotStarted(libc::EACCES))
}

fn candidate_paths(launch: &LaunchConfig) -> Vec<PathBuf> {
    let name = launch.argv.first().map_or(OsStr::new(""), |name| name);
    let cwd = Path::new(launch.cwd.as_str());
    if name.as_bytes().contains(&b'/') {
        return vec![cwd.join(name)];
    }
    let path = launch.environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new("/bin:/usr/bin"), |(_, path)| path);
    std::env::split_paths(path).map(|directory| cwd.join(directory).join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of bubblewrap 0.8.0.
    #[test]
    fn only_complete_status_lines_are_read() {
        let said = b"{ \"child-pid\": 4711, \"cgroup-namespace\": 402, \"ipc-namespace\": 4026532 }\n{ \"exit-code\": 7 }\n";
        assert_eq!(find_number("child-pid", said), Some(4711));
        assert_eq!(find_number("exit-code", said), Some(7));
        assert_eq!(find_number("child-pid", b"{ \"child-pid\": 4711"), None);
        assert_eq!(find_number("exit-code", b"{ \"child-pid\": 4711 }\n"), None);
    }
}
