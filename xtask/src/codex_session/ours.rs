//! A process of `openoxide codex decide`, with one line per call and answer.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{answer::Answer, generate::Group, stage};

/// The `openoxide` program, and a directory for its files.
#[derive(Debug)]
pub(super) struct Ours {
    program: PathBuf,
    folder: TempDir,
}

impl Ours {
    pub(super) fn new(program: &Path) -> Result<Self, String> {
        let program =
            program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
        let folder = stage::folder().map_err(|error| error.to_string())?;
        Ok(Self { program, folder })
    }

    /// Returns the answers of OpenOxide to the calls of a group.
    pub(super) fn answers(&self, group: &Group) -> Result<Vec<Answer>, String> {
        let rows: String = group.calls.iter().map(|call| format!("{}\n", call.arguments)).collect();
        let input = self.write("calls", &rows)?;
        let mut command = self.command(group)?;
        command.stdin(File::open(input).map_err(|error| error.to_string())?);
        let output =
            command.stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("our program ended with {}", output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let answers = text.lines().map(Answer::ours).collect::<Result<Vec<_>, _>>()?;
        let (had, wanted) = (answers.len(), group.calls.len());
        if had == wanted {
            Ok(answers)
        } else {
            Err(format!("our program gave {had} answers to {wanted} calls"))
        }
    }

    fn command(&self, group: &Group) -> Result<Command, String> {
        let setting = &group.setting;
        let policy = match &setting.policy {
            Value::String(name) => name.clone(),
            granular => granular.to_string(),
        };
        let mut command = Command::new(&self.program);
        command.args(["codex", "decide", "--dialect", &setting.dialect, "--policy", &policy]);
        command.args(["--sandbox", setting.sandbox, "--cwd", stage::WORK]);
        for (number, text) in setting.files.iter().enumerate() {
            command.arg("--rules").arg(self.write(&format!("{number}.rules"), text)?);
        }
        Ok(command)
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let file = self.folder.path().join(name);
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file)
    }
}
