//! Running one case with both programs in the same directory.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::generate::Case;

/// The two programs.
pub(super) struct Asked {
    ours: PathBuf,
    theirs: PathBuf,
}

/// The directories of one thread. Their names appear in answers, so they are always the same:
/// `home` and `work`.
pub(super) struct Place<'a> {
    asked: &'a Asked,
    root: TempDir,
}

/// The answer of a program. The directory above `home` and `work` is left out of the texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) took: Duration,
}

impl Asked {
    pub(super) fn new(ours: PathBuf, theirs: PathBuf) -> Result<Self, String> {
        let there = |path: PathBuf| {
            path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Self { ours: there(ours)?, theirs: there(theirs)? })
    }

    /// Creates the directories. They are not in the directory for temporary files, because Codex
    /// warns about that.
    pub(super) fn place(&self) -> Result<Place<'_>, String> {
        let near = self.ours.parent().unwrap_or(Path::new("."));
        let root = tempfile::Builder::new().prefix("codex-diff-").tempdir_in(near);
        let root = root.map_err(|error| error.to_string())?;
        for name in ["home/.codex", "work"] {
            fs::create_dir_all(root.path().join(name)).map_err(|error| error.to_string())?;
        }
        Ok(Place { asked: self, root })
    }
}

impl Place<'_> {
    /// Returns the answers of OpenOxide and of Codex.
    pub(super) fn ask(&self, case: &Case) -> Result<(Answer, Answer), String> {
        for (name, text) in names(case).iter().zip(&case.files) {
            let file = self.root.path().join("work").join(name);
            fs::write(file, text).map_err(|error| error.to_string())?;
        }
        let mut ours = Command::new(&self.asked.ours);
        ours.arg("codex");
        Ok((self.answer(ours, case)?, self.answer(Command::new(&self.asked.theirs), case)?))
    }

    fn answer(&self, mut command: Command, case: &Case) -> Result<Answer, String> {
        let home = self.root.path().join("home");
        command.current_dir(self.root.path().join("work")).env_clear();
        command
            .env("HOME", &home)
            .env("CODEX_HOME", home.join(".codex"))
            .env("RUST_BACKTRACE", "0");
        command.args(["execpolicy", "check"]);
        for name in names(case) {
            command.args(["--rules", &name]);
        }
        for (given, option) in [
            (case.resolve, "--resolve-host-executables"),
            (case.pretty, "--pretty"),
            (case.parted, "--"),
        ] {
            command.args(given.then_some(option));
        }
        let since = Instant::now();
        let output = command.args(&case.command).output().map_err(|error| error.to_string())?;
        let took = since.elapsed();
        let root = self.root.path().to_string_lossy();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*root, "");
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        Ok(Answer { code: output.status.code(), stdout, stderr, took })
    }
}

/// Returns the names of the files of a case.
fn names(case: &Case) -> Vec<String> {
    (0..case.files.len()).map(|number| format!("{number}.rules")).collect()
}
