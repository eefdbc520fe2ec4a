//! The directories in which the commands of a script can run.

use std::{collections::HashSet, path::Path};

use openoxide_protocol::{AbsPath, Access, CommandWord, ExecAccess};

/// The maximum number of directories that the `cd`s of a script are followed to.
pub(crate) const MAX_CD_TARGETS: usize = 64;
/// The maximum number of directories that are looked up for this.
const MAX_EXAMINED_TARGETS: usize = 4096;
/// The maximum number of pairs of a command in an unknown directory and a directory that it can run
/// in. Each pair is examined.
const MAX_EXAMINED_PAIRS: usize = 512;

/// The directories that a command can run in if its own is unknown, for example after a `cd` that
/// may fail.
pub(crate) struct EnteredPlaces {
    /// `None` if there are too many, or if a word of a `cd` is unknown.
    places: Option<Vec<AbsPath>>,
}

impl EnteredPlaces {
    /// Collects the directories that a script which is started in `cwd` can enter.
    pub(crate) fn collect(accesses: &[Access], cwd: &AbsPath) -> Self {
        let is_lost =
            |access: &Access| matches!(access, Access::Exec(exec) if has_unknown_place(exec));
        let places = match accesses.iter().any(is_lost) {
            true if has_unknown_target(accesses) => None,
            true => collect_cd_targets(accesses, cwd, true)
                .filter(|places| places.len() * count_lost(accesses) <= MAX_EXAMINED_PAIRS),
            false => Some(Vec::new()),
        };
        Self { places }
    }

    /// Returns the directories in which a command can run, or `None` if they are not known. Files
    /// of the root directory are not those of a project.
    pub(crate) fn possible_places(&self, exec: &ExecAccess, cwd: &AbsPath) -> Option<Vec<AbsPath>> {
        if !has_unknown_place(exec) {
            return Some(vec![exec.cwd.as_ref().unwrap_or(cwd).clone()]);
        }
        let places = self.places.as_ref()?.iter();
        Some(places.filter(|place| **place != AbsPath::root()).cloned().collect())
    }
}

/// Returns whether the directory of a command is unknown. The root stands for it.
pub(crate) fn has_unknown_place(exec: &ExecAccess) -> bool {
    exec.cwd.as_ref() == Some(&AbsPath::root())
}

/// Returns the number of commands whose directory is unknown, without those that change it.
fn count_lost(accesses: &[Access]) -> usize {
    let is_lost = |access: &&Access| matches!(access, Access::Exec(exec) if has_unknown_place(exec) && !changes_directory(exec));
    accesses.iter().filter(is_lost).count()
}

/// Returns whether a command is a builtin of the shell that changes the directory.
pub(crate) fn changes_directory(exec: &ExecAccess) -> bool {
    matches!(exec.argv.known_word(0), Some("cd" | "pushd"))
}

/// Returns whether a script enters a directory whose name is not known.
fn has_unknown_target(accesses: &[Access]) -> bool {
    accesses.iter().any(|access| {
        let Access::Exec(exec) = access else { return false };
        changes_directory(exec)
            && !exec.argv.iter().all(|word| matches!(word, CommandWord::Known(_)))
    })
}

/// Returns the directories that the `cd`s of a script can lead to, as far as their words are known.
/// A `cd` to a missing directory fails, unless the script can make the directory. Returns `None` if
/// there are too many directories.
pub(crate) fn collect_cd_targets(
    accesses: &[Access],
    cwd: &AbsPath,
    may_make_directories: bool,
) -> Option<Vec<AbsPath>> {
    let (mut entered, mut seen) = (vec![cwd.clone()], HashSet::from([cwd.clone()]));
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        if !changes_directory(exec) {
            continue;
        }
        // `cd -` leads to a directory that is known already.
        let words = exec.argv.known_words(1).flatten();
        let targets = words.filter(|word| *word != "-");
        let from = entered.clone();
        for place in targets.flat_map(|target| from.iter().map(move |from| from.join(target))) {
            let is_new = seen.insert(place.clone());
            if is_new && (may_make_directories || Path::new(place.as_str()).is_dir()) {
                entered.push(place);
            }
        }
        if entered.len() > MAX_CD_TARGETS || seen.len() > MAX_EXAMINED_TARGETS {
            return None;
        }
    }
    Some(entered)
}
