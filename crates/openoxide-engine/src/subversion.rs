//! Detection of working copies of Subversion whose database a command would change.
//!
//! Each command of Subversion opens `.svn/wc.db`, an SQLite database. A journal next to it is rolled
//! back, which can remove any file (see [`sqlite_databases`]).

use std::{
    fs,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, Access, CauseCode, CommandClass, CommandWord, ExecAccess};

use crate::{
    project_settings::path_spellings,
    script_edits::{PriorEdits, ScriptEdits},
    sqlite_databases,
    step_budget::StepBudget,
};

/// The programs that open working copies.
const PROGRAMS: [&str; 2] = ["svn", "svnversion"];

/// The maximum number of entries below a directory. Beyond it, the working copies there are
/// unknown.
const MAX_ENTRIES: usize = 16_384;

/// Makes commands of Subversion require approval if they could open a working copy whose database
/// has a journal.
pub(crate) fn check_working_copies(
    accesses: &mut [Access],
    edits: &ScriptEdits,
    cwd: &AbsPath,
    steps: &StepBudget,
) {
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        let is_svn = |word: &CommandWord<'_>| matches!(word, CommandWord::Known(text) if text.rsplit('/').next().is_some_and(|name| PROGRAMS.contains(&name)));
        if exec.class == CommandClass::Unknown || !exec.argv.iter().any(|word| is_svn(&word)) {
            continue;
        }
        let before = edits.edits_before(exec);
        // The root means that the directory is unknown.
        let is_unknown = exec.cwd.as_ref() == Some(&AbsPath::root());
        if is_unknown
            || named_places(exec, cwd).iter().any(|place| is_doubtful(place, &before, steps))
        {
            exec.distrust(CauseCode::RemovesFiles, sqlite_databases::JOURNAL_CAUSE);
        }
    }
}

/// Returns the directory of a command, and everything that its words can name.
fn named_places(exec: &ExecAccess, cwd: &AbsPath) -> Vec<PathBuf> {
    let place = exec.cwd.as_ref().unwrap_or(cwd);
    let named = exec.argv.iter().skip(1).filter_map(|word| match word {
        CommandWord::Known(text) | CommandWord::KnownPrefix(text) => Some(text),
        CommandWord::AnyWords => None,
    });
    // A peg revision follows the last `@`.
    let named = named.flat_map(|text| {
        std::iter::once(text).chain(text.rsplit_once('@').map(|(before, _)| before))
    });
    let places = std::iter::once(place.clone()).chain(named.map(|text| place.join(text)));
    places.flat_map(|place| path_spellings(&place)).collect()
}

/// Returns whether a working copy at, above or below a path could be changed by opening it. Commands
/// go into working copies below their own (externals).
fn is_doubtful(place: &Path, edits: &PriorEdits<'_>, steps: &StepBudget) -> bool {
    let mut found = false;
    for above in place.ancestors() {
        if !steps.take_steps(4) {
            return true;
        }
        let own = above.join(".svn");
        if edits.may_change(&own) {
            return true;
        }
        if own.symlink_metadata().is_ok() {
            found = true;
            if sqlite_databases::is_changed_by_opening(&own.join("wc.db")) {
                return true;
            }
        }
    }
    found && place.is_dir() && has_doubtful_below(place, steps)
}

fn has_doubtful_below(place: &Path, steps: &StepBudget) -> bool {
    let (mut open, mut count) = (vec![place.to_path_buf()], 0);
    while let Some(directory) = open.pop() {
        if !steps.take_directory() {
            return true;
        }
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            count += 1;
            if count > MAX_ENTRIES || !steps.take_steps(1) {
                return true;
            }
            let path = entry.path();
            if entry.file_name() == ".svn" {
                if sqlite_databases::is_changed_by_opening(&path.join("wc.db")) {
                    return true;
                }
            } else if path.is_dir() {
                // A link to a working copy is a root of its own, and is not searched further.
                if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                    if sqlite_databases::is_changed_by_opening(&path.join(".svn/wc.db")) {
                        return true;
                    }
                } else {
                    open.push(path);
                }
            }
        }
    }
    false
}
