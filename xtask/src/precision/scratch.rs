//! A temporary project, in which the commands are checked: the files that they name exist or do not
//! exist in the same way on every machine.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::steps::succeed;

/// The directories that scripts change into, below the project.
const DIRECTORIES: &[&str] = &[
    "api",
    "app",
    "backend",
    "bin",
    "build",
    "client",
    "cmd",
    "config",
    "crates/core",
    "data",
    "deploy",
    "docs",
    "examples",
    "frontend",
    "infra",
    "internal",
    "lib",
    "logs",
    "migrations",
    "packages/api",
    "packages/core",
    "packages/ui",
    "packages/web",
    "public",
    "scripts",
    "server",
    "services/auth",
    "src/components",
    "src/utils",
    "terraform",
    "tests/unit",
    "tools",
    "web",
];

/// Empty files for patterns to match. Secrets are among them, because a pattern that matches no
/// secret is harmless.
const FILES: &[&str] = &[
    "home/.aws/credentials",
    "home/.bashrc",
    "home/.ssh/id_rsa",
    "project/.env",
    "project/.env.local",
    "project/.github/workflows/ci.yml",
    "project/.gitignore",
    "project/Cargo.toml",
    "project/Dockerfile",
    "project/Makefile",
    "project/README.md",
    "project/certs/private.pem",
    "project/data/input.csv",
    "project/docs/guide.md",
    "project/go.mod",
    "project/logs/app.log",
    "project/migrations/0001_init.sql",
    "project/package.json",
    "project/packages/core/package.json",
    "project/pyproject.toml",
    "project/server.key",
    "project/src/app.py",
    "project/src/index.ts",
    "project/src/main.rs",
    "project/tests/test_api.py",
    "project/tsconfig.json",
];

/// The project, with a home directory and a policy next to it. They are removed on drop.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// Creates the project as a git repository, with a policy of this content.
    pub(crate) fn new(policy: &str) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no scratch project: {error}"))?;
        let scratch = Self { folder };
        for name in DIRECTORIES {
            scratch.folder(&format!("project/{name}"))?;
        }
        for name in FILES {
            scratch.file(name, "")?;
        }
        scratch.file("policy.toml", policy)?;
        scratch.put_under_git()?;
        Ok(scratch)
    }

    /// Returns the path of `name`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.path(name);
        let folder = path.parent().unwrap_or(self.folder.path());
        fs::create_dir_all(folder).map_err(|error| cannot("make", folder, &error))?;
        fs::write(&path, text).map_err(|error| cannot("write", &path, &error))?;
        Ok(path)
    }

    /// Returns a command for `program` in the project, with an empty environment.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path("project")).env_clear().env("HOME", self.path("home"));
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command
    }

    fn folder(&self, name: &str) -> Result<(), String> {
        let path = self.path(name);
        fs::create_dir_all(&path).map_err(|error| cannot("make", &path, &error))
    }

    fn put_under_git(&self) -> Result<(), String> {
        let mut git = self.command(Path::new("git"));
        git.args(["init", "--quiet", "--initial-branch=main"]).stdin(Stdio::null());
        succeed(&mut git)
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}
