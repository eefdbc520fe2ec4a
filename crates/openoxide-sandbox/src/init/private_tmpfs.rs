//! Private directories for temporary files, and empty covers.

use std::{
    ffi::CString,
    fs::{self, Permissions},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::PermissionsExt as _,
    },
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{FileType, Mode, OFlags, fstat, openat},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, OpenTreeFlags, UnmountFlags,
        fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount, open_tree, unmount,
    },
};

use crate::{
    init::{
        mount_operations::clone_tree,
        temporary_directories::{TEMPORARY_DIRECTORIES, is_temporary},
    },
    interface::ResourceLimits,
    sys::{MountAttributes, set_attributes},
};

/// The mount point of the file system while its directories are cloned. A new `/dev` covers it
/// afterwards.
const WORK_DIRECTORY: &str = "/dev";

/// A tmpfs that all temporary files of a run share, so that its size limits them together.
pub(super) struct PrivateTmpfs(());

impl PrivateTmpfs {
    /// Mounts the tmpfs.
    pub(super) fn mount(limits: ResourceLimits) -> io::Result<Self> {
        let options = CString::new(format!("mode=700,size={}", max_bytes(limits)))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("tmpfs", WORK_DIRECTORY, "tmpfs", flags, options.as_c_str())?;
        Ok(Self(()))
    }

    /// Creates an empty directory of the tmpfs for each directory for temporary files. If one of
    /// these is a link to another, it is left as it is.
    pub(super) fn create_temporary_directories(&self) -> io::Result<Vec<(&'static str, OwnedFd)>> {
        let is_directory =
            |place: &str| fs::symlink_metadata(place).is_ok_and(|found| found.is_dir());
        let places = TEMPORARY_DIRECTORIES.iter().filter(|place| is_directory(place));
        let create = |(number, place): (usize, &&'static str)| {
            Ok((*place, self.create_shared_directory(&number.to_string())?))
        };
        places.enumerate().map(create).collect()
    }

    /// Returns a new empty directory in which all users may write.
    pub(super) fn create_shared_directory(&self, name: &str) -> io::Result<OwnedFd> {
        let path = self.create_private_directory(name)?;
        fs::set_permissions(&path, Permissions::from_mode(0o1777))?;
        clone_tree(&path)
    }

    /// Creates a new empty directory that only this process can access, and returns its path.
    pub(super) fn create_private_directory(&self, name: &str) -> io::Result<String> {
        let path = format!("{WORK_DIRECTORY}/{name}");
        fs::create_dir(&path)?;
        Ok(path)
    }

    /// Detaches the mount. Trees that were cloned from it stay.
    pub(super) fn detach(self) -> io::Result<()> {
        Ok(unmount(WORK_DIRECTORY, UnmountFlags::DETACH)?)
    }
}

/// Returns the maximum size of all temporary files in bytes: half of the memory that the program
/// may have, but at most half of the machine's memory.
fn max_bytes(limits: ResourceLimits) -> u64 {
    let about = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let half = half_of_memory(&about).unwrap_or(FALLBACK_MEMORY);
    limits.memory.map_or(half, |memory| half.min(memory / 2)).max(1 << 20)
}

/// The value for half of the machine's memory if it is unknown.
const FALLBACK_MEMORY: u64 = 1 << 30;

/// Returns half of the machine's memory (proc_meminfo(5)).
fn half_of_memory(about: &str) -> Option<u64> {
    let total = about.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes.saturating_mul(1024) / 2)
}

/// Creates a mount point again that one of these directories hides, of the same type as the tree
/// that is mounted there.
pub(super) fn recreate_mount_point(path: &AbsPath, tree: impl AsFd) -> io::Result<()> {
    if !is_temporary(path) || fs::symlink_metadata(path.as_str()).is_ok() {
        return Ok(());
    }
    if FileType::from_raw_mode(fstat(tree)?.st_mode) == FileType::Directory {
        return fs::create_dir_all(path.as_str());
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory.as_str())?;
    }
    fs::OpenOptions::new().append(true).create(true).open(path.as_str()).map(drop)
}

/// Creates an empty entry that cannot be read, of the type that can be mounted over this path.
pub(super) fn create_empty_cover(place: impl AsFd) -> io::Result<OwnedFd> {
    let directory = FileType::from_raw_mode(fstat(place)?.st_mode) == FileType::Directory;
    let new = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(new.as_fd(), "mode", "000")?;
    fsconfig_set_string(new.as_fd(), "size", "4k")?;
    fsconfig_create(new.as_fd())?;
    let sealed =
        if directory { MountAttrFlags::MOUNT_ATTR_RDONLY } else { MountAttrFlags::empty() };
    let tree = fsmount(new.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, sealed)?;
    if directory { Ok(tree) } else { create_empty_file(&tree) }
}

/// Creates a directory for files of this total size, which replaces an unreadable one. Its owner can
/// open files in it whose names are known, and list it.
pub(super) fn create_directory_cover(bytes: usize) -> io::Result<OwnedFd> {
    /// Enough for the partial pages of some files.
    const SPARE_BYTES: usize = 1 << 20;
    let new = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(new.as_fd(), "mode", "700")?;
    fsconfig_set_string(new.as_fd(), "size", (bytes + SPARE_BYTES).to_string())?;
    fsconfig_create(new.as_fd())?;
    Ok(fsmount(new.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
}

/// Creates an empty file in such a directory.
fn create_empty_file(tree: &OwnedFd) -> io::Result<OwnedFd> {
    drop(openat(tree, c"x", OFlags::CREATE | OFlags::CLOEXEC | OFlags::WRONLY, Mode::empty())?);
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let file = open_tree(tree, c"x", flags)?;
    let read_only =
        MountAttributes { set: MountAttributes::READ_ONLY, ..MountAttributes::default() };
    set_attributes(file.as_fd(), c"", read_only)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_half_of_the_memory_is_read() {
        let about = "MemTotal:       24576000 kB\nMemFree:        1 kB\n";
        assert_eq!(half_of_memory(about), Some(12_582_912_000));
        assert_eq!((half_of_memory(""), half_of_memory("MemTotal: x kB")), (None, None));
    }

    #[test]
    fn temporary_files_get_half_of_the_memory_limit() {
        let limits = |memory| ResourceLimits { memory, ..ResourceLimits::default() };
        assert_eq!(max_bytes(limits(Some(64 << 20))), 32 << 20);
        assert!(
            max_bytes(limits(Some(u64::MAX))) == max_bytes(limits(None))
                && max_bytes(limits(None)) > 1 << 20
        );
    }
}
