//! Handling of seccomp notifications: connect(2) of confined processes, performed on their behalf,
//! and file system calls ([`crate::file_requests`]).
//!
//! The filter suspends each such call and notifies the supervisor. The supervisor copies the
//! address once, duplicates the socket, checks both, and connects that socket to that address
//! itself. The program's own call never continues. Between the check and the kernel's read, another
//! thread could change the address in memory or replace the socket at that descriptor. A service of
//! the host can be reached through a socket of any network namespace.

use std::{
    net::SocketAddr,
    os::fd::{AsFd as _, OwnedFd},
    sync::Arc,
    thread,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::{
        AddressFamily, SocketAddrUnix, SocketType, connect, connect_unspec,
        sockopt::{socket_domain, socket_type},
    },
};

use crate::{
    file_requests::{FileRequest, FileRequestHandler, ResolvedEntry},
    host_sockets::HostSocketHandler,
    interface::{RefusedOperation, SandboxDenial},
    network::{ConcurrencyLimit, SandboxSockets},
    runtime_reviews::DenialLog,
    seccomp::{self, PendingSyscall, RemovedDirectory, SocketAddress, descriptor_path},
    supervisor::{
        directory_modes::{self, ModeError},
        listen_handler::ListenHandler,
        placeholder_directories::PlaceholderDirectories,
        port_capture::PortCapture,
        refused_calls,
        socket_pairs::SocketPairs,
    },
    sys,
};

/// The number of calls that are handled at the same time. Further calls wait to be received.
const MAX_CONCURRENT_CALLS: usize = 128;
const STACK_BYTES: usize = 128 * 1024;

/// The data that is needed to decide about calls.
pub(crate) struct SyscallContext {
    /// The capture of connections to other hosts. `None` if there are no other hosts.
    pub(crate) capture: Option<PortCapture>,
    /// The sockets of the sandbox itself. `None` if it shares the host's network: its sockets
    /// cannot be distinguished from the host's then.
    pub(crate) sandbox_sockets: Option<Arc<SandboxSockets>>,
    /// The log of denials.
    pub(crate) denials: Arc<DenialLog>,
    /// The handler of programs that listen on a port. `None` if they share the host's network.
    pub(crate) listen_handler: Option<Arc<ListenHandler>>,
    /// The handler of connections to sockets of the host.
    pub(crate) host_sockets: HostSocketHandler,
    /// The handler of file requests, if changes of files are handed to the supervisor, too.
    pub(crate) file_requests: Option<FileRequestHandler>,
    /// The placeholders that programs may believe to have removed.
    pub(crate) placeholders: PlaceholderDirectories,
    /// The source of socket pairs for datagrams.
    pub(crate) socket_pairs: Option<SocketPairs>,
}

/// The task of the supervisor for a call.
enum SyscallTask {
    Connect,
    /// Refuse the call, and report it.
    Refuse(RefusedOperation),
    /// Create two connected sockets.
    SocketPair,
    /// Set the mode of a directory.
    DirectoryMode,
    /// Answer the removal of a directory that may be a placeholder.
    RemoveDirectory(RemovedDirectory),
    Change(FileRequest<ResolvedEntry>),
}

/// Answers calls until no process is left that could make one.
pub(crate) fn serve_notifications(listener: OwnedFd, context: SyscallContext) {
    // An older kernel answers in the same way, but more slowly.
    drop(sys::switch_directly(listener.as_fd()));
    let shared = Arc::new((listener, context));
    let slots = ConcurrencyLimit::new(MAX_CONCURRENT_CALLS);
    while wait_for_call(&shared.0) {
        let Ok(held) = sys::receive_notification(shared.0.as_fd()) else { continue };
        let call = PendingSyscall::new(held, shared.0.as_fd());
        let Some(work) = shared.1.classify(&call) else {
            call.continue_syscall();
            continue;
        };
        if let SyscallTask::Refuse(operation) = work {
            shared.1.refuse(&call, operation);
            continue;
        }
        let (slot, for_one) = (slots.acquire(), Arc::clone(&shared));
        let answering = move || {
            let call = PendingSyscall::new(held, for_one.0.as_fd());
            for_one.1.handle(&call, work);
            drop(slot);
        };
        if thread::Builder::new().stack_size(STACK_BYTES).spawn(answering).is_err() {
            call.respond(Err(Errno::AGAIN));
        }
    }
}

/// Waits for a call. Returns false if no process is left that could make one.
fn wait_for_call(listener: &OwnedFd) -> bool {
    loop {
        let mut one = [PollFd::new(listener, PollFlags::IN)];
        match poll(&mut one, None) {
            Err(Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => return one.iter().all(|one| one.revents().contains(PollFlags::IN)),
        }
    }
}

impl SyscallContext {
    /// Returns the task for a call, or `None` if the call continues in the kernel. Most file
    /// changes are left to the kernel; this is decided quickly.
    fn classify(&self, call: &PendingSyscall<'_>) -> Option<SyscallTask> {
        if call.syscall_number() == libc::SYS_listen {
            self.listen_handler.iter().for_each(|handler| handler.handle(call));
            return None;
        }
        if let Some(operation) = refused_calls::operation(call) {
            return Some(SyscallTask::Refuse(operation));
        }
        match call.syscall_number() {
            libc::SYS_socketpair => return Some(SyscallTask::SocketPair),
            _ if seccomp::sets_group_mode(call) => return Some(SyscallTask::DirectoryMode),
            _ => {}
        }
        if let Some(removed) = seccomp::removed_directory(call)
            && self.placeholders.may_contain(&removed)
        {
            return Some(SyscallTask::RemoveDirectory(removed));
        }
        if call.syscall_number() == libc::SYS_connect {
            return Some(SyscallTask::Connect);
        }
        self.file_requests.as_ref()?.parse_syscall(call).map(SyscallTask::Change)
    }

    fn handle(&self, call: &PendingSyscall<'_>, work: SyscallTask) {
        match (work, &self.file_requests, &self.socket_pairs) {
            (SyscallTask::Change(change), Some(live), _) => live.answer(call, &change),
            (SyscallTask::SocketPair, _, Some(pairs)) => pairs.answer(call),
            (SyscallTask::SocketPair, _, None) => call.respond(Err(Errno::PERM)),
            (SyscallTask::DirectoryMode, ..) => match directory_modes::set_mode(call) {
                Ok(()) => call.respond(Ok(())),
                Err(ModeError::NotADirectory) => self.refuse(call, RefusedOperation::SetId),
                Err(ModeError::Kernel(error)) => call.respond(Err(error)),
            },
            (SyscallTask::RemoveDirectory(removed), live, _) => {
                if self.placeholders.contain(call, &removed) {
                    return call.respond(Ok(()));
                }
                match live.as_ref().and_then(|live| Some((live, live.parse_syscall(call)?))) {
                    Some((live, change)) => live.answer(call, &change),
                    None => call.continue_syscall(),
                }
            }
            (SyscallTask::Refuse(operation), ..) => self.refuse(call, operation),
            _ => call.respond(self.connect(call)),
        }
    }

    /// Refuses a call that no profile allows.
    fn refuse(&self, call: &PendingSyscall<'_>, operation: RefusedOperation) {
        self.record_denial(SandboxDenial::SystemCall { operation });
        call.respond(Err(Errno::PERM));
    }

    /// Makes the connection that the call requested, if it is permitted.
    fn connect(&self, call: &PendingSyscall<'_>) -> Result<(), Errno> {
        let address = call.read_address()?;
        let socket = call.duplicate_descriptor()?;
        let family = socket_domain(&socket)?;
        if self.sandbox_sockets.as_ref().is_some_and(|own| !own.contains(&socket)) {
            return Err(Errno::ACCESS);
        }
        match (family, address) {
            (AddressFamily::INET | AddressFamily::INET6, SocketAddress::Internet(to)) => {
                connect(&socket, &self.captured_address(&socket, to)?)
            }
            (AddressFamily::UNIX, SocketAddress::UnixPath(path)) => {
                self.connect_path(call, &socket, &path)
            }
            (AddressFamily::UNIX, SocketAddress::UnixAbstract(name)) => {
                self.connect_abstract(&socket, &name)
            }
            (AddressFamily::INET | AddressFamily::INET6, SocketAddress::Unspecified) => {
                connect_unspec(&socket)
            }
            (AddressFamily::INET | AddressFamily::INET6 | AddressFamily::UNIX, _) => {
                Err(Errno::INVAL)
            }
            _ => Err(Errno::ACCESS),
        }
    }

    /// Returns the address to connect to: that of a listener if the connection leads out of the
    /// sandbox, or the same address. Records a denial if there are no other hosts.
    fn captured_address(&self, socket: &OwnedFd, to: SocketAddr) -> Result<SocketAddr, Errno> {
        let address = to.ip().to_canonical();
        match (&self.capture, &self.sandbox_sockets) {
            _ if to.port() == 0 => {}
            (Some(capture), Some(sockets)) if socket_type(socket)? == SocketType::STREAM => {
                return capture.captured_address(to, sockets);
            }
            // In a separate network namespace, the kernel refuses it.
            (None, Some(_)) if !address.is_loopback() && !address.is_unspecified() => {
                self.record_denial(SandboxDenial::Connect {
                    host: address.to_string(),
                    port: to.port(),
                    address: None,
                });
            }
            _ => {}
        }
        Ok(to)
    }

    /// Connects to a socket in the file system: one that a process of the same sandbox has bound, or
    /// one of the host, if that is permitted.
    fn connect_path(
        &self,
        call: &PendingSyscall<'_>,
        socket: &OwnedFd,
        path: &[u8],
    ) -> Result<(), Errno> {
        if let (Ok(file), Some(own)) = (call.open_path(path), &self.sandbox_sockets)
            && own.has_listener(&file, call)?
        {
            return connect(socket, &SocketAddrUnix::new(descriptor_path(&file))?);
        }
        self.host_sockets.connect(call, socket, path)
    }

    /// Connects to an abstract name, which is visible only in the socket's own network namespace.
    fn connect_abstract(&self, socket: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
        if self.sandbox_sockets.is_none() {
            let name = format!("@{}", String::from_utf8_lossy(name));
            self.host_sockets.refuse(&name, "it is an abstract socket");
            return Err(Errno::PERM);
        }
        connect(socket, &SocketAddrUnix::new_abstract_name(name)?)
    }

    fn record_denial(&self, denial: SandboxDenial) {
        self.denials.record(denial);
    }
}

#[cfg(test)]
mod tests;
