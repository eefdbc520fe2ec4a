//! A virtual environment of Python.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::steps::succeed;

/// A virtual environment of Python.
pub(super) struct PythonEnvironment {
    directory: PathBuf,
}

impl PythonEnvironment {
    /// Creates an environment, or opens the one that is there.
    pub(super) fn create(directory: &Path) -> Result<Self, String> {
        let environment = Self { directory: directory.to_owned() };
        if !environment.interpreter().exists() {
            succeed(Command::new("python3").args(["-m", "venv"]).arg(directory))?;
        }
        Ok(environment)
    }

    /// Returns the directory of the environment.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns a command that runs a module.
    pub(super) fn module(&self, name: &str) -> Command {
        let mut command = Command::new(self.interpreter());
        command.args(["-m", name]);
        command
    }

    /// Installs packages. The arguments are those of `pip install`.
    pub(super) fn install(&self, arguments: &[&str]) -> Result<(), String> {
        let mut pip = self.module("pip");
        pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(arguments);
        succeed(&mut pip)
    }

    /// Returns the path of the interpreter.
    pub(super) fn interpreter(&self) -> PathBuf {
        self.directory.join("bin/python")
    }
}
