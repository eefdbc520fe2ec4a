//! Detection of SQLite databases whose files change when a program opens them for reading.
//!
//! `sqlite3` creates an empty file if the database does not exist. With a write-ahead log it
//! creates two files next to the database, even with `-readonly`, and may move their content into
//! the database. A journal that was left behind is rolled back.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use openoxide_protocol::{AbsPath, Access, AccessRoute, CommandClass, PathAccess, SqliteDatabase};

use crate::{path_resolution::resolve_path, script_edits::ScriptEdits, step_budget::StepBudget};

/// The first bytes of a database file.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// The format versions for writing and reading in the header: 1 for a journal, 2 for a write-ahead
/// log.
const FORMAT_VERSION_RANGE: std::ops::Range<usize> = 18..20;

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
            let file = Path::new(path.as_str());
            if !before.may_change(file) && opens_unchanged(&database, file) {
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
    ["-journal", "-wal", "-shm"].iter().any(|ending| {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        fs::symlink_metadata(Path::new(&name)).is_ok()
    })
}

#[cfg(test)]
mod tests;
