//! Other places where the same files are mounted. A path that must not be read at one place must
//! not be read at any.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;

/// One line of proc_pid_mountinfo(5): a directory of a file system, and its mount point.
#[derive(Debug, PartialEq, Eq)]
struct MountEntry {
    device: String,
    root: PathBuf,
    mount_point: PathBuf,
}

/// Adds all other places where these paths are mounted.
///
/// # Errors
/// Returns an error if the kernel does not report the mounts, or if a path cannot be represented as
/// an `AbsPath`.
pub(super) fn add_aliases(paths: &mut BTreeSet<AbsPath>) -> io::Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let mounts = parse_mounts(&fs::read_to_string("/proc/self/mountinfo")?);
    let known: Vec<_> = paths.iter().map(|path| PathBuf::from(path.as_str())).collect();
    for alias in known
        .iter()
        .flat_map(|path| find_aliases(&mounts, path))
        .filter(|alias| !known.contains(alias))
    {
        let text = alias.to_str().ok_or(ErrorKind::InvalidFilename)?;
        paths.insert(AbsPath::new(text).map_err(io::Error::other)?);
    }
    Ok(())
}

/// Returns the other places where a path, or a part of it, is mounted, if something exists there.
fn find_aliases(mounts: &[MountEntry], path: &Path) -> Vec<PathBuf> {
    // Of several mounts at one place, the last one is visible.
    let around = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    let Some(inner) = around.max_by_key(|mount| mount.mount_point.components().count()) else {
        return Vec::new();
    };
    let Ok(rest) = path.strip_prefix(&inner.mount_point) else { return Vec::new() };
    let whole = inner.root.join(rest);
    let same = mounts.iter().filter(|mount| mount.device == inner.device);
    same.filter_map(|mount| match whole.strip_prefix(&mount.root) {
        Ok(below) => {
            Some(join_path(&mount.mount_point, below)).filter(|place| is_same_file(place, path))
        }
        // A part of the path is mounted elsewhere.
        Err(_) => mount.root.starts_with(&whole).then(|| mount.mount_point.clone()),
    })
    .filter(|place| !place.starts_with(path) && place.symlink_metadata().is_ok())
    .collect()
}

fn join_path(place: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { place.to_owned() } else { place.join(below) }
}

/// Returns whether both paths are the same file. Another mount may cover one of them.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| path.symlink_metadata().map(|found| (found.dev(), found.ino())).ok();
    file(one).is_some() && file(one) == file(other)
}

fn parse_mounts(mounts: &str) -> Vec<MountEntry> {
    mounts.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<MountEntry> {
    let mut fields = line.split(' ').skip(2);
    let (device, root, place) = (fields.next()?, fields.next()?, fields.next()?);
    Some(MountEntry {
        device: device.to_owned(),
        root: unescape(root)?,
        mount_point: unescape(place)?,
    })
}

/// Decodes a field, in which space, tab, line feed and backslash are written as three octal digits.
fn unescape(field: &str) -> Option<PathBuf> {
    let mut parts = field.split('\\');
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        let byte = u8::from_str_radix(part.get(..3)?, 8).ok()?;
        plain.push(char::from(byte));
        plain.push_str(part.get(3..)?);
    }
    Some(plain.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines have the format of proc_pid_mountinfo(5). The duplicate mounts are invented.
    #[test]
    fn other_places_of_a_path_are_found() {
        let mounts = parse_mounts(
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
             30 22 8:1 /usr/bin /a\\040b rw - ext4 /dev/sda1 rw\n\
             31 22 8:1 / /proc rw - ext4 /dev/sda1 rw\n\
             32 22 8:1 /usr/bin/env /etc rw - ext4 /dev/sda1 rw\n\
             33 22 0:9 / /usr rw - tmpfs tmpfs rw",
        );
        let place = |at: usize| mounts.get(at).map(|mount| mount.mount_point.clone());
        assert_eq!(place(1), Some(PathBuf::from("/a b")));
        assert_eq!(
            find_aliases(&mounts, Path::new("/usr/bin")),
            Vec::<PathBuf>::new(),
            "another file system is mounted over it"
        );
        let above = mounts.get(..4).unwrap();
        assert_eq!(
            find_aliases(above, Path::new("/usr")),
            [Path::new("/etc")],
            "and what is not there is left out"
        );
    }
}
