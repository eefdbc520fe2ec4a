//! Removal of build output that git ignores.
//!
//! A build creates it again, so a command that removes only such files loses no work. Its cause
//! states this. The name of a directory alone is not enough: `dist` can be a link, be tracked, or
//! contain another repository.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use openoxide_permission::safety_floor::is_secret;
use openoxide_protocol::{AbsPath, Access, CauseCode, CommandCause, ExecAccess};

use crate::{
    git_repository::TrackedFiles, removal_command::RemovalCommand, script_edits::ScriptEdits,
    search_expansion::is_ignored, step_budget::StepBudget,
};

const REMOVES_BUILD_OUTPUT: CommandCause = CommandCause::Stated {
    code: CauseCode::WritesFiles,
    phrase: "removes build output that git ignores",
};

/// Directories that builds, tests and package managers create, and that contain no sources.
const OUTPUT_DIRECTORIES: [&str; 34] = [
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    "_build",
    "coverage",
    "htmlcov",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    ".eggs",
    ".next",
    ".nuxt",
    ".output",
    ".svelte-kit",
    ".turbo",
    ".parcel-cache",
    ".vite",
    ".angular",
    ".astro",
    ".docusaurus",
    ".nyc_output",
    ".gradle",
    ".dart_tool",
    ".zig-cache",
    "zig-cache",
    "zig-out",
    "CMakeFiles",
    "storybook-static",
    "dist-newstyle",
];

/// Names of entries that mark a directory as a working copy or contain the data of a repository.
const REPOSITORY_NAMES: [&str; 8] =
    [".git", ".hg", ".svn", ".jj", ".bzr", "_darcs", ".fslckout", "_FOSSIL_"];

/// Changes the cause of each command that removes only build output.
pub(crate) fn check(
    accesses: &mut [Access],
    edits: &ScriptEdits,
    cwd: &AbsPath,
    steps: &StepBudget,
) {
    let tracked = TrackedFiles::default();
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        let place = exec.cwd.as_ref().unwrap_or(cwd);
        if is_clean_command(exec) || removes_build_output(exec, place, edits, &tracked, steps) {
            exec.cause = Some(REMOVES_BUILD_OUTPUT);
        }
    }
}

/// Returns whether a build tool removes its own output, in the directory that the project sets.
fn is_clean_command(exec: &ExecAccess) -> bool {
    let is_own = |word: &str| {
        matches!(
            word,
            "--release" | "--doc" | "--quiet" | "-q" | "--offline" | "-cache" | "-testcache" | "-x"
        )
    };
    let known = |at| exec.argv.known_word(at);
    matches!((known(0), known(1)), (Some("cargo" | "go"), Some("clean")))
        && exec.argv.known_words(2).all(|word| word.is_some_and(is_own))
}

fn removes_build_output(
    exec: &ExecAccess,
    place: &AbsPath,
    edits: &ScriptEdits,
    tracked: &TrackedFiles,
    steps: &StepBudget,
) -> bool {
    let Some(removal) = RemovalCommand::parse(exec, place) else { return false };
    if removal.has_parent_names {
        return false;
    }
    let before = edits.before_by_others(exec);
    removal.paths.iter().all(|path| {
        let Some(output) = OutputPath::find(path) else { return false };
        !before.may_change(Path::new(path.as_str()))
            && match output.removed_entry(&removal) {
                RemovedEntry::Nothing => true,
                RemovedEntry::Other => false,
                RemovedEntry::Output => {
                    steps.take_steps(64)
                        && tracked.has_no_tracked_file(&output.directory)
                        && is_ignored(&output.directory.join("output"), &output.tree)
                        && contains_only_output(path, steps)
                }
            }
    })
}

/// A path at or below a directory with the name of build output, in the working tree of a
/// repository.
struct OutputPath<'a> {
    path: &'a AbsPath,
    tree: AbsPath,
    directory: AbsPath,
}

/// The entry at the removed path.
enum RemovedEntry {
    /// There is none, so the command does nothing.
    Nothing,
    /// A regular file or a directory. No directory above it is a link.
    Output,
    /// A link, or something else.
    Other,
}

impl<'a> OutputPath<'a> {
    fn find(path: &'a AbsPath) -> Option<Self> {
        let above = Path::new(path.as_str()).ancestors().skip(1);
        let tree = above.into_iter().find(|above| above.join(".git").symlink_metadata().is_ok())?;
        let tree = AbsPath::new(tree.to_str()?).ok()?;
        let names: Vec<&str> = path.strip_prefix(&tree)?.split('/').collect();
        let last = names.iter().rposition(|name| OUTPUT_DIRECTORIES.contains(name))?;
        let directory = tree.join(&names.get(..=last)?.join("/"));
        Some(Self { path, tree, directory })
    }

    fn removed_entry(&self, removal: &RemovalCommand) -> RemovedEntry {
        let mut all: Vec<AbsPath> = Vec::new();
        let mut next = Some(self.path.clone());
        while let Some(path) = next.filter(|path| *path != self.tree) {
            next = path.parent();
            all.push(path);
        }
        let Some((path, above)) = all.split_first() else { return RemovedEntry::Other };
        for directory in above.iter().rev() {
            match fs::symlink_metadata(directory.as_str()) {
                Ok(found) if found.is_dir() => {}
                Err(error) if error.kind() == ErrorKind::NotFound && removal.ignores_missing => {
                    return RemovedEntry::Nothing;
                }
                _ => return RemovedEntry::Other,
            }
        }
        match fs::symlink_metadata(path.as_str()) {
            Ok(found) if found.is_dir() && removal.is_recursive => RemovedEntry::Output,
            // A file that has the name of an output directory is not build output.
            Ok(found) if found.is_file() && *path != self.directory => RemovedEntry::Output,
            Err(error) if error.kind() == ErrorKind::NotFound && removal.ignores_missing => {
                RemovedEntry::Nothing
            }
            _ => RemovedEntry::Other,
        }
    }
}

/// Returns whether a file is no secret, or a directory contains no secret, no repository and no
/// other file system.
fn contains_only_output(path: &AbsPath, steps: &StepBudget) -> bool {
    let Ok(meta) = fs::symlink_metadata(path.as_str()) else { return false };
    if !meta.is_dir() {
        return !is_secret(path);
    }
    let mut directories = vec![PathBuf::from(path.as_str())];
    while let Some(directory) = directories.pop() {
        let is_same_device = fs::symlink_metadata(&directory).is_ok_and(|f| f.dev() == meta.dev());
        let entries = fs::read_dir(&directory).ok().filter(|_| is_same_device);
        let Some(entries) = entries.filter(|_| steps.take_directory()) else { return false };
        // Files of packages can have the names of secrets.
        let is_package = directory.iter().any(|name| name == "node_modules");
        let (mut has_head, mut has_objects) = (false, false);
        for entry in entries {
            let Some(entry) = entry.ok().filter(|_| steps.take_steps(1)) else { return false };
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { return false };
            has_head |= name == "HEAD";
            has_objects |= name == "objects";
            if REPOSITORY_NAMES.iter().any(|known| name == *known) {
                return false;
            }
            if kind.is_dir() {
                directories.push(entry.path());
            } else if !is_package && entry.path().to_str().is_none_or(is_secret_file) {
                return false;
            }
        }
        if has_head && has_objects {
            return false;
        }
    }
    true
}

fn is_secret_file(path: &str) -> bool {
    AbsPath::new(path).map_or(true, |path| is_secret(&path))
}

#[cfg(test)]
mod tests;
