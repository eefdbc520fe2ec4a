//! Tests of complete sandboxes: the actions inside, and the state of the host afterwards.

mod abrupt;
mod battery;
mod bubblewrap;
mod environment;
mod everyday_calls;
mod explanations;
mod git;
mod git_clean;
mod git_hooks;
mod git_settings;
mod intranet;
mod job_control;
mod jobs;
mod large_projects;
mod leftovers;
mod limits;
mod live;
mod localhost;
mod nested;
mod new_directories;
mod ports;
mod private_caches;
mod proc_files;
mod publish_setting;
mod reached_limits;
mod registries;
mod replaced;
mod secrets;
mod sockets;
mod ssh;
mod staged;
mod steering;
mod streams;
mod temporary_results;
mod tracing;
mod weaker;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::OPENOXIDE;

/// A workspace that no private temporary directory hides, with a home directory next to it.
pub(crate) struct Arena {
    directory: tempfile::TempDir,
}

impl Arena {
    /// Creates a workspace with an empty directory for settings, so that it is a project. Otherwise
    /// a repository above it would be the project, and contain the directories of other tests.
    pub(crate) fn new() -> Self {
        let arena = Self::new_empty();
        fs::create_dir(arena.path("w/.openoxide")).unwrap();
        arena
    }

    /// Creates an empty workspace, for tests that call only `sandbox run`.
    pub(crate) fn new_empty() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let arena = Self { directory };
        for name in ["w", "home", "outside"] {
            fs::create_dir(arena.path(name)).unwrap();
        }
        arena
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// The program, with this home.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(OPENOXIDE);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path("home"));
        command.current_dir(self.path("w"));
        command
    }

    /// `sandbox run` in the workspace, with these arguments before the program's.
    pub(crate) fn run(&self, arguments: &[&str], program: &[&str]) -> Command {
        let mut command = self.command();
        command.args(["sandbox", "run"]).args(arguments).arg("--").args(program);
        command
    }

    /// Returns the entries that are left in the registry.
    pub(crate) fn registered(&self) -> Vec<PathBuf> {
        names(&self.path("home/.local/state/openoxide/sandbox"))
    }
}

/// The names in a directory; none if it is not there.
pub(crate) fn names(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

/// The processes that have this in their environment.
pub(crate) fn processes_with(mark: &str) -> Vec<PathBuf> {
    let marked = |path: &PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == mark.as_bytes())
    };
    names(Path::new("/proc")).into_iter().filter(marked).collect()
}

pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout == b"0\n"
}
