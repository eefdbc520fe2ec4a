//! The stage: a folder with the programs under test, entered as an ordinary user without a network.

use std::{
    env, fs, io,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{e2e::INSIDE, setup::is_root};

/// The user `nobody`, under whom the agent runs when root started us: a client as root refuses
/// some modes, and no file is unreadable for root.
const NOBODY: u32 = 65534;

/// Runs what follows as that user, without any ability of root's.
const DROP_ROOT: [&str; 5] =
    ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"];

/// Runs what follows in a network namespace where only the loopback device is up.
const NAMESPACE: [&str; 6] = [
    "unshare",
    "--net",
    "sh",
    "-c",
    r#"PATH="$PATH:/usr/sbin:/sbin"; ip link set lo up && exec "$@""#,
    "sh",
];

/// The programs under test and the place for throw-away worlds.
#[derive(Debug)]
pub(crate) struct Agent {
    /// The client.
    pub(crate) claude: PathBuf,
    /// The product.
    pub(crate) openoxide: PathBuf,
    /// The directory in which each scenario creates its own folder.
    pub(crate) worlds: PathBuf,
}

impl Agent {
    /// Returns the programs on the stage in `folder`.
    pub(crate) fn on(folder: &Path) -> Self {
        let [claude, openoxide, worlds] =
            ["claude", "openoxide", "worlds"].map(|name| folder.join(name));
        Self { claude, openoxide, worlds }
    }
}

/// Sets the stage and plays the scenarios that `words` select on it.
pub(crate) fn enter(openoxide: &Path, claude: &Path, words: &[String]) -> Result<(), String> {
    let stage = tempfile::Builder::new().prefix("openoxide-e2e-").tempdir();
    let stage = stage.map_err(|error| format!("cannot make the stage: {error}"))?;
    let folder = stage.path();
    furnish(folder, openoxide, claude)
        .map_err(|error| format!("cannot furnish {}: {error}", folder.display()))?;
    let mut play = confined(&folder.join("xtask"));
    play.arg("e2e").arg(INSIDE).arg(folder).args(words);
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

/// Makes `from` appear at `to`, where an ordinary user reaches it; the client is large, so a link
/// is tried first.
fn place(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))
}

/// Returns the start of a command that runs `program` with as little as this machine allows.
fn confined(program: &Path) -> Command {
    // `env` starts whatever the words that follow name.
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
