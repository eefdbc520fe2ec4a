//! A temporary project with a home directory and settings, in which one client runs.

use std::{
    fs::{self, File},
    io,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    mock_model::{Call, MockModel, Script},
    person::answer_questions,
    session::Session,
    stage::Agent,
    wiring::{Hook, bare},
};
use crate::steps::succeed;

/// The time limit of a session. A session usually takes about a second.
const LIMIT: Duration = Duration::from_secs(120);

/// The search path of the client and git: the directories of the system, whatever the caller's
/// search path is.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A temporary project that a scenario prepares before the client runs.
#[derive(Debug)]
pub(crate) struct World<'a> {
    agent: &'a Agent,
    folder: TempDir,
    /// The hook in the settings of the client. `None` leaves the client alone.
    hook: Option<Hook>,
    permissions: Value,
    mode: Option<&'static str>,
    init: bool,
    /// The preset for `init`.
    preset: Option<&'static str>,
    /// The wait for `init`.
    wait: Option<&'static str>,
    /// The state of the program that `init` installed: it is missing, or replaced by this script.
    broken: Option<Broken>,
}

/// The ways in which an installed program is broken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Broken {
    /// The program is missing.
    Missing,
    /// The program is replaced by this shell script.
    Script(&'static str),
}

impl<'a> World<'a> {
    /// Creates a git project, and a home directory with the `openoxide` hook and without a policy.
    pub(crate) fn new(agent: &'a Agent) -> Result<Self, String> {
        let folder = tempfile::tempdir_in(&agent.worlds);
        let folder = folder.map_err(|error| format!("cannot make a world: {error}"))?;
        let hook = Some(Hook::product(&agent.openoxide));
        let (permissions, mode) = (bare(), None);
        let (init, preset, wait, broken) = (false, None, None, None);
        let world = Self { agent, folder, hook, permissions, mode, init, preset, wait, broken };
        for part in ["home/.claude", "project", "config/openoxide", "tmp"] {
            make_folder(&world.path(part))?;
        }
        world.trust_project()?;
        Ok(world)
    }

    /// Sets the client's own permissions in the user's settings.
    pub(crate) fn client_permissions(mut self, permissions: Value) -> Self {
        self.permissions = permissions;
        self
    }

    /// Leaves the client without a hook.
    pub(crate) fn without_hook(mut self) -> Self {
        self.hook = None;
        self
    }

    /// Lets `openoxide init` install the hook into settings that contain only the client's own
    /// permissions.
    pub(crate) fn wired_by_init(mut self) -> Self {
        self.init = true;
        self
    }

    /// Lets `openoxide init` install the hook and this preset.
    pub(crate) fn wired_with_preset(mut self, preset: &'static str) -> Self {
        self.preset = Some(preset);
        self.wired_by_init()
    }

    /// Lets `openoxide init` install a hook whose questions wait, with this option.
    pub(crate) fn wired_with_wait(mut self, wait: &'static str) -> Self {
        self.wait = Some(wait);
        self.wired_by_init()
    }

    /// Breaks the program that `init` has installed: it is missing, or replaced by a shell script.
    /// The client does not ask about every tool.
    pub(crate) fn then_broken(mut self, broken: Broken) -> Self {
        self.broken = Some(broken);
        self
    }

    /// Sets the mode of the client. Without it, the settings of the user and of the project select
    /// the mode.
    pub(crate) fn mode(mut self, mode: &'static str) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Writes the user's policy.
    pub(crate) fn policy(self, text: &str) -> Result<Self, String> {
        self.file("config/openoxide/policy.toml", text)
    }

    /// Writes the file at `name` in this world.
    pub(crate) fn file(self, name: &str, text: &str) -> Result<Self, String> {
        let path = self.path(name);
        if let Some(parent) = path.parent() {
            make_folder(parent)?;
        }
        fs::write(&path, text).map_err(|error| format!("cannot write {name}: {error}"))?;
        Ok(self)
    }

    /// Installs the shell script `body` as the hook, with a timeout of `timeout` seconds.
    pub(crate) fn hook_script(self, body: &str, timeout: u32) -> Result<Self, String> {
        let mut world = self.file("hook", &format!("#!/bin/sh\n{body}\n"))?;
        let path = world.path("hook");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .map_err(|error| format!("cannot make {} a program: {error}", path.display()))?;
        world.hook = Some(Hook::stand_in(&path, timeout));
        Ok(world)
    }

    /// Installs the program `name` of this project as the hook. It may be missing.
    pub(crate) fn hook_program(mut self, name: &str) -> Self {
        self.hook = Some(Hook::stand_in(&self.path(name), 2));
        self
    }

    /// Returns the path of `name` in this world.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the path of `openoxide`.
    pub(crate) fn openoxide(&self) -> &Path {
        &self.agent.openoxide
    }

    /// Lets the client run until a model that plays `script` is done.
    ///
    /// Fails unless the model read an outcome of every call, because a call that was not made
    /// proves nothing.
    pub(crate) fn run(self, script: impl Into<Script>) -> Result<Session, String> {
        let script = script.into();
        let steps = script.calls.len() + script.delegated.len();
        let world = self.wired()?;
        let start = |error: io::Error| format!("cannot start the session: {error}");
        let model = MockModel::start(script).map_err(start)?;
        let child = world.client(&model.url()).and_then(|mut client| client.arg("go on").spawn());
        let ended = wait(child.map_err(start)?, LIMIT);
        let session = Session::new(world.folder, model);
        ended.map_err(|why| session.fault(&why))?;
        match (0..steps).find(|step| session.outcome(*step).is_none()) {
            Some(step) => Err(session.fault(&format!("the model read no outcome of call {step}"))),
            None => Ok(session),
        }
    }

    /// Lets the client run until a model that plays `calls` is done. `decide` answers the questions
    /// that the client asks the person.
    pub(crate) fn run_with_person(
        self,
        calls: Vec<Call>,
        decide: &dyn Fn(&Value) -> Value,
    ) -> Result<(Session, Vec<Value>), String> {
        let world = self.wired()?;
        let start = |error: io::Error| format!("cannot start the session: {error}");
        let model = MockModel::start(calls.into()).map_err(start)?;
        let mut client = world.client(&model.url()).map_err(start)?;
        client.args(["--input-format", "stream-json", "--permission-prompt-tool", "stdio"]);
        let asked = answer_questions(client, decide);
        let session = Session::new(world.folder, model);
        match asked {
            Ok(asked) => Ok((session, asked)),
            Err(why) => Err(session.fault(&why)),
        }
    }

    fn wired(self) -> Result<Self, String> {
        const SETTINGS: &str = "home/.claude/settings.json";
        if !self.init {
            let permissions = json!({ "permissions": self.permissions });
            let settings = self.hook.as_ref().map(|hook| hook.settings(&self.permissions));
            return self.file(SETTINGS, &settings.unwrap_or(permissions).to_string());
        }
        let settings = json!({ "permissions": self.permissions }).to_string();
        let world = self.file(SETTINGS, &settings)?;
        let mut init = Command::new(world.openoxide());
        init.args(["init", "claude"]).stdin(Stdio::null()).env_clear();
        init.args(world.wait);
        init.args(world.preset.iter().flat_map(|preset| ["--preset", preset]));
        init.env("HOME", world.path("home")).env("XDG_CONFIG_HOME", world.path("config"));
        succeed(&mut init)?;
        world.break_wiring(SETTINGS)
    }

    fn break_wiring(self, settings: &str) -> Result<Self, String> {
        let Some(broken) = self.broken else { return Ok(self) };
        let failed = |error: &dyn std::fmt::Display| format!("cannot break {settings}: {error}");
        let text = fs::read_to_string(self.path(settings)).map_err(|error| failed(&error))?;
        let (program, other) = (self.openoxide().display().to_string(), self.path("openoxide"));
        let text = text.replace(&program, &other.display().to_string());
        let mut text: Value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
        if let Some(permissions) = text.get_mut("permissions") {
            *permissions = self.permissions.clone();
        }
        let world = self.file(settings, &text.to_string())?;
        let Broken::Script(script) = broken else { return Ok(world) };
        let world = world.file("openoxide", &format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(&other, fs::Permissions::from_mode(0o755))
            .map_err(|error| failed(&error))?;
        Ok(world)
    }

    /// Without this the client ignores what the project's own settings allow.
    fn trust_project(&self) -> Result<(), String> {
        let project = self.path("project");
        let mut git = Command::new("git");
        git.args(["init", "--quiet"]).arg(&project).stdin(Stdio::null());
        git.env_clear().env("PATH", PATH).env("HOME", self.path("home"));
        succeed(&mut git)?;
        let trusted = json!({ "hasTrustDialogAccepted": true });
        let projects = json!({ project.display().to_string(): trusted });
        let state = json!({ "hasCompletedOnboarding": true, "projects": projects });
        fs::write(self.path("home/.claude.json"), state.to_string())
            .map_err(|error| format!("cannot write the client's state: {error}"))
    }

    /// Returns the client, set up to contact only the model at `url`.
    fn client(&self, url: &str) -> io::Result<Command> {
        let mut client = Command::new(&self.agent.claude);
        client.args(["--print", "--output-format", "stream-json", "--verbose"]);
        client.args(["--model", "claude-sonnet-4-5"]);
        client.args(self.mode.iter().flat_map(|mode| ["--permission-mode", mode]));
        client.current_dir(self.path("project")).env_clear();
        for (name, folder) in [("HOME", "home"), ("XDG_CONFIG_HOME", "config"), ("TMPDIR", "tmp")] {
            client.env(name, self.path(folder));
        }
        client.envs([
            ("PATH", PATH),
            ("SHELL", "/bin/bash"),
            ("LANG", "C.UTF-8"),
            ("TERM", "dumb"),
            ("USER", "tester"),
            ("ANTHROPIC_BASE_URL", url),
            ("ANTHROPIC_API_KEY", "dummy"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            // There is no network; npm would try again for minutes.
            ("npm_config_fetch_retries", "0"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
        ]);
        // The output goes to files. A grandchild that keeps a pipe open would block the test.
        client.stdin(Stdio::null());
        client.stdout(File::create(self.path("stdout"))?);
        client.stderr(File::create(self.path("stderr"))?);
        client.process_group(0);
        Ok(client)
    }
}

fn make_folder(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|error| format!("cannot make {}: {error}", path.display()))
}

/// Waits for the client; past the limit it is killed with everything in its process group.
fn wait(mut client: Child, limit: Duration) -> Result<(), String> {
    let deadline = Instant::now() + limit;
    let unknown = |error| format!("cannot wait for the client: {error}");
    while client.try_wait().map_err(unknown)?.is_none() {
        if Instant::now() > deadline {
            let kill = format!("kill -s KILL -- -{}", client.id());
            succeed(Command::new("sh").args(["-c", &kill]))?;
            client.wait().map_err(unknown)?;
            return Err(format!("the client did not end within {} s", limit.as_secs()));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap()
    }

    #[test]
    fn a_client_that_hangs_is_killed_with_its_children() {
        let start = Instant::now();
        let why = wait(shell("sleep 60; true"), Duration::from_millis(50)).unwrap_err();
        assert!(why.contains("did not end"), "{why}");
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_client_that_ends_is_waited_for() {
        assert_eq!(wait(shell("exit 3"), LIMIT), Ok(()));
    }
}
