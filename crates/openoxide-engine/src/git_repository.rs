//! Detection of repositories that can make git run programs.
//!
//! `git status` runs the program in `core.fsmonitor`. `git diff` runs the programs in
//! `diff.external` and in filters. `git log` runs the program in `gpg.program`. A cloned repository
//! has a configuration that git itself wrote. A repository from an archive, or one that is embedded
//! in another repository as plain directories (`HEAD`, `objects`, `refs`), has the configuration
//! that its author chose.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;

use crate::{project_settings::path_spellings, script_edits::PriorEdits};

/// The maximum size of a configuration.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The maximum depth of submodules.
const MAX_SUBMODULE_DEPTH: usize = 4;

/// The maximum size of an index.
const MAX_INDEX_BYTES: u64 = 1 << 27;

/// The git directory of a working tree and the common directory of its repository.
struct GitDirectories {
    git_dir: PathBuf,
    common_dir: PathBuf,
}

/// Returns whether the configuration of the repository that git would find from `cwd` contains only
/// settings that are known to run nothing. Returns true if there is no repository. A repository
/// that may have been edited before is not harmless.
pub(crate) fn is_harmless(cwd: &AbsPath, edits: &PriorEdits<'_>) -> bool {
    path_spellings(cwd).iter().all(|place| is_harmless_from(place, edits))
}

fn is_harmless_from(place: &Path, edits: &PriorEdits<'_>) -> bool {
    for directory in place.ancestors() {
        let git = directory.join(".git");
        if edits.may_change(&git) {
            return false;
        }
        // A `.git` directory that is not a repository is skipped.
        if git.is_file() || may_be_git_dir(&git) {
            return is_harmless_worktree(directory, edits, false, MAX_SUBMODULE_DEPTH);
        }
        if may_be_git_dir(directory) || may_become_git_dir(directory, edits) {
            return false;
        }
    }
    true
}

/// Returns whether a directory can have been turned into a repository: it has a `HEAD`, and some of
/// the other files were edited.
fn may_become_git_dir(directory: &Path, edits: &PriorEdits<'_>) -> bool {
    let head = directory.join("HEAD");
    let rest = ["HEAD", "commondir", "objects", "refs"];
    (head.symlink_metadata().is_ok() || edits.may_change(&head))
        && rest.iter().any(|name| edits.may_change(&directory.join(name)))
}

/// Returns whether the repository that git would find from here is embedded and not harmless.
///
/// A repository is embedded if it is inside of the working tree of another repository, or if it is
/// below the directory that the agent works in and its directory is not named `.git`. The author of
/// the enclosing tree decides what git runs there.
pub(crate) fn is_embedded(place: &AbsPath, cwd: &AbsPath, edits: &PriorEdits<'_>) -> bool {
    path_spellings(place).iter().any(|place| is_embedded_from(place, cwd, edits))
}

fn is_embedded_from(place: &Path, cwd: &AbsPath, edits: &PriorEdits<'_>) -> bool {
    let named = |directory: &Path| {
        directory.join(".git").is_dir() && may_be_git_dir(&directory.join(".git"))
    };
    for directory in place.ancestors() {
        if directory.join(".git").is_file() {
            return false;
        }
        let bare =
            !named(directory) && (may_be_git_dir(directory) || is_edited_git_dir(directory, edits));
        if bare || named(directory) {
            let inside = directory.ancestors().skip(1).any(|above| above.join(".git").exists());
            let below = path_spellings(cwd)
                .iter()
                .any(|cwd| directory != cwd && directory.starts_with(cwd));
            return (inside || bare && below)
                && (bare
                    || !is_harmless_worktree(
                        directory,
                        &PriorEdits::Paths(Vec::new()),
                        false,
                        MAX_SUBMODULE_DEPTH,
                    ));
        }
    }
    false
}

/// Returns whether the script itself edits the files that make this directory a repository.
fn is_edited_git_dir(directory: &Path, edits: &PriorEdits<'_>) -> bool {
    matches!(edits, PriorEdits::Paths(_)) && may_become_git_dir(directory, edits)
}

/// Returns whether the configuration of the repository that git would find from `cwd` has a remote of this name.
pub(crate) fn has_remote(cwd: &AbsPath, name: &str) -> bool {
    let mut places = Path::new(cwd.as_str()).ancestors().map(|above| above.join(".git"));
    let Some(git) = places.find(|git| git.exists()) else { return false };
    let config = find_git_directories(&git, git.is_dir())
        .and_then(|found| read_config(&found.common_dir.join("config")));
    let header = format!("[remote \"{name}\"]");
    config.is_some_and(|text| text.lines().any(|line| line.trim() == header))
}

/// Returns the configurations of all repositories in this directory and above: git uses one of them.
/// Returns `None` if one cannot be read.
pub(crate) fn read_settings(cwd: &AbsPath) -> Option<String> {
    let mut all = String::new();
    for place in path_spellings(cwd).iter().flat_map(|place| place.ancestors()) {
        let git = place.join(".git");
        let config = if git.symlink_metadata().is_ok() {
            find_git_directories(&git, git.is_dir())?.common_dir.join("config")
        } else if may_be_git_dir(place) {
            place.join("config")
        } else {
            continue;
        };
        if config.symlink_metadata().is_ok() {
            all += &read_config(&config)?;
        }
    }
    Some(all)
}

/// Returns whether the repository of this working tree and those of its submodules are harmless.
/// `git status` and `git diff` run git in each submodule, with the configuration of that submodule.
fn is_harmless_worktree(
    tree: &Path,
    edits: &PriorEdits<'_>,
    is_submodule: bool,
    deep: usize,
) -> bool {
    let git = tree.join(".git");
    let Some(found) = find_git_directories(&git, git.is_dir()) else { return false };
    // If git does not accept a directory as a repository, it continues with the parent directory.
    if !is_valid_git_dir(&found) || !belongs_to_tree(&found, &git, tree) {
        return false;
    }
    if has_links(&found.git_dir)
        || has_links(&found.common_dir)
        || borrows_links(&found.common_dir.join("objects"))
    {
        return false;
    }
    let Some(config) = read_harmless_config(&found.common_dir, is_submodule.then_some(tree)) else {
        return false;
    };
    let Some(links) = submodule_paths(&found.git_dir, &config) else { return false };
    let mut there = links.iter().map(|name| tree.join(name));
    there.all(|below| {
        !edits.may_change(&below.join(".git"))
            && (!below.join(".git").exists()
                || deep > 0 && is_harmless_worktree(&below, edits, true, deep - 1))
    })
}

/// Returns whether a repository is that of this working tree, and not another one whose content git
/// would print: `.git` itself, the directory of a linked worktree or that of a submodule.
fn belongs_to_tree(found: &GitDirectories, git: &Path, tree: &Path) -> bool {
    let Ok(kind) = git.symlink_metadata() else { return false };
    if kind.is_dir() {
        // Only directories of linked worktrees have a common directory.
        return found.git_dir == found.common_dir;
    }
    let real = |path: PathBuf| fs::canonicalize(path).ok();
    let (Some(own), Some(file)) = (real(found.git_dir.clone()), real(git.to_path_buf())) else {
        return false;
    };
    let named_back = read_config(&found.git_dir.join("gitdir"))
        .and_then(|text| real(found.git_dir.join(trim_line_end(&text))));
    kind.is_file()
        && (named_back == Some(file)
            || tree.ancestors().skip(1).any(|above| {
                let git = above.join(".git");
                let outer = find_git_directories(&git, git.is_dir());
                let modules = outer.and_then(|outer| real(outer.git_dir.join("modules")));
                modules.is_some_and(|modules| own.starts_with(modules))
            }))
}

/// Directories of a repository with files whose lines git prints (gitrepository-layout(5)).
const PRINTED_DIRECTORIES: [&str; 17] = [
    "",
    "objects",
    "objects/pack",
    "info",
    "objects/info",
    "objects/info/commit-graphs",
    "objects/pack/multi-pack-index.d",
    "logs",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
    "worktrees",
    "rr-cache",
    "worktrees/*",
    "rr-cache/*",
    "branches",
    "remotes",
];

/// The entries of a repository that may be links, because git prints nothing of them.
const HARMLESS_LINKS: [&str; 1] = ["hooks"];

/// The maximum number of entries in these directories.
const MAX_PRINTED_FILES: usize = 4096;

/// Returns whether a file of a repository may be a link. Git shows lines of many of its files, also
/// in errors.
fn has_links(repository: &Path) -> bool {
    let mut count = 0;
    PRINTED_DIRECTORIES.iter().any(|name| match name.strip_suffix("/*") {
        None => contains_link(&repository.join(name), &mut count),
        Some(above) => {
            let Ok(entries) = fs::read_dir(repository.join(above)) else { return false };
            entries.flatten().any(|entry| contains_link(&entry.path(), &mut count))
        }
    })
}

/// Directories with files whose lines git prints, below a directory of objects.
const OBJECT_DIRECTORIES: [&str; 5] =
    ["", "info", "pack", "info/commit-graphs", "pack/multi-pack-index.d"];

/// Returns whether a repository uses the objects of another one that has links in the place of
/// these files, or that uses those of a third one. What cannot be read could be such a repository.
fn borrows_links(objects: &Path) -> bool {
    let alternates = objects.join("info/alternates");
    if alternates.symlink_metadata().is_err() {
        return false;
    }
    let Some(text) = read_config(&alternates) else { return true };
    let mut count = 0;
    text.lines().filter(|line| !line.is_empty()).any(|line| {
        let other = objects.join(line);
        line.starts_with('"')
            || other.join("info/alternates").symlink_metadata().is_ok()
            || OBJECT_DIRECTORIES.iter().any(|name| contains_link(&other.join(name), &mut count))
    })
}

/// Returns whether an entry of a directory is a link.
fn contains_link(directory: &Path, count: &mut usize) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        *count += 1;
        let is_harmless = HARMLESS_LINKS.iter().any(|name| entry.file_name() == *name);
        *count > MAX_PRINTED_FILES
            || !is_harmless && entry.file_type().is_ok_and(|kind| kind.is_symlink())
    })
}

/// Returns the paths of the submodules in an index (gitformat-index(5)), or `None` if it cannot be
/// read. Git does not use `.gitmodules` here.
fn submodule_paths(own: &Path, config: &str) -> Option<Vec<String>> {
    // An index can refer to another file.
    let names = fs::read_dir(own).ok()?.filter_map(Result::ok).map(|entry| entry.file_name());
    if names.into_iter().any(|name| name.to_string_lossy().starts_with("sharedindex.")) {
        return None;
    }
    let path = own.join("index");
    if !path.exists() {
        return Some(Vec::new());
    }
    let meta = fs::metadata(&path).ok()?;
    let bytes =
        (meta.is_file() && meta.len() <= MAX_INDEX_BYTES).then(|| fs::read(&path).ok())??;
    match read_big_endian(&bytes, 4, 4)? {
        2 | 3 => gitlink_paths(&bytes, hash_length(config)?),
        // Other versions compress the names. Only the absence of submodules can be detected.
        _ => (!bytes.windows(4).any(|four| four == [0, 0, 0xE0, 0])).then(Vec::new),
    }
}

/// Returns the length of an object name in bytes, or `None` if the configuration specifies it in an
/// unusual way.
fn hash_length(config: &str) -> Option<usize> {
    let said = config.lines().filter_map(|line| line.split_once('='));
    let mut formats = said.filter(|(name, _)| name.trim().eq_ignore_ascii_case("objectformat"));
    match (formats.next().map(|(_, format)| format.trim()), formats.next()) {
        (None | Some("sha1"), None) => Some(20),
        (Some("sha256"), None) => Some(32),
        _ => None,
    }
}

/// The index of a repository.
pub(crate) struct Index {
    tree: AbsPath,
    entries: Vec<IndexEntry>,
    size: usize,
    /// The modification time of its file, in seconds and nanoseconds.
    written: (i64, i64),
}

/// An entry of an index.
pub(crate) struct IndexEntry {
    /// The path below the working tree.
    pub(crate) name: String,
    /// The recorded times of the last change of the state and of the content, each in seconds and
    /// nanoseconds.
    pub(crate) times: [usize; 4],
    /// The recorded size.
    pub(crate) size: usize,
    /// The first four bytes of the id of its object.
    pub(crate) id_start: usize,
    /// True if git does not look at the file in the working tree.
    pub(crate) is_assumed: bool,
}

/// An index that exists and whose entries are not known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnreadableIndex;

/// Returns the closest directory at or above another one that has a `.git`.
fn working_tree_above(place: &AbsPath) -> Option<&Path> {
    let mut places = Path::new(place.as_str()).ancestors();
    places.find(|above| above.join(".git").symlink_metadata().is_ok())
}

/// Returns whether the repository that git would find from a directory also contains the objects of
/// another repository (gitrepository-layout(5), `objects/info/alternates`).
pub(crate) fn borrows_objects(place: &AbsPath) -> bool {
    let Some(git) = working_tree_above(place).map(|tree| tree.join(".git")) else { return false };
    let found = find_git_directories(&git, git.is_dir());
    found.is_some_and(|found| {
        let list = found.common_dir.join("objects/info/alternates");
        list.symlink_metadata().is_ok_and(|list| !list.is_file() || list.len() > 0)
    })
}

/// Returns the index of the repository that git would find from a directory, or `None` if there is
/// no repository, or nothing in its index.
pub(crate) fn index_above(place: &AbsPath) -> Result<Option<Index>, UnreadableIndex> {
    let Some(tree) = working_tree_above(place) else { return Ok(None) };
    let git = tree.join(".git");
    if git.is_dir() && !may_be_git_dir(&git) {
        return Ok(None);
    }
    let found = find_git_directories(&git, git.is_dir()).ok_or(UnreadableIndex)?;
    let path = found.git_dir.join("index");
    if path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(None);
    }
    read_index(tree, &found, &path).map(Some).ok_or(UnreadableIndex)
}

fn read_index(tree: &Path, found: &GitDirectories, path: &Path) -> Option<Index> {
    let hash = match found.common_dir.join("config") {
        config if config.symlink_metadata().is_err() => 20,
        config => hash_length(&read_config(&config)?)?,
    };
    // The entries of a split index are in another file.
    let names = fs::read_dir(&found.git_dir).ok()?.filter_map(Result::ok);
    if names
        .into_iter()
        .any(|entry| entry.file_name().to_string_lossy().starts_with("sharedindex."))
    {
        return None;
    }
    let meta = fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() <= MAX_INDEX_BYTES).then_some(())?;
    let bytes = fs::read(path).ok()?;
    let entries = index_entries(&bytes, hash)?;
    // A directory of a sparse index stands for all files in it.
    if entries.iter().any(|entry| entry.name.ends_with('/')) {
        return None;
    }
    Some(Index {
        tree: AbsPath::new(tree.to_str()?).ok()?,
        entries,
        size: bytes.len(),
        written: (meta.mtime(), meta.mtime_nsec()),
    })
}

/// Returns the entries of an index (gitformat-index(5)).
fn index_entries(bytes: &[u8], hash: usize) -> Option<Vec<IndexEntry>> {
    const EXTENDED: usize = 0x4000;
    const ASSUME_VALID: usize = 0x8000;
    const SKIP_WORKTREE: usize = 0x4000;
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let version = read_big_endian(bytes, 4, 4)?;
    let mut found = Vec::new();
    let (mut at, mut last) = (12, Vec::new());
    for _ in 0..read_big_endian(bytes, 8, 4)? {
        let number = |offset: usize| read_big_endian(bytes, at + offset, 4);
        let times = [number(0)?, number(4)?, number(8)?, number(12)?];
        let (size, id_start) = (number(36)?, number(40)?);
        let flags = read_big_endian(bytes, at + 40 + hash, 2)?;
        let is_extended = flags & EXTENDED != 0;
        let extended = if is_extended { read_big_endian(bytes, at + 42 + hash, 2)? } else { 0 };
        let is_assumed = flags & ASSUME_VALID != 0 || extended & SKIP_WORKTREE != 0;
        let name_at = at + 42 + hash + if is_extended { 2 } else { 0 };
        at = match version {
            2 | 3 => {
                let length = bytes.get(name_at..)?.iter().position(|byte| *byte == 0)?;
                last = bytes.get(name_at..name_at + length)?.to_vec();
                at + ((name_at - at + length + 8) & !7)
            }
            // A name is the beginning of the name before it, and another end.
            4 => {
                let (removed, end_at) = read_offset_number(bytes, name_at)?;
                let length = bytes.get(end_at..)?.iter().position(|byte| *byte == 0)?;
                last.truncate(last.len().checked_sub(removed)?);
                last.extend(bytes.get(end_at..end_at + length)?);
                end_at + length + 1
            }
            _ => return None,
        };
        let name = String::from_utf8_lossy(&last).into_owned();
        found.push(IndexEntry { name, times, size, id_start, is_assumed });
    }
    Some(found)
}

/// Reads a number of variable length, as pack files encode offsets. Returns it with the position
/// after it.
fn read_offset_number(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = usize::from(*bytes.get(at)?);
    let mut number = byte & 0x7F;
    while byte & 0x80 != 0 {
        at += 1;
        byte = usize::from(*bytes.get(at)?);
        number = number.checked_add(1)?.checked_mul(0x80)?.checked_add(byte & 0x7F)?;
    }
    Some((number, at + 1))
}

impl Index {
    /// Returns the working tree.
    pub(crate) const fn tree(&self) -> &AbsPath {
        &self.tree
    }

    /// Returns the size of the index in bytes.
    pub(crate) const fn len(&self) -> usize {
        self.size
    }

    /// Returns the entries.
    pub(crate) fn entries(&self) -> &[IndexEntry] {
        &self.entries
    }

    /// Returns the modification time of the index, in seconds and nanoseconds.
    pub(crate) const fn written(&self) -> (i64, i64) {
        self.written
    }
}

/// The names of an index below its working tree, or `None` if they are not known.
type TrackedNames = Option<(AbsPath, HashSet<String>)>;

/// The files that the repositories of a search track. Each repository is read once.
#[derive(Default)]
pub(crate) struct TrackedFiles(RefCell<HashMap<PathBuf, TrackedNames>>);

impl TrackedFiles {
    /// Returns whether git may track a file. Lists of ignored files do not apply to it then.
    pub(crate) fn may_track(&self, path: &AbsPath) -> bool {
        let mut above = Path::new(path.as_str()).ancestors().skip(1);
        let tree = above.find(|above| above.join(".git").symlink_metadata().is_ok());
        let Some(tree) = tree else { return false };
        let mut known = self.0.borrow_mut();
        let names = known.entry(tree.to_path_buf()).or_insert_with(|| {
            let tree = AbsPath::new(tree.to_str()?).ok()?;
            let index = index_above(&tree).ok()?;
            let names = index.map(|index| {
                index.entries.into_iter().map(|entry| entry.name).collect::<HashSet<_>>()
            });
            Some((tree, names.unwrap_or_default()))
        });
        names.as_ref().is_none_or(|(tree, names)| {
            path.strip_prefix(tree).is_none_or(|below| names.contains(below))
        })
    }
}

fn gitlink_paths(bytes: &[u8], hash: usize) -> Option<Vec<String>> {
    const LINK: usize = 0o160_000;
    const EXTENDED: usize = 0x4000;
    let mut found = Vec::new();
    let mut at = 12;
    for _ in 0..read_big_endian(bytes, 8, 4)? {
        let flags = read_big_endian(bytes, at + 40 + hash, 2)?;
        let name_at = at + 42 + hash + if flags & EXTENDED == 0 { 0 } else { 2 };
        let rest = bytes.get(name_at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        if read_big_endian(bytes, at + 24, 4)? == LINK {
            found.push(String::from_utf8(rest.get(..length)?.to_vec()).ok()?);
        }
        at += (name_at - at + length + 8) & !7;
    }
    Some(found)
}

/// Reads a big-endian number at an offset.
fn read_big_endian(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// Returns whether git could accept the directory itself as a repository (gitrepository-layout(5)).
/// `HEAD` may be a dangling link, and the other files may be in the directory that `commondir`
/// names.
fn may_be_git_dir(directory: &Path) -> bool {
    directory.join("HEAD").symlink_metadata().is_ok()
        && (directory.join("commondir").exists()
            || directory.join("objects").exists() && directory.join("refs").exists())
}

/// Returns whether git certainly accepts this as a repository: `HEAD` names a branch or a commit,
/// and the directories that all working trees share can be entered.
fn is_valid_git_dir(found: &GitDirectories) -> bool {
    let head = found.git_dir.join("HEAD");
    let named = read_config(&head).is_some_and(|text| {
        let commit = || text.trim_end().len() >= 40 && text.trim_end().bytes().all(is_hex_digit);
        text.starts_with("ref: refs/") || commit()
    });
    named
        && !head.is_symlink()
        && ["objects", "refs"].iter().all(|name| found.common_dir.join(name).join(".").exists())
}

const fn is_hex_digit(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

/// Returns the directories of a repository: `.git` itself, or the directory that a `.git` file
/// names.
fn find_git_directories(git: &Path, is_directory: bool) -> Option<GitDirectories> {
    let own = if is_directory {
        git.to_path_buf()
    } else {
        let text = read_config(git)?;
        git.parent()?.join(trim_line_end(text.strip_prefix("gitdir: ")?))
    };
    if own.join("config.worktree").exists() {
        return None;
    }
    let said = own.join("commondir");
    let common = match said.symlink_metadata() {
        Ok(_) => own.join(trim_line_end(&read_config(&said)?)),
        Err(_) => own.clone(),
    };
    Some(GitDirectories { git_dir: own, common_dir: common })
}

/// Returns the path in a file that contains only a path. Git removes line endings, but no other
/// whitespace.
fn trim_line_end(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

/// Returns the configuration, if nothing in it runs a program. The configuration of a submodule may
/// name its working tree, as git writes it.
fn read_harmless_config(directory: &Path, submodule: Option<&Path>) -> Option<String> {
    // Read-only commands can write the index again, and then this hook runs (githooks(5)).
    if directory.join("hooks/post-index-change").exists()
        || directory.join("config.worktree").exists()
    {
        return None;
    }
    let text = read_config(&directory.join("config"))?;
    let rest = match submodule {
        Some(tree) => without_worktree_setting(&text, directory, tree),
        None => text.clone(),
    };
    is_harmless_config(&rest).then_some(text)
}

/// Removes the lines that name this working tree.
fn without_worktree_setting(text: &str, directory: &Path, tree: &Path) -> String {
    let own = |line: &&str| match line.trim().split_once('=') {
        Some((name, value)) if name.trim() == "worktree" => {
            let named = fs::canonicalize(directory.join(value.trim())).ok();
            named.is_some() && named == fs::canonicalize(tree).ok()
        }
        _ => false,
    };
    text.lines().filter(|line| !own(line)).fold(String::new(), |all, line| all + line + "\n")
}

fn read_config(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() <= MAX_CONFIG_BYTES).then(|| fs::read_to_string(path).ok())?
}

/// Keys that git writes itself or that people set, and that run nothing: section and name.
const HARMLESS_KEYS: &[(&str, &[&str])] = &[
    ("branch", &["merge", "rebase", "remote", "vscode-merge-base", "gh-merge-base"]),
    (
        "core",
        &[
            "autocrlf",
            "bare",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "repositoryformatversion",
            "symlinks",
        ],
    ),
    ("extensions", &["objectformat", "refstorage"]),
    ("fetch", &["prune"]),
    ("init", &["defaultbranch"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default"]),
    ("remote", &["fetch", "pushurl", "tagopt", "url"]),
    ("submodule", &["active", "url"]),
    ("user", &["email", "name", "signingkey"]),
];

/// Returns whether every line is a section, a comment or a known key. Everything else is not
/// harmless, such as an `include`, a value that continues on the next line, or a bare repository
/// with a working tree elsewhere.
fn is_harmless_config(text: &str) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = header.split([' ', '.']).next().unwrap_or_default().to_ascii_lowercase();
            return !header.contains(']'); // A key may follow, and a comment that ends so.
        }
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        !line.ends_with('\\') && is_harmless_key(&section, name.trim()) && is_harmless_value(value)
    })
}

fn is_harmless_key(section: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    HARMLESS_KEYS.iter().any(|(known, names)| *known == section && names.contains(&name.as_str()))
}

/// Returns whether a value is harmless. `ext::` URLs run the command that they contain. Git removes
/// quotes anywhere in a value, so they are ignored.
fn is_harmless_value(value: &str) -> bool {
    !value.replace('"', "").contains("::")
}

#[cfg(test)]
mod tests;
