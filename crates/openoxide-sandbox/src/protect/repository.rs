//! What a git directory holds that makes `git` run something: gitrepository-layout(5), githooks(5).

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::Read as _,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
};

use super::walk::Listing;
use crate::git_config::{self, Setting, levels::at};

/// Names by which a git directory is known, whatever it is called itself.
pub(crate) const NAMES: &[&str] = &[".git", "HEAD", "objects", "refs", "commondir"];

/// An indirection is a path and nothing else.
const LONGEST: u64 = 8192;

/// How many files a configuration may include, one after the other.
const INCLUDES: usize = 16;

/// Says whether `git` would take this for a git directory (`is_git_directory` of its setup): the directory of a linked
/// worktree has the objects elsewhere.
pub(crate) fn is_git_directory(listing: &Listing<'_>) -> bool {
    let own = listing.has("objects") && listing.has("refs");
    listing.has("HEAD") && (own || listing.has("commondir"))
}

/// Says whether this is a directory full of hashes of some repository, in which nobody works.
pub(crate) fn holds_objects(path: &Path) -> bool {
    let below_git =
        || path.ancestors().skip(1).any(|above| above.file_name() == Some(OsStr::new(".git")));
    let named =
        ["objects", "refs", "logs"].iter().any(|name| path.file_name() == Some(OsStr::new(name)));
    named && below_git()
}

/// Where a `.git` file leads: `gitdir: PATH`, from the directory that it lies in.
pub(crate) fn leads_to(file: &Path) -> Option<PathBuf> {
    let text = text(file)?;
    let path = text.as_encoded_bytes().strip_prefix(b"gitdir: ")?;
    Some(file.parent()?.join(OsString::from_vec(path.to_vec())))
}

/// The git directory that this one shares its hooks and configuration with.
pub(crate) fn common(directory: &Path) -> Option<PathBuf> {
    Some(directory.join(text(&directory.join("commondir"))?))
}

/// `git` takes the whole file, without ends of lines at its end.
fn text(file: &Path) -> Option<OsString> {
    if !fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(file).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    let ends = bytes.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    bytes.truncate(bytes.len() - ends);
    Some(OsString::from_vec(bytes))
}

/// Says whether `git` reads `config.worktree` here.
pub(crate) fn has_config_of_worktrees(directory: &Path) -> bool {
    let directory = common(directory).unwrap_or_else(|| directory.to_owned());
    let settings = git_config::read(&directory.join("config"));
    settings.is_none_or(|all| all.iter().any(|one| one.name() == "extensions.worktreeconfig"))
}

/// The settings of a git directory, and the files that they were read from besides its own.
fn settings_of(directory: &Path) -> (Vec<Setting>, Vec<PathBuf>) {
    let (mut settings, mut included) = (Vec::new(), Vec::new());
    let mut open = vec![directory.join("config"), directory.join("config.worktree")];
    while let Some(file) = open.pop() {
        for setting in git_config::read(&file).unwrap_or_default() {
            let includes = matches!(setting.name().as_str(), "include.path" | "includeif.*.path");
            if includes && included.len() < INCLUDES {
                let path = at(file.parent().unwrap_or(directory), &setting.value);
                open.push(path.clone());
                included.push(path);
            }
            settings.push(setting);
        }
    }
    (settings, included)
}

/// The files and directories outside of this git directory that configuration of any level sends `git` to: other
/// configuration, and hooks that are kept elsewhere.
pub(super) fn sent_to(directory: &Path, levels: &[Setting]) -> Vec<PathBuf> {
    let (own, mut found) = settings_of(directory);
    found.extend(hooks_elsewhere(directory, own.iter().chain(levels)));
    found.extend(trust_files(directory, own.iter().chain(levels)));
    found
}

/// Returns the files that are there and that decide whom `git` trusts: keys of signers, certificates of servers, cookies.
///
/// Other data files that settings name lead to no execution and are not guarded: `core.attributesFile` chooses among the filters and
/// drivers that the configuration names, as `.gitattributes` of the project does; `core.excludesFile`, `diff.orderFile`,
/// `blame.ignoreRevsFile`, `mailmap.file` and `commit.template` change what is shown, ignored or suggested.
fn trust_files<'a>(directory: &Path, settings: impl Iterator<Item = &'a Setting>) -> Vec<PathBuf> {
    let decides = |setting: &&Setting| {
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
    let files = settings.filter(decides).map(|one| at(worktree(directory), &one.value));
    files.filter(|file| file.is_file()).collect()
}

/// The directories outside of a git directory in which these settings have `git` look for hooks, or for what it copies into
/// a new repository.
pub(crate) fn hooks_elsewhere<'a>(
    directory: &Path,
    settings: impl Iterator<Item = &'a Setting>,
) -> Vec<PathBuf> {
    let sends = |setting: &&Setting| {
        matches!(setting.name().as_str(), "core.hookspath" | "init.templatedir")
    };
    settings.filter(sends).map(|setting| at(worktree(directory), &setting.value)).collect()
}

/// The commands that configuration of any level may make `git` run here.
pub(super) fn commands(directory: &Path, levels: &[Setting]) -> Vec<String> {
    let (own, _) = settings_of(directory);
    let all = own.iter().chain(levels);
    all.filter_map(|setting| setting.command(directory)).map(str::to_owned).collect()
}

/// Where hooks of this git directory run: `core.hooksPath` is read from there.
pub(super) fn worktree(directory: &Path) -> &Path {
    let own = directory.file_name() == Some(OsStr::new(".git"));
    directory.parent().filter(|_| own).unwrap_or(directory)
}
