//! The environment of the real program: a separate home and work directory, and no network except
//! the scripted model.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{client::Client, model::Model};

/// The name of the work directory in cases. It is the same on each machine.
pub(super) const WORK: &str = "/ws";

/// An address without a server. As the proxy it keeps Codex from contacting its vendor.
const NOWHERE: &str = "http://127.0.0.1:9";

/// The file in which Codex writes amendments.
const AMENDED: &str = "default.rules";

/// Directories, and a server that runs in them.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) client: Client,
    root: TempDir,
}

impl Stage {
    /// Starts `binary` on a new stage. The stage is not in the directory for temporary files,
    /// because Codex refuses that.
    pub(super) fn new(binary: &Path, model: &Model) -> Result<Self, String> {
        Self::prepared(binary, model, |_| Ok(()))
    }

    /// Prepares the stage, and starts `binary`.
    pub(super) fn prepared(
        binary: &Path,
        model: &Model,
        prepare: impl FnOnce(&Path) -> Result<(), String>,
    ) -> Result<Self, String> {
        let root = folder().map_err(|error| format!("no place for a stage: {error}"))?;
        furnish(root.path(), &model.url()).map_err(|error| error.to_string())?;
        prepare(root.path())?;
        let client = Client::start(server(binary, root.path()))?;
        Ok(Self { client, root })
    }

    /// Starts a thread under these rule files.
    pub(super) fn thread(
        &mut self,
        policy: &Value,
        sandbox: &str,
        files: &[String],
    ) -> Result<String, String> {
        let names = (0..files.len()).map(|number| format!("{number}.rules"));
        self.rules(names.zip(files)).map_err(|error| error.to_string())?;
        self.begin(policy, sandbox)
    }

    /// Starts a thread that asks about everything, with this file for amendments.
    pub(super) fn amendable(&mut self, start: Option<&String>) -> Result<String, String> {
        let files = start.map(|text| (AMENDED.to_owned(), text));
        self.rules(files).map_err(|error| error.to_string())?;
        self.begin(&json!("untrusted"), "danger-full-access")
    }

    /// Returns Codex's list of its hooks.
    pub(super) fn hooks(&mut self) -> Result<Value, String> {
        let places = json!({ "cwds": [self.work()] });
        self.client.call("hooks/list", &places)
    }

    /// Returns the content of the file for amendments, if it exists.
    pub(super) fn amended(&self) -> Option<String> {
        fs::read_to_string(self.folder().join(AMENDED)).ok()
    }

    /// Returns whether the work directory has a file.
    pub(super) fn has_file(&self, name: &str) -> bool {
        self.root.path().join("work").join(name).exists()
    }

    /// Replaces the paths of a case by the paths of this stage.
    pub(super) fn there(&self, text: &str) -> String {
        text.replace(WORK, &self.work())
    }

    /// Replaces the paths of this stage in Codex's text by the paths of a case.
    pub(super) fn here(&self, text: &str) -> String {
        let root = format!("{}/", self.root.path().display());
        text.replace(&self.work(), WORK).replace(&root, "/")
    }

    fn begin(&mut self, policy: &Value, sandbox: &str) -> Result<String, String> {
        let settings = json!({ "cwd": self.work(), "approvalPolicy": policy, "sandbox": sandbox });
        self.client.thread(&settings)
    }

    fn rules<'a>(&self, files: impl IntoIterator<Item = (String, &'a String)>) -> io::Result<()> {
        fs::remove_dir_all(self.folder()).ok();
        fs::create_dir(self.folder())?;
        let mut files = files.into_iter();
        files.try_for_each(|(name, text)| fs::write(self.folder().join(name), self.there(text)))
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("codex/rules")
    }

    fn work(&self) -> String {
        self.root.path().join("work").to_string_lossy().into_owned()
    }
}

/// Creates a directory next to this program.
pub(super) fn folder() -> io::Result<TempDir> {
    let program = env::current_exe()?;
    let near = program.parent().unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix("codex-session-").tempdir_in(near)
}

/// Makes the work directory look like a project, so that no directory above it is used as the
/// project.
fn furnish(root: &Path, url: &str) -> io::Result<()> {
    for name in ["home", "codex", "work/.git", "work/sub"] {
        fs::create_dir_all(root.join(name))?;
    }
    let config = format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n\n[model_providers.scripted]\n\
         name = \"scripted\"\nbase_url = \"{url}\"\nwire_api = \"responses\"\n\
         requires_openai_auth = false\nrequest_max_retries = 0\nstream_max_retries = 0\n\
         supports_websockets = false\n"
    );
    fs::write(root.join("codex/config.toml"), config)
}

fn server(binary: &Path, root: &Path) -> Command {
    let mut command = Command::new(binary);
    command.arg("app-server").current_dir(root.join("work")).env_clear();
    command.env("HOME", root.join("home")).env("CODEX_HOME", root.join("codex"));
    command.env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/bash").env("NO_PROXY", "127.0.0.1");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env(name, NOWHERE);
    }
    command
}
