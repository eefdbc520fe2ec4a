//! The Unix sockets in the file system that belong to the sandbox: those that were bound in its
//! network namespace.

use std::{
    fs, io,
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
    sync::{Mutex, PoisonError},
};

use rustix::{
    fs::{FileType, fstat},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send,
        socket_with,
    },
};

use crate::{network::netlink::build_message, seccomp::PendingSyscall, sys};

const BY_FAMILY: u16 = 20;
const DONE: u16 = 3;
/// The flags of a request for all sockets.
const REQUEST_ALL: u16 = 0x301;
/// The maximum size of one answer of the kernel.
const ANSWER_BUFFER_BYTES: usize = 64 * 1024;

/// The identity of a file in the kernel's diagnostics: the device of its file system and the lower
/// half of its inode number.
type DiagFileId = (u32, u32);

/// Opens a socket to the kernel's list of the sockets of this process's network namespace
/// (sock_diag(7)).
///
/// # Errors
/// Returns an error if the kernel does not provide such lists.
pub(crate) fn open_diagnostics() -> io::Result<OwnedFd> {
    let (family, protocol) = (AddressFamily::NETLINK, Some(netlink::SOCK_DIAG));
    Ok(socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?)
}

/// The sockets of the sandbox, and those of the host, which are never sockets of the sandbox.
#[derive(Debug)]
pub(crate) struct SandboxSockets {
    network_cookie: u64,
    sandbox_list: SocketDiagnostics,
    host_list: SocketDiagnostics,
}

impl SandboxSockets {
    /// Creates an instance from the socket that [`open_diagnostics`] opened inside.
    ///
    /// # Errors
    /// Returns the same errors as [`open_diagnostics`].
    pub(crate) fn new(inside: OwnedFd) -> io::Result<Self> {
        let network = sys::network_cookie(inside.as_fd())?;
        Ok(Self {
            network_cookie: network,
            sandbox_list: SocketDiagnostics::new(inside),
            host_list: SocketDiagnostics::new(open_diagnostics()?),
        })
    }

    /// Returns whether a socket was created in the sandbox's network namespace. A socket that was
    /// passed in from outside, for example as standard input, would connect outside.
    pub(crate) fn contains(&self, socket: &OwnedFd) -> bool {
        sys::network_cookie(socket.as_fd()).is_ok_and(|network| network == self.network_cookie)
    }

    /// Returns whether a process of the sandbox listens at this file. The kernel reports only the
    /// lower half of the file's number, so the result is false if the host has bound a socket with
    /// the same lower half.
    pub(crate) fn has_listener(
        &self,
        file: &OwnedFd,
        call: &PendingSyscall<'_>,
    ) -> Result<bool, Errno> {
        if FileType::from_raw_mode(fstat(file)?.st_mode) != FileType::Socket {
            return Err(Errno::CONNREFUSED);
        }
        let identity = read_file_id(file, call).ok_or(Errno::ACCESS)?;
        Ok(self.sandbox_list.has_listener(identity)? && !self.host_list.has_listener(identity)?)
    }
}

/// Returns the identity that the diagnostics use for a file. The device from stat(2) is different
/// on btrfs and overlays, so the device of the mount is used.
fn read_file_id(file: &OwnedFd, call: &PendingSyscall<'_>) -> Option<DiagFileId> {
    let about = fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
    let field = |name: &str| {
        about.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    let (mount, number) = (field("mnt_id:")?.to_string(), field("ino:")?);
    let device = mount_device(&call.read_mounts().ok()?, &mount)?;
    Some((device, u32::try_from(number & 0xffff_ffff).ok()?))
}

/// Returns the device of a mount, in the kernel's own form (20 bits of minor number).
fn mount_device(mounts: &str, mount: &str) -> Option<u32> {
    let mut fields = mounts.lines().map(|line| line.split(' '));
    let mut fields = fields.find_map(|mut line| (line.next()? == mount).then_some(line))?;
    let (major, minor) = fields.nth(1)?.split_once(':')?;
    Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
}

/// The kernel's list of one network namespace, and the number of requests so far.
#[derive(Debug)]
struct SocketDiagnostics(Mutex<(OwnedFd, u32)>);

impl SocketDiagnostics {
    fn new(socket: OwnedFd) -> Self {
        Self(Mutex::new((socket, 0)))
    }

    /// Requests all listening Unix sockets, and returns whether one of them is bound at this file.
    fn has_listener(&self, identity: DiagFileId) -> Result<bool, Errno> {
        const UNIX: u32 = 1;
        const LISTENING: u32 = 1 << 10;
        const FILES: u32 = 2;
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (socket, asked) = &mut *list;
        *asked = asked.wrapping_add(1);
        let body = [UNIX, LISTENING, 0, FILES, 0, 0].map(u32::to_ne_bytes).concat();
        send(&*socket, &build_message(BY_FAMILY, REQUEST_ALL, *asked, &body), SendFlags::empty())?;
        let (mut found, mut answer) = (false, vec![0; ANSWER_BUFFER_BYTES]);
        loop {
            let (length, _) = recv(&*socket, answer.as_mut_slice(), RecvFlags::empty())?;
            let messages = NetlinkMessages(answer.get(..length).unwrap_or_default());
            // The rest of the answer to an earlier request that failed is ignored.
            for (kind, _, body) in messages.filter(|(_, number, _)| number == asked) {
                match kind {
                    BY_FAMILY => found |= is_bound_at(body, identity),
                    DONE => return Ok(found),
                    _ => return Err(Errno::ACCESS),
                }
            }
        }
    }
}

/// Returns whether a socket (`struct unix_diag_msg` and its attributes) is bound at this file.
fn is_bound_at(socket: &[u8], identity: DiagFileId) -> bool {
    const FILE: u16 = 1;
    let mut attributes = NetlinkAttributes(socket.get(16..).unwrap_or_default());
    attributes.any(|(kind, value)| kind == FILE && parse_vfs(value) == Some(identity))
}

/// `struct unix_diag_vfs`
fn parse_vfs(value: &[u8]) -> Option<DiagFileId> {
    Some((read_u32(value, 4)?, read_u32(value, 0)?))
}

/// An iterator over the messages of one answer. Each begins with a `struct nlmsghdr`.
struct NetlinkMessages<'a>(&'a [u8]);

impl<'a> Iterator for NetlinkMessages<'a> {
    type Item = (u16, u32, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::try_from(read_u32(self.0, 0)?).ok()?;
        let kind = u16::from_ne_bytes(self.0.get(4..6)?.try_into().ok()?);
        let asked = read_u32(self.0, 8)?;
        let body = self.0.get(16..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, asked, body))
    }
}

/// An iterator over the attributes of one message. Each begins with a `struct nlattr`.
struct NetlinkAttributes<'a>(&'a [u8]);

impl<'a> Iterator for NetlinkAttributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16::from_ne_bytes(self.0.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(self.0.get(2..4)?.try_into().ok()?);
        let value = self.0.get(4..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    }
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From proc_pid_mountinfo(5), with the devices of a disk and of a file system without one.
    #[test]
    fn the_device_of_a_mount_is_found() {
        let mounts = "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw\n\
            136 35 0:300 / /tmp rw - tmpfs tmpfs rw\n";
        assert_eq!(mount_device(mounts, "36"), Some(98 << 20));
        assert_eq!(mount_device(mounts, "136"), Some(300));
        assert_eq!(mount_device(mounts, "13"), None);
    }
}
