//! A home and a project of one's own, and the program in them.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

pub(crate) const OPENOXIDE: &str = env!("CARGO_BIN_EXE_openoxide");

/// Returns the directory of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A throw-away home with a project in it.
pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::in_place(&std::env::temp_dir())
    }

    pub(crate) fn in_place(place: &Path) -> Self {
        fs::create_dir_all(place).unwrap();
        let world = Self { dir: tempfile::tempdir_in(place).unwrap() };
        fs::create_dir_all(world.project().join(".git")).unwrap();
        fs::create_dir_all(world.root().join("config/openoxide")).unwrap();
        world
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(crate) fn user_policy(&self) -> PathBuf {
        self.root().join("config/openoxide/policy.toml")
    }

    pub(crate) fn policy(self, text: &str) -> Self {
        fs::write(self.user_policy(), text).unwrap();
        self
    }

    /// Writes a file into the project, and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.project().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Returns the program, in the project, with this home and nothing else around it.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(OPENOXIDE);
        command.args(args).current_dir(self.project()).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.root());
        command.env("XDG_CONFIG_HOME", self.root().join("config"));
        command.env("XDG_CACHE_HOME", self.root().join("cache"));
        command
    }

    pub(crate) fn run(&self, args: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that does not read all of its input closes the pipe. Only its answer matters.
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().expect("it ended by itself")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
