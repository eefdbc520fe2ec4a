//! Attributes of mounts, optionally for a whole tree at once: mount_setattr(2).

use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd as _, BorrowedFd},
};

/// The changes of a mount, and optionally of all mounts below it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MountAttributes {
    /// The `MOUNT_ATTR_…` flags to set.
    pub(crate) set: u64,
    /// The `MOUNT_ATTR_…` flags to clear.
    pub(crate) clear: u64,
    /// True if mounts made elsewhere do not propagate here.
    pub(crate) private: bool,
    /// True if the mounts below are changed, too.
    pub(crate) recursive: bool,
}

impl MountAttributes {
    // linux/mount.h
    pub(crate) const READ_ONLY: u64 = 0x1;
    pub(crate) const NO_SETUID: u64 = 0x2;
    pub(crate) const NO_DEVICES: u64 = 0x4;
}

/// `struct mount_attr` (linux/mount.h).
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns_fd: u64,
}

/// Changes the mount at `path`, relative to `directory`. An empty `path` means `directory` itself.
pub(crate) fn set_attributes(
    directory: BorrowedFd<'_>,
    path: &CStr,
    attributes: MountAttributes,
) -> io::Result<()> {
    let mut flags = libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW;
    if attributes.recursive {
        flags |= libc::AT_RECURSIVE;
    }
    let attr = MountAttr {
        set: attributes.set,
        clear: attributes.clear,
        propagation: if attributes.private { libc::MS_PRIVATE } else { 0 },
        userns_fd: 0,
    };
    // SAFETY: `path` ends in NUL and `attr` is a complete `MountAttr` of the given size. Both
    // outlive the call, which only reads them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            directory.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
