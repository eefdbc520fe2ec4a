//! Grants that last: rules that a person granted for a project (DECISIONS 5).
//!
//! They lie in the project, where a person can read and edit them, in `.openoxide/approvals.toml`. A cloned repository must not
//! bring its own: each entry carries a MAC (HMAC-SHA-256) under a key of this user and machine, over the project's path and the rule.
//! An entry without a valid one grants nothing.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use hmac::{Hmac, KeyInit as _, Mac as _};
use openoxide_permission::{Anchors, Combining, Layer, LayerKind, Rule, Space, parse};
use openoxide_protocol::{AbsPath, Effect};
use sha2::Sha256;
use toml_edit::{ArrayOfTables, Document, DocumentMut, Item, Table, value};

use crate::{
    file::read_text,
    key::{self, KeyError},
    locations::Environment,
};

const LONGEST: u64 = 4 << 20;
/// A lock that is held longer is held by something that hangs.
const PATIENCE: Duration = Duration::from_secs(5);
/// Comes first in what is authenticated: other uses of the key, and later forms of an entry, are told apart by it.
const PURPOSE: &str = "openoxide grant 1";

/// Why grants could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// There is no place for the key.
    #[error("there is no directory for state: set HOME or XDG_STATE_HOME")]
    NoState,
    /// The key cannot be used.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// The file is not what it should be; it was left as it is.
    #[error("{path}: {what}")]
    Wrong {
        /// Where it lies.
        path: String,
        /// What is wrong, with the line.
        what: String,
    },
    /// Somebody holds the lock and does not let go.
    #[error("{}: another process holds it for too long", .0.display())]
    Locked(PathBuf),
    /// The system refused.
    #[error("{path}: {error}")]
    Io {
        /// What was read or written.
        path: String,
        /// Why not.
        #[source]
        error: io::Error,
    },
}

/// One entry of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The rule, as it was granted.
    pub rule: String,
    /// The line that it stands on, from 1.
    pub line: u32,
    /// Why it grants nothing, if it does not.
    pub ignored: Option<&'static str>,
}

/// The grants of one project.
#[derive(Clone, Debug)]
pub struct GrantFile {
    project: AbsPath,
    state: Option<PathBuf>,
}

impl GrantFile {
    /// Returns the grants of a project for this user.
    #[must_use]
    pub fn of(environment: &Environment, project: &AbsPath) -> Self {
        let state = environment.state.as_ref().map(|state| state.join("openoxide"));
        Self { project: project.clone(), state }
    }

    /// Returns the project.
    #[must_use]
    pub const fn project(&self) -> &AbsPath {
        &self.project
    }

    /// Returns where the grants lie.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new(self.project.as_str()).join(".openoxide").join("approvals.toml")
    }

    /// Returns where the key lies.
    pub(crate) fn key_path(&self) -> Option<PathBuf> {
        Some(self.state.as_ref()?.join("key"))
    }

    /// Returns the entries, those that grant nothing too; none where there is no file.
    ///
    /// # Errors
    /// When the file cannot be read, or is no TOML.
    pub fn entries(&self) -> Result<Vec<Entry>, GrantError> {
        let text = self.text()?;
        // What can be changed has no places any more.
        let document = Document::parse(text.as_str())
            .map_err(|error| self.wrong(error.to_string().trim_end()))?;
        let key = self.key().ok();
        let tables = document.get("grant").and_then(Item::as_array_of_tables);
        let entry = |table: &Table| self.entry(table, &text, key.as_deref());
        Ok(tables.into_iter().flat_map(ArrayOfTables::iter).map(entry).collect())
    }

    /// Returns the layer of the rules that are granted, and what a person should know of the others.
    pub(crate) fn layer(&self, home: Option<&AbsPath>) -> (Layer, Vec<String>) {
        let (mut rules, mut notes) = (Vec::new(), Vec::new());
        let name = self.path().to_string_lossy().into_owned();
        match self.entries() {
            Ok(entries) => {
                for entry in entries {
                    match (entry.ignored, exec_rule(&entry.rule, home, &self.project)) {
                        (None, Some(rule)) => rules.push(Rule { line: entry.line, ..rule }),
                        (why, _) => {
                            let why = why.unwrap_or("it is no rule about commands");
                            notes.push(format!(
                                "{name}:{}: `{}` grants nothing: {why}",
                                entry.line, entry.rule
                            ));
                        }
                    }
                }
            }
            Err(error) => notes.push(format!("{error}: it grants nothing")),
        }
        let (kind, combining) = (LayerKind::Local, Combining::Strictest);
        (Layer { kind, file: Some(name), combining, rules, mode: None }, notes)
    }

    /// Adds rules. Those that are granted already, and those that are not about commands, are left out.
    ///
    /// # Errors
    /// When the file or the key cannot be read or written; then nothing was changed.
    pub fn add(&self, rules: &[String]) -> Result<(), GrantError> {
        let _lock = self.lock()?;
        let key = self.made_key()?;
        let known = self.entries()?;
        let mut document = self.document(&self.text()?)?;
        let tables =
            document.entry("grant").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        let Some(tables) = tables.as_array_of_tables_mut() else {
            return Err(self.wrong("`grant` is no list of tables"));
        };
        for rule in rules {
            let granted = known.iter().any(|entry| entry.rule == *rule && entry.ignored.is_none());
            if !granted && exec_rule(rule, None, &self.project).is_some() {
                let mut table = Table::new();
                table.insert("rule", value(rule));
                table.insert("mac", value(self.mac(&key, rule)));
                tables.push(table);
            }
        }
        self.write(&document)
    }

    /// Removes the entries that `which` says yes to, and returns how many these were.
    ///
    /// # Errors
    /// When the file cannot be read or written; then nothing was changed.
    pub fn remove(&self, which: impl Fn(usize, &Entry) -> bool) -> Result<usize, GrantError> {
        let _lock = self.lock()?;
        let entries = self.entries()?;
        let mut document = self.document(&self.text()?)?;
        let Some(tables) = document.get_mut("grant").and_then(Item::as_array_of_tables_mut) else {
            return Ok(0);
        };
        let gone = |(at, entry): &(usize, &Entry)| which(*at, entry);
        let mut gone: Vec<usize> =
            entries.iter().enumerate().filter(gone).map(|(at, _)| at).collect();
        let count = gone.len();
        while let Some(at) = gone.pop() {
            tables.remove(at);
        }
        if count > 0 {
            self.write(&document)?;
        }
        Ok(count)
    }

    fn entry(&self, table: &Table, text: &str, key: Option<&[u8]>) -> Entry {
        let field = |name: &str| table.get(name).and_then(Item::as_str).unwrap_or_default();
        let at = table.span().map_or(0, |span| span.start);
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let valid = key.is_some_and(|key| self.is_ours(key, field("rule"), field("mac")));
        Entry {
            rule: field("rule").to_owned(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            ignored: (!valid)
                .then_some("you did not grant it, on this machine and for this directory"),
        }
    }

    fn text(&self) -> Result<String, GrantError> {
        let path = self.path();
        if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(String::new());
        }
        read_text(&path, LONGEST).map_err(|error| self.wrong(&error.to_string()))
    }

    fn document(&self, text: &str) -> Result<DocumentMut, GrantError> {
        text.parse::<DocumentMut>().map_err(|error| self.wrong(error.to_string().trim_end()))
    }

    fn wrong(&self, what: &str) -> GrantError {
        GrantError::Wrong {
            path: self.path().to_string_lossy().into_owned(),
            what: what.to_owned(),
        }
    }

    /// Puts a new file in the place of the old one, at once or not at all.
    fn write(&self, document: &DocumentMut) -> Result<(), GrantError> {
        let path = self.path();
        let failed = |error| at(&path, error);
        let Some(directory) = path.parent() else { return Err(self.wrong("it has no directory")) };
        if fs::symlink_metadata(directory).is_ok_and(|meta| meta.is_symlink()) {
            return Err(self.wrong("`.openoxide` is a link"));
        }
        fs::create_dir_all(directory).map_err(failed)?;
        let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
        file.write_all(document.to_string().as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Waits for its turn. The lock ends with the file that is returned.
    fn lock(&self) -> Result<File, GrantError> {
        let state = self.made_state()?;
        let path = state.join("grants.lock");
        let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(|error| at(&path, error))?;
        let since = Instant::now();
        while let Err(error) = file.try_lock() {
            match error {
                fs::TryLockError::WouldBlock if since.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                fs::TryLockError::WouldBlock => return Err(GrantError::Locked(path)),
                fs::TryLockError::Error(error) => return Err(at(&path, error)),
            }
        }
        Ok(file)
    }

    fn made_state(&self) -> Result<&Path, GrantError> {
        let state = self.state.as_deref().ok_or(GrantError::NoState)?;
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(state);
        made.map_err(|error| at(state, error))?;
        Ok(state)
    }

    fn key(&self) -> Result<Vec<u8>, GrantError> {
        Ok(key::read(&self.key_path().ok_or(GrantError::NoState)?)?)
    }

    fn made_key(&self) -> Result<Vec<u8>, GrantError> {
        Ok(key::make(&self.key_path().ok_or(GrantError::NoState)?)?)
    }

    fn authenticated(&self, key: &[u8], rule: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        for part in [PURPOSE, self.project.as_str(), rule] {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac)
    }

    fn mac(&self, key: &[u8], rule: &str) -> String {
        let bytes = self.authenticated(key, rule).map(|mac| mac.finalize().into_bytes());
        bytes.into_iter().flatten().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Compares in constant time.
    fn is_ours(&self, key: &[u8], rule: &str, mac: &str) -> bool {
        let pairs = mac.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
        let bytes: Option<Vec<u8>> = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect();
        let (Some(bytes), Some(ours)) = (bytes, self.authenticated(key, rule)) else {
            return false;
        };
        ours.verify_slice(&bytes).is_ok()
    }
}

fn at(path: &Path, error: io::Error) -> GrantError {
    GrantError::Io { path: path.to_string_lossy().into_owned(), error }
}

/// Returns the rule of a text, if it is about commands.
fn exec_rule(text: &str, home: Option<&AbsPath>, base: &AbsPath) -> Option<Rule> {
    let rule = parse(text, Effect::Allow, Anchors { home, base }).ok()?;
    rule.patterns.iter().all(|pattern| pattern.space == Space::Exec).then_some(rule)
}

#[cfg(test)]
mod tests;
