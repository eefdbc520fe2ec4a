//! Persistent grants: rules that a person granted for a project.
//!
//! They are stored in the project, in `.openoxide/approvals.toml`, where a person can read and edit
//! them. A cloned repository must not bring its own grants. Each entry therefore carries a MAC
//! (HMAC-SHA-256) under a key of this user and machine. It covers the project's path, the identity
//! of that directory and the whole entry. A new directory at an old path has none of the old
//! grants. An entry without a valid MAC grants nothing. A revoked entry grants nothing either, even
//! if it is added again.

mod grant_entry;
mod grant_usage;

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use grant_entry::{EXPIRED_REASON, OTHER_TASK_REASON, ProjectDirectory, USED_UP_REASON};
pub use grant_entry::{GrantEntry, GrantLimits};
use grant_usage::{GrantState, GrantUsage};
use openoxide_permission::{
    CombiningAlgorithm, Layer, LayerKind, PathAnchors, Rule, SubjectKind, parse_rule,
};
use openoxide_protocol::{AbsPath, Effect};
use toml_edit::{ArrayOfTables, Document, DocumentMut, Item, Table};

use crate::{
    audit::UtcTimestamp,
    file_access::{metadata_if_present, read_text},
    file_lock::{FileLock, FileLockError},
    grant_key::{self, GrantKeyError},
    line_numbers::LineNumbers,
    user_environment::UserEnvironment,
    worktree::find_main_checkout,
};

const MAX_FILE_BYTES: u64 = 4 << 20;

/// An error while reading or changing grants.
#[derive(Debug, thiserror::Error)]
pub enum GrantFileError {
    /// There is no state directory for the key.
    #[error("no state directory: set HOME or XDG_STATE_HOME")]
    NoStateDirectory,
    /// The key cannot be used.
    #[error("{0}")]
    Key(#[from] GrantKeyError),
    /// The file has invalid content. It was not changed.
    #[error("{path}: {what}")]
    InvalidFile {
        /// The path of the file.
        path: String,
        /// The problem, with the line.
        what: String,
    },
    /// The lock could not be acquired.
    #[error("{0}")]
    Locked(#[from] FileLockError),
    /// The operating system reported an error.
    #[error("{path}: {error}")]
    Io {
        /// The path that was read or written.
        path: String,
        /// The error of the operating system.
        #[source]
        error: io::Error,
    },
}

/// The grants of one project.
#[derive(Clone, Debug)]
pub struct GrantFile {
    project: AbsPath,
    state: Option<PathBuf>,
    task: Option<String>,
}

impl GrantFile {
    /// Returns the grants of a project for this user. A linked worktree has the grants of its main
    /// checkout.
    #[must_use]
    pub fn for_project(environment: &UserEnvironment, project: &AbsPath) -> Self {
        let state = environment.state.as_ref().map(|state| state.join("openoxide"));
        let project = find_main_checkout(project).unwrap_or_else(|| project.clone());
        Self { project, state, task: environment.task.clone() }
    }

    /// Returns the current task. Grants that are limited to another task do not apply.
    #[must_use]
    pub fn current_task(&self) -> Option<&str> {
        self.task.as_deref()
    }

    /// Returns the project, or its main checkout if it is a linked worktree.
    #[must_use]
    pub const fn project(&self) -> &AbsPath {
        &self.project
    }

    /// Returns the path of the grant file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new(self.project.as_str()).join(".openoxide").join("approvals.toml")
    }

    /// Returns the identity of the project's directory. It differs from that of a later directory
    /// at the same path.
    pub(crate) fn directory_identity(&self) -> String {
        ProjectDirectory::from_path(&self.project).identity
    }

    /// Returns the path of the key.
    pub(crate) fn key_path(&self) -> Option<PathBuf> {
        Some(self.state.as_ref()?.join("key"))
    }

    /// Returns all entries, including those that grant nothing. Returns no entries if there is no
    /// file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not valid TOML.
    pub fn read_entries(&self) -> Result<Vec<GrantEntry>, GrantFileError> {
        let text = self.read_file()?;
        // A mutable document does not contain positions, so an immutable one is parsed.
        let document = Document::parse(text.as_str())
            .map_err(|error| self.invalid_file_error(error.to_string().trim_end()))?;
        let key = self.read_key().ok();
        let tables = document.get("grant").and_then(Item::as_array_of_tables);
        let directory = ProjectDirectory::from_path(&self.project);
        let key = key.as_deref().map(|key| (key, &directory));
        let lines = LineNumbers::new(&text);
        let entry = |table: &Table| self.parse_entry(table, &lines, key);
        Ok(tables.into_iter().flat_map(ArrayOfTables::iter).map(entry).collect())
    }

    /// Returns the layer of the valid grants, the limited grants among them, and notes for the user
    /// about the others.
    pub(crate) fn load_layer(&self, home: Option<&AbsPath>) -> GrantLayer {
        let name = self.path().to_string_lossy().into_owned();
        let layer = Layer {
            kind: LayerKind::Local,
            file: Some(name.clone()),
            combining_algorithm: CombiningAlgorithm::Strictest,
            rules: Vec::new(),
            mode: None,
        };
        let mut granted =
            GrantLayer { layer, limited: Vec::new(), notes: Vec::new(), other_tasks: Vec::new() };
        if let Err(error @ (GrantKeyError::ExposedDirectory(_) | GrantKeyError::Damaged(_))) =
            self.check_key()
        {
            granted.notes.push(error.to_string());
        }
        match self.read_entries() {
            Ok(entries) => {
                for entry in entries {
                    let rule = parse_command_rule(&entry.rule, home, &self.project);
                    granted.add_entry(&name, entry, rule);
                }
            }
            Err(error) => granted.notes.push(format!("{error}: it grants nothing")),
        }
        granted
    }

    /// Adds rules without limits.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::add_limited`].
    pub fn add(&self, rules: &[String]) -> Result<(), GrantFileError> {
        self.add_limited(rules, &GrantLimits::default())
    }

    /// Returns whether a rule can be a grant: it is valid, and about commands.
    #[must_use]
    pub fn accepts_rule(&self, rule: &str) -> bool {
        parse_command_rule(rule, None, &self.project).is_some()
    }

    /// Adds rules. Rules that are already granted without limits, and rules that are not about
    /// commands, are skipped.
    ///
    /// # Errors
    /// Returns an error if the file or the key cannot be read or written. Nothing is changed then.
    pub fn add_limited(&self, rules: &[String], bound: &GrantLimits) -> Result<(), GrantFileError> {
        let _lock = self.acquire_lock()?;
        let key = self.read_or_create_key()?;
        let directory = ProjectDirectory::from_path(&self.project);
        let known = self.read_entries()?;
        let mut document = self.parse_document(&self.read_file()?)?;
        let tables =
            document.entry("grant").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        let Some(tables) = tables.as_array_of_tables_mut() else {
            return Err(self.invalid_file_error("expected `grant` to be an array of tables"));
        };
        let is_known = |rule: &String| {
            known.iter().any(|entry| {
                entry.rule == *rule && entry.ignored_reason.is_none() && !entry.limits.has_limits()
            })
        };
        for rule in rules {
            if !is_known(rule) && self.accepts_rule(rule) {
                let (rule, bound) = (rule.clone(), bound.clone());
                let id = grant_key::generate_id().map_err(|error| io_error(&self.path(), error))?;
                let entry = GrantEntry { id, rule, limits: bound, line: 0, ignored_reason: None };
                tables.push(entry.to_table(&key, &directory));
            }
        }
        self.write_file(&document)
    }

    /// Records one use of a grant with a use limit. Returns whether the grant could be used.
    ///
    /// # Errors
    /// Returns an error if the use cannot be written. The grant is not valid for this use then.
    pub fn consume_use(&self, entry: &GrantEntry) -> Result<bool, GrantFileError> {
        let Some(times) = entry.limits.max_uses else { return Ok(true) };
        let _lock = self.acquire_lock()?;
        let directory = self.usage_directory()?;
        match GrantUsage(&directory).read_state(&entry.id) {
            GrantState::Used(used) if used < times => {
                let counted = GrantUsage(&directory).write_count(&entry.id, used + 1);
                counted.map_err(|error| io_error(&directory, error)).map(|()| true)
            }
            GrantState::Used(_) | GrantState::Revoked => Ok(false),
        }
    }

    /// Removes the entries for which `which` returns true, and returns their number.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written. Nothing is changed then.
    pub fn remove(
        &self,
        which: impl Fn(usize, &GrantEntry) -> bool,
    ) -> Result<usize, GrantFileError> {
        let _lock = self.acquire_lock()?;
        let entries = self.read_entries()?;
        let mut document = self.parse_document(&self.read_file()?)?;
        let Some(tables) = document.get_mut("grant").and_then(Item::as_array_of_tables_mut) else {
            return Ok(0);
        };
        let gone = |(at, entry): &(usize, &GrantEntry)| which(*at, entry);
        let mut gone: Vec<usize> =
            entries.iter().enumerate().filter(gone).map(|(at, _)| at).collect();
        let count = gone.len();
        let directory = self.usage_directory()?;
        while let Some(at) = gone.pop() {
            // The grant is revoked before its entry is removed, so it is invalid even after a crash
            // between the two steps. Inactive entries are not revoked, because a forged entry could
            // have the id of a valid grant.
            if let Some(entry) = entries.get(at).filter(|entry| entry.is_active_in_any_task()) {
                let revoked = GrantUsage(&directory).revoke(&entry.id);
                revoked.map_err(|error| self::io_error(&directory, error))?;
            }
            tables.remove(at);
        }
        if count > 0 {
            self.write_file(&document)?;
        }
        Ok(count)
    }

    fn parse_entry(
        &self,
        table: &Table,
        lines: &LineNumbers,
        key: Option<(&[u8], &ProjectDirectory)>,
    ) -> GrantEntry {
        let at = table.span().map_or(0, |span| span.start);
        let (mut entry, mac) = GrantEntry::from_table(table, lines.line_at(at));
        let ours = key.is_some_and(|(key, directory)| entry.has_valid_mac(key, directory, &mac));
        let not_ours = "invalid signature: not created by you on this machine for this directory";
        entry.ignored_reason = entry
            .ignored_reason
            .or((!ours).then_some(not_ours))
            .or_else(|| self.end_reason(&entry));
        entry
    }

    /// Returns whether a grant that was valid when it was loaded is still valid.
    pub(crate) fn is_in_force(&self, entry: &GrantEntry) -> bool {
        self.end_reason(entry).is_none()
    }

    /// Returns the reason why a grant is no longer valid. Returns `None` if it is valid.
    fn end_reason(&self, entry: &GrantEntry) -> Option<&'static str> {
        let fate = self
            .usage_directory()
            .map_or(GrantState::Revoked, |path| GrantUsage(&path).read_state(&entry.id));
        match (fate, entry.limits.max_uses) {
            (GrantState::Revoked, _) => Some("revoked"),
            (GrantState::Used(used), Some(times)) if used >= times => Some(USED_UP_REASON),
            _ if entry.limits.expires_at.is_some_and(|until| until <= UtcTimestamp::now()) => {
                Some(EXPIRED_REASON)
            }
            _ if entry.limits.granted_at.is_some_and(|since| since > UtcTimestamp::now()) => {
                Some("the clock moved backwards since the grant")
            }
            _ if entry.limits.task.is_some() && entry.limits.task != self.task => {
                Some(OTHER_TASK_REASON)
            }
            _ => None,
        }
    }

    /// Returns the directory of the states of grants.
    pub(crate) fn usage_directory(&self) -> Result<PathBuf, GrantFileError> {
        Ok(self.state.as_ref().ok_or(GrantFileError::NoStateDirectory)?.join("grants"))
    }

    fn read_file(&self) -> Result<String, GrantFileError> {
        let path = self.path();
        if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(String::new());
        }
        read_text(&path, MAX_FILE_BYTES)
            .map_err(|error| self.invalid_file_error(&error.to_string()))
    }

    fn parse_document(&self, text: &str) -> Result<DocumentMut, GrantFileError> {
        text.parse::<DocumentMut>()
            .map_err(|error| self.invalid_file_error(error.to_string().trim_end()))
    }

    fn invalid_file_error(&self, what: &str) -> GrantFileError {
        GrantFileError::InvalidFile {
            path: self.path().to_string_lossy().into_owned(),
            what: what.to_owned(),
        }
    }

    /// Replaces the file atomically.
    fn write_file(&self, document: &DocumentMut) -> Result<(), GrantFileError> {
        let path = self.path();
        let failed = |error| io_error(&path, error);
        let Some(directory) = path.parent() else {
            return Err(self.invalid_file_error("it has no directory"));
        };
        if fs::symlink_metadata(directory).is_ok_and(|meta| meta.is_symlink()) {
            return Err(self.invalid_file_error("`.openoxide` is a link"));
        }
        fs::create_dir_all(directory).map_err(failed)?;
        let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
        file.write_all(document.to_string().as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    fn acquire_lock(&self) -> Result<FileLock, GrantFileError> {
        Ok(FileLock::acquire(
            self.state.as_deref().ok_or(GrantFileError::NoStateDirectory)?,
            "grants.lock",
        )?)
    }

    fn read_key(&self) -> Result<Vec<u8>, GrantFileError> {
        Ok(grant_key::read_key(&self.key_path().ok_or(GrantFileError::NoStateDirectory)?)?)
    }

    /// Checks the key if the project has grants.
    fn check_key(&self) -> Result<(), GrantKeyError> {
        match (self.key_path(), metadata_if_present(&self.path())) {
            (Some(key), Ok(Some(_))) => grant_key::read_key(&key).map(drop),
            _ => Ok(()),
        }
    }

    fn read_or_create_key(&self) -> Result<Vec<u8>, GrantFileError> {
        Ok(grant_key::read_or_create_key(
            &self.key_path().ok_or(GrantFileError::NoStateDirectory)?,
        )?)
    }
}

/// The end of the path of a file with grants.
pub const GRANT_FILE_ENDING: &str = "/.openoxide/approvals.toml";

/// Returns whether this is the layer of the grants.
pub(crate) fn is_grant_layer(layer: &Layer) -> bool {
    layer.kind == LayerKind::Local
        && layer.file.as_deref().is_some_and(|file| file.ends_with(GRANT_FILE_ENDING))
}

/// The layer of the grants, with additional information about them.
#[derive(Debug)]
pub(crate) struct GrantLayer {
    /// The rules.
    pub(crate) layer: Layer,
    /// The limited grants among them.
    pub(crate) limited: Vec<GrantEntry>,
    /// Notes for the user about grants that are not valid.
    pub(crate) notes: Vec<String>,
    /// The tasks other than this one in which grants are valid.
    pub(crate) other_tasks: Vec<String>,
}

impl GrantLayer {
    fn add_entry(&mut self, name: &str, entry: GrantEntry, rule: Option<Rule>) {
        let Some(rule) = rule.filter(|_| entry.ignored_reason.is_none()) else {
            let why = entry.ignored_reason.unwrap_or("not a rule about commands");
            if why == OTHER_TASK_REASON {
                // Not a problem to report: the grant was made for the other task.
                self.other_tasks.extend(entry.limits.task);
                return;
            }
            let GrantEntry { line, rule, .. } = entry;
            self.notes.push(format!("{name}:{line}: `{rule}` grants nothing: {why}"));
            return;
        };
        self.layer.rules.push(Rule { line: entry.line, ..rule });
        if entry.limits.has_limits() {
            self.limited.push(entry);
        }
    }
}

fn io_error(path: &Path, error: io::Error) -> GrantFileError {
    GrantFileError::Io { path: path.to_string_lossy().into_owned(), error }
}

/// Parses a rule. Returns `None` unless it is about commands.
fn parse_command_rule(text: &str, home: Option<&AbsPath>, base: &AbsPath) -> Option<Rule> {
    let rule = parse_rule(text, Effect::Allow, PathAnchors { home, base }).ok()?;
    rule.patterns.iter().all(|pattern| pattern.kind == SubjectKind::Exec).then_some(rule)
}

#[cfg(test)]
mod tests;
