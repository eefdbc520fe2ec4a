//! The covers of unreadable paths. In the cover of a directory, some of its files can be read.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write as _},
    os::fd::AsFd as _,
    path::Path,
};

use openoxide_protocol::AbsPath;
use rustix::fs::{Mode, OFlags, openat};

use crate::{
    init::{
        mount_operations::{attach_tree_at, open_without_links},
        private_tmpfs,
    },
    sys::{MountAttributes, set_attributes},
};

/// The maximum number of attempts to cover a path that programs of the host replace.
const MAX_COVER_ATTEMPTS: usize = 8;
/// The maximum size of a file whose copy can be read.
const MAX_COPY_BYTES: u64 = 8 << 20;

/// Covers an unreadable path with an empty entry. A missing path needs no cover. If it is a
/// directory, the cover contains copies of the files in `copied` that are directly in it.
pub(super) fn hide_path(path: &AbsPath, copied: &BTreeSet<AbsPath>) -> io::Result<()> {
    for _ in 1..MAX_COVER_ATTEMPTS {
        match cover_path(path, copied) {
            // The entry was removed after it was opened. Another one can have replaced it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => return done,
        }
    }
    cover_path(path, copied)
}

fn cover_path(path: &AbsPath, copied: &BTreeSet<AbsPath>) -> io::Result<()> {
    let place = match open_without_links(path.as_str()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        place => place?,
    };
    let files = read_files(path, copied);
    let cover = if files.is_empty() {
        private_tmpfs::create_empty_cover(&place)?
    } else {
        let cover = private_tmpfs::create_directory_cover(total_bytes(&files))?;
        for (name, content) in &files {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let mode = Mode::RUSR;
            File::from(openat(&cover, *name, flags, mode)?).write_all(content)?;
        }
        let set = MountAttributes::READ_ONLY;
        set_attributes(cover.as_fd(), c"", MountAttributes { set, ..MountAttributes::default() })?;
        cover
    };
    attach_tree_at(&cover, &place)
}

/// Reads the files directly in a directory. Missing and large ones are left out.
fn read_files<'a>(directory: &AbsPath, copied: &'a BTreeSet<AbsPath>) -> Vec<(&'a str, Vec<u8>)> {
    let inside = copied.iter().filter(|file| file.parent().as_ref() == Some(directory));
    inside
        .filter_map(|file| Some((file.file_name()?, read_small_file(file.as_str().as_ref())?)))
        .collect()
}

fn read_small_file(path: &Path) -> Option<Vec<u8>> {
    let found = fs::metadata(path).ok()?;
    let is_small = found.is_file() && found.len() <= MAX_COPY_BYTES;
    is_small.then(|| fs::read(path).ok()).flatten()
}

fn total_bytes(files: &[(&str, Vec<u8>)]) -> usize {
    files.iter().map(|(_, content)| content.len()).sum()
}
