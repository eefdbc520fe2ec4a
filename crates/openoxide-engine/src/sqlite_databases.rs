//! Detection of SQLite databases whose files change when a program opens them for reading.
//!
//! `sqlite3` creates an empty file if the database does not exist. With a write-ahead log it
//! creates two files next to the database, even with `-readonly`, and may move their content into
//! the database. A journal that was left behind is rolled back.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read as _},
    path::{Path, PathBuf},
};

use openoxide_protocol::{
    AbsPath, Access, AccessRoute, CauseCode, CommandClass, PathAccess, SqliteDatabase,
};

use crate::{path_resolution::resolve_path, script_edits::ScriptEdits, step_budget::StepBudget};

/// The first bytes of a database file.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// The format versions for writing and reading in the header: 1 for a journal, 2 for a write-ahead
/// log.
const FORMAT_VERSION_RANGE: std::ops::Range<usize> = 18..20;

/// The ending of the name of a rollback journal.
const JOURNAL: &str = "-journal";

/// The reason of a question about a program that opens a database with a journal. The rollback can
/// write the database, and removes the file that the journal names as its super-journal, wherever
/// it is.
pub(crate) const JOURNAL_CAUSE: &str = "can roll back a journal, which can remove any file";

/// Changes the class of commands to edits if opening their databases would create or change files.
pub(crate) fn check_sqlite_commands(
    accesses: &mut Vec<Access>,
    edits: &ScriptEdits,
    cwd: &AbsPath,
    steps: &StepBudget,
) {
    let mut added = Vec::new();
    for access in accesses.iter_mut() {
        let Access::Exec(exec) = access else { continue };
        let before = edits.edits_before(exec);
        let place = exec.cwd.as_ref().unwrap_or(cwd).clone();
        for database in std::mem::take(&mut exec.databases) {
            let path = place.join(&database.file);
            let files = spellings(Path::new(path.as_str()));
            let is_unchanged =
                |file: &PathBuf| !before.may_change(file) && opens_unchanged(&database, file);
            let may_roll_back = |file: &PathBuf| {
                let journal = beside(file, JOURNAL);
                before.may_change(&journal) || fs::symlink_metadata(journal).is_ok()
            };
            if files.as_ref().is_none_or(|files| files.iter().any(may_roll_back)) {
                exec.distrust(CauseCode::RemovesFiles, JOURNAL_CAUSE);
            } else if files.is_some_and(|files| files.iter().all(is_unchanged)) {
                continue;
            }
            exec.class = exec.class.max(CommandClass::Edits);
            let mut edit = PathAccess { route: AccessRoute::Program, ..PathAccess::new(path) };
            added.push(if resolve_path(&mut edit, cwd, steps) {
                Access::Edit(edit)
            } else {
                Access::Opaque { text: exec.text.clone(), span: exec.span }
            });
        }
    }
    accesses.append(&mut added);
}

/// The maximum number of links between a name and a database.
const MAX_LINKS: usize = 32;

/// Returns the name of a database, the names of the links on the way, and its real path: SQLite
/// resolves links, and uses the journal next to their target. A journal can name another file
/// (a super-journal), which SQLite removes after the rollback. Returns `None` if there are too many
/// links, or if the target is unknown.
fn spellings(file: &Path) -> Option<Vec<PathBuf>> {
    let mut all = vec![file.to_path_buf()];
    let mut last = file.to_path_buf();
    while let Ok(target) = fs::read_link(&last) {
        last = last.parent()?.join(target);
        all.push(last.clone());
        if all.len() > MAX_LINKS {
            return None;
        }
    }
    match fs::canonicalize(file) {
        Ok(real) => all.push(real),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(_) => return None,
    }
    Some(all)
}

/// Returns whether a program that opens an existing database could change files: the database has
/// a journal or a write-ahead log.
pub(crate) fn is_changed_by_opening(file: &Path) -> bool {
    let is_unchanged = |file: &PathBuf| match fs::metadata(file) {
        Ok(found) if found.is_file() => uses_rollback_journal(file) && !has_journal_files(file),
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::NotFound && !has_journal_files(file),
    };
    !spellings(file).is_some_and(|files| files.iter().all(is_unchanged))
}

/// Returns the name of a file next to the database.
fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Returns whether opening the database creates and changes no file.
fn opens_unchanged(database: &SqliteDatabase, file: &Path) -> bool {
    match fs::metadata(file) {
        // No file is created in place of a directory or a device.
        Ok(found) if !found.is_file() => true,
        Ok(_) => uses_rollback_journal(file) && !has_journal_files(file),
        Err(_) => !database.creates_if_missing && fs::symlink_metadata(file).is_err(),
    }
}

/// Returns whether the header of a database indicates that it has no write-ahead log. Also returns
/// true for a file that is not a database, because `sqlite3` refuses to open it.
fn uses_rollback_journal(file: &Path) -> bool {
    let mut header = Vec::new();
    let read = File::open(file).and_then(|file| file.take(100).read_to_end(&mut header));
    if read.is_err() {
        return false;
    }
    !header.starts_with(SQLITE_MAGIC) || header.get(FORMAT_VERSION_RANGE) == Some(&[1, 1])
}

/// Returns whether a journal or a log exists next to the database.
fn has_journal_files(file: &Path) -> bool {
    [JOURNAL, "-wal", "-shm"]
        .iter()
        .any(|ending| fs::symlink_metadata(beside(file, ending)).is_ok())
}

#[cfg(test)]
mod tests;
