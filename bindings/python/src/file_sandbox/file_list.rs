//! Listing of the files below an open directory. Symbolic links are neither followed nor listed.

use std::{
    ffi::OsStr,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use openoxide_permission::glob::{Glob, MatchOptions, matches};
use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat},
    io::Errno,
};

use super::file_error::FileError;
use crate::anchored_open::OpenMethod;

/// The maximum number of entries that are examined.
const MAX_ENTRIES: usize = 100_000;
/// The maximum depth of directories.
const MAX_DEPTH: usize = 64;

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// A pattern for paths: `*` and `?` match within a name, and `**` matches any directories.
pub(crate) struct NamePattern(Vec<u8>);

impl NamePattern {
    /// Parses a pattern.
    pub(crate) fn new(text: &str) -> Self {
        let mut glob = Glob::new();
        for component in text.split('/').filter(|component| !matches!(*component, "" | ".")) {
            if component == "**" {
                glob.push_any_parts();
            } else {
                push_component(&mut glob, component);
            }
        }
        Self(glob.finish())
    }

    /// Returns whether a relative path matches.
    fn matches(&self, path: &Path) -> bool {
        let subject = [path.as_os_str().as_bytes(), b"/"].concat();
        let options = MatchOptions { separator: b'/', ignores_case: false };
        matches(&self.0, &subject, options)
    }
}

fn push_component(glob: &mut Glob, component: &str) {
    let mut buffer = [0; 4];
    for character in component.chars() {
        match character {
            '*' => glob.push_any_in_part(),
            '?' => glob.push_any_char(),
            other => glob.push_literal(other.encode_utf8(&mut buffer).as_bytes()),
        }
    }
    glob.push_literal(b"/");
}

/// Returns the paths of the regular files below a directory that match a pattern, relative to it.
/// Names that are not UTF-8 are left out.
///
/// # Errors
/// Returns an error if the path is no directory, or if there are too many files.
pub(crate) fn list_files(
    root: &OwnedFd,
    path: &Path,
    pattern: &NamePattern,
    method: OpenMethod,
) -> Result<Vec<PathBuf>, FileError> {
    let directory = method.open_below(root, path, OFlags::DIRECTORY)?;
    let mut walk = Walk { pattern, found: Vec::new(), remaining: MAX_ENTRIES };
    walk.visit(&directory, Path::new(""), 0)?;
    walk.found.sort_unstable();
    Ok(walk.found)
}

struct Walk<'a> {
    pattern: &'a NamePattern,
    found: Vec<PathBuf>,
    remaining: usize,
}

impl Walk<'_> {
    fn visit(&mut self, directory: &OwnedFd, path: &Path, depth: usize) -> Result<(), FileError> {
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") || std::str::from_utf8(name).is_err() {
                continue;
            }
            let more = self.remaining.checked_sub(1);
            self.remaining = more.ok_or(FileError::TooMany { limit: MAX_ENTRIES })?;
            let name = OsStr::from_bytes(name);
            self.visit_entry(directory, name, path.join(name), depth)?;
        }
        Ok(())
    }

    fn visit_entry(
        &mut self,
        directory: &OwnedFd,
        name: &OsStr,
        path: PathBuf,
        depth: usize,
    ) -> Result<(), FileError> {
        let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if self.pattern.matches(&path) => self.found.push(path),
            FileType::Directory if depth < MAX_DEPTH => {
                match openat(directory, name, DIRECTORY, Mode::empty()) {
                    Ok(inner) => self.visit(&inner, &path, depth + 1)?,
                    // It was removed, replaced by a link, or cannot be read.
                    Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::ACCESS) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            _ => {}
        }
        Ok(())
    }
}
