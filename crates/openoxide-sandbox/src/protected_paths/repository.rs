//! The contents of a git directory that make `git` run something: gitrepository-layout(5),
//! githooks(5).

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read as _},
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
};

use crate::protected_paths::{
    directory_walk::DirectoryListing,
    git_config::{self, GitSetting, config_levels::resolve_path},
    regular_file::open_regular,
};

/// The names of the entries that identify a git directory, regardless of its own name.
pub(crate) const GIT_NAMES: &[&str] = &[".git", "HEAD", "objects", "refs", "commondir"];

/// The maximum size of a file that contains only a path, such as a `.git` file.
const MAX_LINK_BYTES: u64 = 8192;

/// The maximum number of included files that are read for one configuration.
const MAX_INCLUDES: usize = 16;

/// Returns whether `git` would accept this as a git directory (`is_git_directory` of its setup).
/// The directory of a linked worktree has its objects elsewhere.
pub(crate) fn is_git_directory(listing: &DirectoryListing<'_>) -> bool {
    let own = listing.contains("objects") && listing.contains("refs");
    listing.contains("HEAD") && (own || listing.contains("commondir"))
}

/// Returns whether this is the `objects`, `refs` or `logs` directory of a repository. Only `git`
/// works in these directories.
pub(crate) fn is_object_directory(path: &Path) -> bool {
    let below_git =
        || path.ancestors().skip(1).any(|above| above.file_name() == Some(OsStr::new(".git")));
    let named =
        ["objects", "refs", "logs"].iter().any(|name| path.file_name() == Some(OsStr::new(name)));
    named && below_git()
}

/// Returns the target of a `.git` file: `gitdir: PATH`, resolved against the directory of the file.
pub(crate) fn read_gitdir_link(file: &Path) -> Option<PathBuf> {
    let text = read_text(file)?;
    let path = text.as_encoded_bytes().strip_prefix(b"gitdir: ")?;
    Some(file.parent()?.join(OsString::from_vec(path.to_vec())))
}

/// Returns the git directory with which this one shares its hooks and configuration.
pub(crate) fn common_directory(directory: &Path) -> Option<PathBuf> {
    Some(directory.join(read_text(&directory.join("commondir"))?))
}

/// Reads the `commondir` file of a git directory. Returns `None` if the file is empty.
///
/// # Errors
/// Returns an error if there is no such file, or it cannot be read or is not a regular file.
pub(crate) fn read_common_directory(directory: &Path) -> io::Result<Option<PathBuf>> {
    let bytes = read_bytes(&directory.join("commondir"))?;
    Ok((!bytes.is_empty()).then(|| directory.join(without_newlines(bytes))))
}

/// Reads a file as `git` does: the whole file, without trailing newlines.
fn read_text(file: &Path) -> Option<OsString> {
    read_bytes(file).ok().map(without_newlines)
}

fn read_bytes(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(file)?.take(MAX_LINK_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn without_newlines(mut bytes: Vec<u8>) -> OsString {
    let ends = bytes.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    bytes.truncate(bytes.len() - ends);
    OsString::from_vec(bytes)
}

/// Returns whether `git` reads `config.worktree` in this git directory.
pub(crate) fn has_worktree_config(directory: &Path) -> bool {
    let directory = common_directory(directory).unwrap_or_else(|| directory.to_owned());
    let settings = git_config::read_file(&directory.join("config"));
    settings.is_none_or(|all| all.iter().any(|one| one.name() == "extensions.worktreeconfig"))
}

/// Returns the settings of a git directory, and the other files from which they were read.
fn read_settings(directory: &Path) -> (Vec<GitSetting>, Vec<PathBuf>) {
    let (mut settings, mut included) = (Vec::new(), Vec::new());
    let mut open = vec![directory.join("config"), directory.join("config.worktree")];
    while let Some(file) = open.pop() {
        for setting in git_config::read_file(&file).unwrap_or_default() {
            let includes = matches!(setting.name().as_str(), "include.path" | "includeif.*.path");
            if includes && included.len() < MAX_INCLUDES {
                let path = resolve_path(file.parent().unwrap_or(directory), &setting.value);
                open.push(path.clone());
                included.push(path);
            }
            settings.push(setting);
        }
    }
    (settings, included)
}

/// Returns the files and directories outside of this git directory that configuration of any level
/// makes `git` use: other configuration, and hooks in another directory.
pub(super) fn find_external_paths(directory: &Path, levels: &[GitSetting]) -> Vec<PathBuf> {
    let (own, mut found) = read_settings(directory);
    found.extend(find_external_hooks(directory, own.iter().chain(levels)));
    found.extend(trust_files(directory, own.iter().chain(levels)));
    found
}

/// Returns the existing files that determine what `git` trusts: keys of signers, certificates of
/// servers, cookies.
///
/// Other data files that settings name do not lead to execution and are not guarded.
/// `core.attributesFile` chooses among the filters and drivers that the configuration names, as
/// `.gitattributes` of the project does. `core.excludesFile`, `diff.orderFile`,
/// `blame.ignoreRevsFile`, `mailmap.file` and `commit.template` change what is shown, ignored or
/// suggested.
fn trust_files<'a>(
    directory: &Path,
    settings: impl Iterator<Item = &'a GitSetting>,
) -> Vec<PathBuf> {
    let decides = |setting: &&GitSetting| {
        matches!(setting.section.as_str(), "gpg" | "http")
            && matches!(
                setting.key.as_str(),
                "allowedsignersfile"
                    | "revocationfile"
                    | "sslcainfo"
                    | "sslcert"
                    | "sslkey"
                    | "proxysslcainfo"
                    | "cookiefile"
            )
    };
    let files =
        settings.filter(decides).map(|one| resolve_path(worktree_directory(directory), &one.value));
    files.filter(|file| file.is_file()).collect()
}

/// Returns the directories outside of a git directory in which these settings make `git` look for
/// hooks, or for files that it copies into a new repository.
pub(crate) fn find_external_hooks<'a>(
    directory: &Path,
    settings: impl Iterator<Item = &'a GitSetting>,
) -> Vec<PathBuf> {
    let sends = |setting: &&GitSetting| {
        matches!(setting.name().as_str(), "core.hookspath" | "init.templatedir")
    };
    settings
        .filter(sends)
        .map(|setting| resolve_path(worktree_directory(directory), &setting.value))
        .collect()
}

/// Returns the commands that configuration of any level may make `git` run in this git directory.
pub(super) fn find_commands(directory: &Path, levels: &[GitSetting]) -> Vec<String> {
    let (own, _) = read_settings(directory);
    let all = own.iter().chain(levels);
    all.filter_map(|setting| setting.executed_command(directory)).map(str::to_owned).collect()
}

/// Returns the directory in which hooks of this git directory run. `core.hooksPath` is resolved
/// against it.
pub(super) fn worktree_directory(directory: &Path) -> &Path {
    let own = directory.file_name() == Some(OsStr::new(".git"));
    directory.parent().filter(|_| own).unwrap_or(directory)
}
