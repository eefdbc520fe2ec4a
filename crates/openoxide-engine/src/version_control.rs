//! Programs that start a version control system, which a repository can make run something else.
//!
//! `go list` runs the system whose metadata it finds above the working directory, `isort` runs git
//! in the directories that it checks. The repository configures what git, Mercurial and the others
//! run.

use std::{collections::HashMap, fs, path::Path};

use openoxide_protocol::{
    AbsPath, Access, AccessRoute, CauseCode, CommandClass, CommandWord, ExecAccess, PathAccess,
    VersionControl,
};

use crate::{
    git_repository,
    project_settings::path_spellings,
    script_edits::{PriorEdits, ScriptEdits},
    user_git_config,
};

/// Files and directories that mark a working copy of a system other than git, and parts of the system's name.
///
/// Mercurial loads extensions from `.hg/hgrc`. The others are listed because their settings are not examined.
const WORKING_COPY_MARKERS: [&str; 16] = [
    ".hg",
    ".svn",
    ".bzr",
    "_FOSSIL_",
    ".fslckout",
    ".fos",
    "CVS",
    "_darcs",
    ".jj",
    ".sl",
    ".sapling",
    ".pijul",
    "_MTN",
    "{arch}",
    ".repo",
    ".p4config",
];

/// The reason of a question about a program that starts version control in a repository that may
/// run something.
const REPOSITORY_CAUSE: &str = "can run programs that settings of a repository name";

/// Makes programs that start version control require approval, unless every repository that they
/// can find is harmless and is not edited before, and the user's own configuration runs no file of
/// it.
pub(crate) fn distrust_version_control(
    accesses: &mut [Access],
    edits: &ScriptEdits,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
) {
    // The repository of each directory is searched once.
    let mut known: HashMap<(AbsPath, VersionControl), bool> = HashMap::new();
    for index in 0..accesses.len() {
        let Some((Access::Exec(exec), rest)) = accesses.get(index..).and_then(<[_]>::split_first)
        else {
            continue;
        };
        let systems = started_version_control(exec);
        if exec.class == CommandClass::Unknown || systems == VersionControl::None {
            continue;
        }
        let before = edits.edits_before(exec);
        let mut is_plain = |place: &AbsPath| {
            let key = (place.clone(), systems);
            match known.get(&key) {
                Some(plain) if before.is_empty() => *plain,
                _ => {
                    let plain = is_harmless_for(place, systems, &before)
                        && !user_git_config::runs_project_files(place, home);
                    if before.is_empty() {
                        known.insert(key, plain);
                    }
                    plain
                }
            }
        };
        let place = exec.cwd.as_ref().unwrap_or(cwd);
        // A directory that the command names is certain only if it exists.
        let is_there = exec.cwd.is_none() || Path::new(place.as_str()).is_dir();
        let plain = is_there
            && is_plain(place)
            && (uses_own_repository(exec)
                || collect_repository_directories(rest).all(|place| is_plain(&place)));
        if !plain && let Some(Access::Exec(exec)) = accesses.get_mut(index) {
            exec.distrust(CauseCode::RunsProjectCode, REPOSITORY_CAUSE);
        }
    }
}

/// Returns the version control systems that a command starts, including those inside of a wrapper.
pub(crate) fn started_version_control(exec: &ExecAccess) -> VersionControl {
    let is_git = |word| matches!(word, CommandWord::Known(text) if matches!(text.rsplit('/').next(), Some("git" | "git-lfs")));
    if exec.argv.iter().any(is_git) {
        exec.version_control.max(VersionControl::Git)
    } else {
        exec.version_control
    }
}

/// Returns whether the paths that a program reads cannot choose another repository: git itself
/// starts in its working directory.
fn uses_own_repository(exec: &ExecAccess) -> bool {
    exec.argv.known_word(0).and_then(|name| name.rsplit('/').next()) == Some("git")
}

/// Returns the directories in which a program can start version control because of what it reads.
fn collect_repository_directories(rest: &[Access]) -> impl Iterator<Item = AbsPath> {
    let own = rest.iter().take_while(|access| !matches!(access, Access::Exec(_)));
    own.filter_map(|access| {
        let Access::Read(path) = access else { return None };
        (path.route != AccessRoute::Direct).then_some(path)
    })
    .flat_map(PathAccess::paths)
    .filter_map(|path| {
        let is_directory = Path::new(path.as_str()).is_dir();
        if is_directory { Some(path.clone()) } else { path.parent() }
    })
}

fn is_harmless_for(place: &AbsPath, systems: VersionControl, edits: &PriorEdits<'_>) -> bool {
    git_repository::is_harmless(place, edits)
        && (systems != VersionControl::Any || !has_other_metadata(place, edits))
}

/// Returns whether a system other than git has its metadata in this directory or above it, or may
/// have it after the edits.
fn has_other_metadata(place: &AbsPath, edits: &PriorEdits<'_>) -> bool {
    let found = |marker: &Path| marker.symlink_metadata().is_ok() || edits.may_change(marker);
    path_spellings(place).iter().any(|place| {
        let mut above = place.ancestors();
        above.any(|directory| {
            WORKING_COPY_MARKERS.iter().any(|marker| found(&directory.join(marker)))
        })
    })
}

/// Subcommands of git that make the repository at the other end run its hooks or its configured commands.
const REMOTE_COMMANDS: [&str; 3] = ["push", "send-pack", "archive"];

/// Checks the words that are remotes for git. A word is a remote only if the configuration has one
/// of this name and no file has it. Any other word can be a directory: git reads the repository
/// there, and a push runs its hooks.
pub(crate) fn check_remotes(accesses: &mut Vec<Access>, cwd: &AbsPath) {
    let mut added = Vec::new();
    for access in accesses.iter_mut() {
        let Access::Exec(exec) = access else { continue };
        let place = exec.cwd.as_ref().unwrap_or(cwd).clone();
        for word in std::mem::take(&mut exec.remotes) {
            let path = place.join(&word);
            let is_path = is_repository_path(&path);
            if is_path || !git_repository::has_remote(&place, &word) {
                exec.distrust(CauseCode::ContactsHost, "contacts a remote that is not configured");
            }
            if is_path {
                added.push(Access::Read(PathAccess {
                    route: AccessRoute::Program,
                    ..PathAccess::new(path)
                }));
                if runs_remote_command(exec) {
                    added.push(Access::Opaque { text: exec.text.clone(), span: exec.span });
                }
            }
        }
    }
    accesses.append(&mut added);
}

/// Returns whether git could open a repository or a bundle there.
fn is_repository_path(path: &AbsPath) -> bool {
    let found = |path: &str| fs::symlink_metadata(path).is_ok();
    found(path.as_str()) || found(&format!("{path}.git"))
}

fn runs_remote_command(exec: &ExecAccess) -> bool {
    exec.argv
        .iter()
        .any(|word| matches!(word, CommandWord::Known(text) if REMOTE_COMMANDS.contains(&text)))
}

#[cfg(test)]
mod tests;
