//! The test environment: a directory with the tested programs, used as an ordinary user without a
//! network.

use std::{
    env, fs, io,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::setup::is_root;

/// The user `nobody`, under which the agent runs if the tests run as root. A client refuses some
/// modes as root, and no file is unreadable for root.
const NOBODY: u32 = 65534;

/// The arguments to run a command as that user, without capabilities.
const DROP_ROOT: [&str; 5] =
    ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"];

/// The arguments to run a command in a network namespace that has only the loopback device.
const NAMESPACE: [&str; 6] = [
    "unshare",
    "--net",
    "sh",
    "-c",
    r#"PATH="$PATH:/usr/sbin:/sbin"; ip link set lo up && exec "$@""#,
    "sh",
];

/// The tested programs, and the directory for temporary projects.
#[derive(Debug)]
pub(crate) struct Agent {
    /// The client.
    pub(crate) claude: PathBuf,
    /// The `openoxide` program.
    pub(crate) openoxide: PathBuf,
    /// The directory in which each scenario creates its own folder.
    pub(crate) worlds: PathBuf,
}

impl Agent {
    /// Returns the programs on the stage in the current directory.
    pub(crate) fn here() -> Result<Self, String> {
        let folder = Path::new(".").canonicalize();
        Ok(Self::on(&folder.map_err(|error| format!("no current directory: {error}"))?))
    }

    /// Returns the programs on the stage in `folder`.
    pub(crate) fn on(folder: &Path) -> Self {
        let [claude, openoxide, worlds] =
            ["claude", "openoxide", "worlds"].map(|name| folder.join(name));
        Self { claude, openoxide, worlds }
    }
}

/// Prepares the environment, and runs the command of this program that `words` are in it.
pub(crate) fn enter(openoxide: &Path, claude: &Path, words: &[String]) -> Result<(), String> {
    let stage = tempfile::Builder::new().prefix("openoxide-e2e-").tempdir();
    let stage = stage.map_err(|error| format!("cannot make the stage: {error}"))?;
    let folder = stage.path();
    furnish(folder, openoxide, claude)
        .map_err(|error| format!("cannot furnish {}: {error}", folder.display()))?;
    let mut play = confined(&folder.join("xtask"));
    play.args(words);
    let status = play.current_dir(folder).stdin(Stdio::null()).status();
    match status.map_err(|error| format!("cannot enter the stage: {error}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("the play on the stage ended with {status}")),
    }
}

fn furnish(folder: &Path, openoxide: &Path, claude: &Path) -> io::Result<()> {
    let agent = Agent::on(folder);
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    fs::create_dir(&agent.worlds)?;
    if is_root() {
        chown(&agent.worlds, Some(NOBODY), Some(NOBODY))?;
    }
    place(&env::current_exe()?, &folder.join("xtask"))?;
    place(openoxide, &agent.openoxide)?;
    place(claude, &agent.claude)
}

/// Copies `from` to `to`, where an ordinary user can read it. A hard link is tried first, because
/// the client is large.
fn place(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))
}

/// Returns the beginning of a command that runs `program` with as few privileges as possible.
fn confined(program: &Path) -> Command {
    // `env` starts the program that its arguments name.
    let mut command = Command::new("env");
    if !is_root() {
        println!("note: not root, so the client is only asked, not forced, to stay offline");
    } else if namespace_works() {
        command.args(NAMESPACE).args(DROP_ROOT);
    } else {
        println!("note: no network namespace here, so the client is only asked to stay offline");
        command.args(DROP_ROOT);
    }
    command.arg(program);
    command
}

fn namespace_works() -> bool {
    let mut probe = Command::new("env");
    let silent = probe.args(NAMESPACE).arg("true").stdin(Stdio::null());
    let silent = silent.stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_furnished_stage_has_all_programs_where_the_agent_looks() {
        let stage = tempfile::tempdir().unwrap();
        let source = stage.path().join("source");
        fs::write(&source, "#!/bin/sh\n").unwrap();
        let folder = stage.path().join("stage");
        fs::create_dir(&folder).unwrap();
        furnish(&folder, &source, &source).unwrap();
        let agent = Agent::on(&folder);
        assert!(agent.claude.is_file() && agent.openoxide.is_file() && agent.worlds.is_dir());
    }
}
