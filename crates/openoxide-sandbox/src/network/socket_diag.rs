//! The sockets that belong to the sandbox: Unix sockets in the file system that were bound in its
//! network namespace, and TCP sockets that listen there.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr},
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
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// The flags of a request for one socket, and for all.
const REQUEST_ONE: u16 = 0x1;
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

    /// Returns whether a socket inside would accept a TCP connection to this address. It can also be
    /// one of the supervisor.
    pub(crate) fn has_tcp_listener(&self, at: SocketAddr) -> Result<bool, Errno> {
        self.sandbox_list.has_tcp_listener(at)
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
pub(super) struct SocketDiagnostics(Mutex<(OwnedFd, u32)>);

impl SocketDiagnostics {
    fn new(socket: OwnedFd) -> Self {
        Self(Mutex::new((socket, 0)))
    }

    /// Opens the list of this process's network namespace.
    ///
    /// # Errors
    /// Returns the same errors as [`open_diagnostics`].
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self::new(open_diagnostics()?))
    }

    /// Requests all listening Unix sockets, and returns whether one of them is bound at this file.
    fn has_listener(&self, identity: DiagFileId) -> Result<bool, Errno> {
        const UNIX: u32 = 1;
        const LISTENING: u32 = 1 << 10;
        const FILES: u32 = 2;
        let body = [UNIX, LISTENING, 0, FILES, 0, 0].map(u32::to_ne_bytes).concat();
        let mut found = false;
        self.request(REQUEST_ALL, &body, |kind, body| match kind {
            BY_FAMILY => {
                found |= is_bound_at(body, identity);
                None
            }
            DONE => Some(Ok(())),
            _ => Some(Err(Errno::ACCESS)),
        })?;
        Ok(found)
    }

    /// Requests the socket that would receive the first segment of a TCP connection to this
    /// address, and returns whether there is one. The kernel searches for it as for a real segment.
    pub(super) fn has_tcp_listener(&self, at: SocketAddr) -> Result<bool, Errno> {
        const NO_SUCH_SOCKET: i32 = -libc::ENOENT;
        self.request(REQUEST_ONE, &tcp_request(at), |kind, body| match kind {
            BY_FAMILY => Some(Ok(true)),
            ERROR if read_u32(body, 0) == Some(NO_SUCH_SOCKET.cast_unsigned()) => Some(Ok(false)),
            _ => Some(Err(Errno::ACCESS)),
        })
    }

    /// Sends a request, and passes each message of the answer to `each`, with its kind and its body,
    /// until that returns the result.
    fn request<T>(
        &self,
        flags: u16,
        body: &[u8],
        mut each: impl FnMut(u16, &[u8]) -> Option<Result<T, Errno>>,
    ) -> Result<T, Errno> {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (socket, asked) = &mut *list;
        *asked = asked.wrapping_add(1);
        send(&*socket, &build_message(BY_FAMILY, flags, *asked, body), SendFlags::empty())?;
        let mut answer = vec![0; ANSWER_BUFFER_BYTES];
        loop {
            let (length, _) = recv(&*socket, answer.as_mut_slice(), RecvFlags::empty())?;
            let messages = NetlinkMessages(answer.get(..length).unwrap_or_default());
            // The rest of the answer to an earlier request that failed is ignored.
            for (kind, _, body) in messages.filter(|(_, number, _)| number == asked) {
                if let Some(result) = each(kind, body) {
                    return result;
                }
            }
        }
    }
}

/// Builds a `struct inet_diag_req_v2` for the socket that accepts connections to this address, over
/// the loopback device and from no address in particular.
fn tcp_request(to: SocketAddr) -> Vec<u8> {
    const TCP: u8 = 6;
    const LOOPBACK: u32 = 1;
    const ANY_COOKIE: [u8; 8] = [0xff; 8];
    let address = to.ip().to_canonical();
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut octets = [0; 16];
    let own = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    octets.iter_mut().zip(own).for_each(|(octet, own)| *octet = own);
    let family = u8::try_from(family.as_raw()).unwrap_or_default();
    let mut body = vec![family, TCP, 0, 0];
    body.extend(u32::MAX.to_ne_bytes());
    body.extend(to.port().to_be_bytes());
    body.extend([0; 2]);
    body.extend(octets);
    body.extend([0; 16]);
    body.extend(LOOPBACK.to_ne_bytes());
    body.extend(ANY_COOKIE);
    body
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
