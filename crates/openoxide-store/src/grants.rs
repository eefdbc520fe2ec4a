//! Grants that last: rules that a person granted for a project (DECISIONS 5).
//!
//! They lie in the project, where a person can read and edit them, in `.openoxide/approvals.toml`. A cloned repository must not
//! bring its own: each entry carries a MAC (HMAC-SHA-256) under a key of this user and machine, over the project's path, the
//! identity of that directory and all that it says. A new directory at an old path has none of the old grants. An entry without a valid one grants nothing, and so does one that was withdrawn: who puts it there again grants nothing.

mod entry;
mod spent;

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

pub use entry::{Bound, Entry};
use entry::{ELSEWHERE, ProjectDirectory};
use openoxide_permission::{Anchors, Combining, Layer, LayerKind, Rule, Space, parse};
use openoxide_protocol::{AbsPath, Effect};
use spent::{Fate, Spent};
use toml_edit::{ArrayOfTables, Document, DocumentMut, Item, Table};

use crate::{
    audit::Moment,
    file::{metadata_if_present, read_text},
    key::{self, KeyError},
    line_numbers::LineNumbers,
    locations::Environment,
    lock::{Lock, LockError},
    worktree::main_checkout,
};

const LONGEST: u64 = 4 << 20;

/// Why grants could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// There is no place for the key.
    #[error("no state directory: set HOME or XDG_STATE_HOME")]
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
    /// It is not our turn to change them.
    #[error("{0}")]
    Locked(#[from] LockError),
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

/// The grants of one project.
#[derive(Clone, Debug)]
pub struct GrantFile {
    project: AbsPath,
    state: Option<PathBuf>,
    task: Option<String>,
}

impl GrantFile {
    /// Returns the grants of a project for this user. A linked worktree has those of its main checkout.
    #[must_use]
    pub fn of(environment: &Environment, project: &AbsPath) -> Self {
        let state = environment.state.as_ref().map(|state| state.join("openoxide"));
        let project = main_checkout(project).unwrap_or_else(|| project.clone());
        Self { project, state, task: environment.task.clone() }
    }

    /// Returns the task in which its grants are looked at.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        self.task.as_deref()
    }

    /// Returns the project: the main checkout, where there are several.
    #[must_use]
    pub const fn project(&self) -> &AbsPath {
        &self.project
    }

    /// Returns where the grants lie.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new(self.project.as_str()).join(".openoxide").join("approvals.toml")
    }

    /// Returns what tells the project's directory from another one at the same path later.
    pub(crate) fn directory_identity(&self) -> String {
        ProjectDirectory::look(&self.project).identity
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
        let directory = ProjectDirectory::look(&self.project);
        let key = key.as_deref().map(|key| (key, &directory));
        let lines = LineNumbers::new(&text);
        let entry = |table: &Table| self.entry(table, &lines, key);
        Ok(tables.into_iter().flat_map(ArrayOfTables::iter).map(entry).collect())
    }

    /// Returns the layer of the rules that are granted, those of them that have bounds, and what a person should know of the others.
    pub(crate) fn layer(&self, home: Option<&AbsPath>) -> Granted {
        let name = self.path().to_string_lossy().into_owned();
        let layer = Layer {
            kind: LayerKind::Local,
            file: Some(name.clone()),
            combining: Combining::Strictest,
            rules: Vec::new(),
            mode: None,
        };
        let mut granted =
            Granted { layer, bounded: Vec::new(), notes: Vec::new(), elsewhere: Vec::new() };
        if let Err(error @ (KeyError::OpenDirectory(_) | KeyError::Damaged(_))) = self.key_state() {
            granted.notes.push(error.to_string());
        }
        match self.entries() {
            Ok(entries) => {
                for entry in entries {
                    let rule = exec_rule(&entry.rule, home, &self.project);
                    granted.add(&name, entry, rule);
                }
            }
            Err(error) => granted.notes.push(format!("{error}: it grants nothing")),
        }
        granted
    }

    /// Adds rules without bounds.
    ///
    /// # Errors
    /// As [`Self::add_bounded`].
    pub fn add(&self, rules: &[String]) -> Result<(), GrantError> {
        self.add_bounded(rules, &Bound::default())
    }

    /// Adds rules. Those that are granted already without bounds, and those that are not about commands, are left out.
    ///
    /// # Errors
    /// When the file or the key cannot be read or written; then nothing was changed.
    pub fn add_bounded(&self, rules: &[String], bound: &Bound) -> Result<(), GrantError> {
        let _lock = self.lock()?;
        let key = self.made_key()?;
        let directory = ProjectDirectory::look(&self.project);
        let known = self.entries()?;
        let mut document = self.document(&self.text()?)?;
        let tables =
            document.entry("grant").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        let Some(tables) = tables.as_array_of_tables_mut() else {
            return Err(self.wrong("expected `grant` to be an array of tables"));
        };
        let is_known = |rule: &String| {
            known.iter().any(|entry| {
                entry.rule == *rule && entry.ignored.is_none() && !entry.bound.is_some()
            })
        };
        for rule in rules {
            if !is_known(rule) && exec_rule(rule, None, &self.project).is_some() {
                let (rule, bound) = (rule.clone(), bound.clone());
                let id = key::random_name().map_err(|error| at(&self.path(), error))?;
                let entry = Entry { id, rule, bound, line: 0, ignored: None };
                tables.push(entry.write(&key, &directory));
            }
        }
        self.write(&document)
    }

    /// Counts one use of a grant that counts so many times. Says whether there was one left.
    ///
    /// # Errors
    /// When it cannot be written down; then it does not count.
    pub fn spend(&self, entry: &Entry) -> Result<bool, GrantError> {
        let Some(times) = entry.bound.times else { return Ok(true) };
        let _lock = self.lock()?;
        let directory = self.spent_directory()?;
        match Spent(&directory).fate(&entry.id) {
            Fate::Used(used) if used < times => {
                let counted = Spent(&directory).count(&entry.id, used + 1);
                counted.map_err(|error| at(&directory, error)).map(|()| true)
            }
            Fate::Used(_) | Fate::Gone => Ok(false),
        }
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
        let directory = self.spent_directory()?;
        while let Some(at) = gone.pop() {
            // First that it counts no more, then that it is not there any more: a crash between the two leaves no grant.
            // Somebody else's entry could bear the name of one of ours.
            if let Some(entry) = entries.get(at).filter(|entry| entry.is_alive()) {
                let revoked = Spent(&directory).revoke(&entry.id);
                revoked.map_err(|error| self::at(&directory, error))?;
            }
            tables.remove(at);
        }
        if count > 0 {
            self.write(&document)?;
        }
        Ok(count)
    }

    fn entry(
        &self,
        table: &Table,
        lines: &LineNumbers,
        key: Option<(&[u8], &ProjectDirectory)>,
    ) -> Entry {
        let at = table.span().map_or(0, |span| span.start);
        let (mut entry, mac) = Entry::read(table, lines.number(at));
        let ours = key.is_some_and(|(key, directory)| entry.is_ours(key, directory, &mac));
        let not_ours = "invalid signature: not created by you on this machine for this directory";
        entry.ignored = entry.ignored.or((!ours).then_some(not_ours)).or_else(|| self.over(&entry));
        entry
    }

    /// Returns whether a grant that was in force is so still.
    pub(crate) fn is_in_force(&self, entry: &Entry) -> bool {
        self.over(entry).is_none()
    }

    /// Says why a grant is over, if it is.
    fn over(&self, entry: &Entry) -> Option<&'static str> {
        let fate = self.spent_directory().map_or(Fate::Gone, |path| Spent(&path).fate(&entry.id));
        match (fate, entry.bound.times) {
            (Fate::Gone, _) => Some("revoked"),
            (Fate::Used(used), Some(times)) if used >= times => Some("use limit reached"),
            _ if entry.bound.until.is_some_and(|until| until <= Moment::now()) => Some("expired"),
            _ if entry.bound.since.is_some_and(|since| since > Moment::now()) => {
                Some("the clock moved backwards since the grant")
            }
            _ if entry.bound.task.is_some() && entry.bound.task != self.task => Some(ELSEWHERE),
            _ => None,
        }
    }

    /// Returns where it is written what became of grants.
    pub(crate) fn spent_directory(&self) -> Result<PathBuf, GrantError> {
        Ok(self.state.as_ref().ok_or(GrantError::NoState)?.join("grants"))
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

    fn lock(&self) -> Result<Lock, GrantError> {
        Ok(Lock::wait(self.state.as_deref().ok_or(GrantError::NoState)?, "grants.lock")?)
    }

    fn key(&self) -> Result<Vec<u8>, GrantError> {
        Ok(key::read(&self.key_path().ok_or(GrantError::NoState)?)?)
    }

    /// Checks the key of a project that has grants.
    fn key_state(&self) -> Result<(), KeyError> {
        match (self.key_path(), metadata_if_present(&self.path())) {
            (Some(key), Ok(Some(_))) => key::read(&key).map(drop),
            _ => Ok(()),
        }
    }

    fn made_key(&self) -> Result<Vec<u8>, GrantError> {
        Ok(key::make(&self.key_path().ok_or(GrantError::NoState)?)?)
    }
}

/// Says whether a layer is that of the grants.
pub(crate) fn is_layer(layer: &Layer) -> bool {
    layer.kind == LayerKind::Local
        && layer.file.as_deref().is_some_and(|file| file.ends_with("/.openoxide/approvals.toml"))
}

/// What is granted.
#[derive(Debug)]
pub(crate) struct Granted {
    /// The rules.
    pub(crate) layer: Layer,
    /// The entries among them that have bounds.
    pub(crate) bounded: Vec<Entry>,
    /// What a person should know of the others.
    pub(crate) notes: Vec<String>,
    /// The tasks other than this one in which grants are valid.
    pub(crate) elsewhere: Vec<String>,
}

impl Granted {
    fn add(&mut self, name: &str, entry: Entry, rule: Option<Rule>) {
        let Some(rule) = rule.filter(|_| entry.ignored.is_none()) else {
            let why = entry.ignored.unwrap_or("not a rule about commands");
            if why == ELSEWHERE {
                // That it does not count here is as it was granted.
                self.elsewhere.extend(entry.bound.task);
                return;
            }
            let Entry { line, rule, .. } = entry;
            self.notes.push(format!("{name}:{line}: `{rule}` grants nothing: {why}"));
            return;
        };
        self.layer.rules.push(Rule { line: entry.line, ..rule });
        if entry.bound.is_some() {
            self.bounded.push(entry);
        }
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
