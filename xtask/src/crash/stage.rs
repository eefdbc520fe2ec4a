//! A separate home and project, and the program in them.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The directories and the program of the campaign.
pub(super) struct Stage {
    directory: tempfile::TempDir,
    program: PathBuf,
}

impl Stage {
    pub(super) fn build(program: PathBuf) -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let stage = Self { directory, program };
        for name in ["project/.git", "bin", "ran"] {
            fs::create_dir_all(stage.path(name)).map_err(|error| error.to_string())?;
        }
        Ok(stage)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the path of the database.
    pub(super) fn data_base(&self) -> PathBuf {
        self.path(".local/state/openoxide/openoxide.db")
    }

    /// Returns a command for the program in the project, with an empty environment.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(self.path("project")).env_clear();
        command.env("HOME", self.directory.path());
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Runs the program, and returns its status and its output: the answer or, if it failed, the
    /// reason.
    pub(super) fn run(&self, words: &[&str]) -> Result<(Option<i32>, String), String> {
        let output = self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).output();
        let output = output.map_err(|error| error.to_string())?;
        let text = if output.status.success() { &output.stdout } else { &output.stderr };
        Ok((output.status.code(), String::from_utf8_lossy(text).into_owned()))
    }

    /// Creates a tool that no rule matches. Each run of it adds a line to a file.
    pub(super) fn tool(&self, number: u64) -> Result<(), String> {
        let path = self.path("bin").join(tool(number));
        let trace = self.trace(number);
        let text = format!("#!/bin/sh\necho ran >> '{}'\n", trace.display());
        write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns the number of runs of a tool.
    pub(super) fn runs(&self, number: u64) -> usize {
        fs::read_to_string(self.trace(number)).map_or(0, |text| text.lines().count())
    }

    fn trace(&self, number: u64) -> PathBuf {
        self.path("ran").join(number.to_string())
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Returns the name of the tool of a round.
pub(super) fn tool(number: u64) -> String {
    format!("tool{number}")
}
