//! The index of a repository (gitformat-index(5)).

use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path};

use openoxide_protocol::AbsPath;
use openoxide_store::read_regular_file;

use super::git_directories::{
    GitDirectories, find_git_directories, may_be_git_dir, read_config, working_tree_above,
};

/// The maximum size of an index.
const MAX_INDEX_BYTES: u64 = 1 << 27;

/// The index of a repository.
pub(crate) struct Index {
    tree: AbsPath,
    pub(super) entries: Vec<IndexEntry>,
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

/// The maximum number of submodules. Each one is looked up.
const MAX_SUBMODULES: usize = 2_000;

/// An index that exists and whose entries are not known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnreadableIndex;

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

    /// Returns whether a file may differ from its entry: git compares these numbers first, too. If
    /// the file was changed when the index was written, or later, git compares the content.
    pub(crate) fn may_differ(&self, entry: &IndexEntry) -> bool {
        let path = self.tree.join(&entry.name);
        fs::symlink_metadata(path.as_str()).map_or(true, |meta| {
            let [changed, changed_nanos, modified, modified_nanos] = entry.times;
            let low = |number: i64| usize::try_from(number & 0xFFFF_FFFF).ok();
            let is = |recorded: usize, found: i64| low(found) == Some(recorded);
            // Git records no fractions of seconds if it was built without them.
            let is_fraction = |recorded: usize, found: i64| recorded == 0 || is(recorded, found);
            let is_same = is(changed, meta.ctime())
                && is_fraction(changed_nanos, meta.ctime_nsec())
                && is(modified, meta.mtime())
                && is_fraction(modified_nanos, meta.mtime_nsec())
                && usize::try_from(meta.size() & 0xFFFF_FFFF).ok() == Some(entry.size);
            let is_racy = (meta.mtime(), meta.mtime_nsec()) >= self.written
                || modified_nanos == 0 && meta.mtime() >= self.written.0;
            !is_same || is_racy
        })
    }
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
    let bytes = read_regular_file(path, MAX_INDEX_BYTES).ok()?;
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

/// Returns the paths of the submodules in an index (gitformat-index(5)), or `None` if it cannot be
/// read or has too many. Git does not use `.gitmodules` here.
pub(super) fn submodule_paths(own: &Path, config: &str) -> Option<Vec<String>> {
    // An index can refer to another file.
    let names = fs::read_dir(own).ok()?.filter_map(Result::ok).map(|entry| entry.file_name());
    if names.into_iter().any(|name| name.to_string_lossy().starts_with("sharedindex.")) {
        return None;
    }
    let path = own.join("index");
    if !path.exists() {
        return Some(Vec::new());
    }
    let bytes = read_regular_file(&path, MAX_INDEX_BYTES).ok()?;
    match read_big_endian(&bytes, 4, 4)? {
        2 | 3 => gitlink_paths(&bytes, hash_length(config)?),
        // Other versions compress the names. Only the absence of submodules can be detected.
        _ => (!bytes.windows(4).any(|four| four == [0, 0, 0xE0, 0])).then(Vec::new),
    }
}

/// Returns the length of an object name in bytes, or `None` if the configuration specifies it in an
/// unusual way.
pub(super) fn hash_length(config: &str) -> Option<usize> {
    let said = config.lines().filter_map(|line| line.split_once('='));
    let mut formats = said.filter(|(name, _)| name.trim().eq_ignore_ascii_case("objectformat"));
    match (formats.next().map(|(_, format)| format.trim()), formats.next()) {
        (None | Some("sha1"), None) => Some(20),
        (Some("sha256"), None) => Some(32),
        _ => None,
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
            (found.len() < MAX_SUBMODULES).then_some(())?;
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
