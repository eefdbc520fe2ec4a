//! connect(2) of confined processes, made on their behalf; and, where that is wanted, changes of files ([`crate::live`]).
//!
//! A filter hands each such call over and blocks it. Its address is copied once, its socket is duplicated, both are judged,
//! and then we connect that socket to that address ourselves. That call itself never goes on: between our look and the
//! kernel's, another thread could put another address in that memory or another socket at that number, and the socket of
//! a host's service is no namespace's secret. So whatever is reached, is reached by us, knowingly.

mod listening_ports;
mod pending_syscall;
mod socket_address;
mod socket_diag;

use std::{
    io,
    net::SocketAddr,
    os::fd::{AsFd as _, OwnedFd},
    sync::{Arc, Mutex, PoisonError},
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
    SandboxDenial,
    file_requests::{FileRequest, FileRequestHandler, ResolvedEntry},
    network::{ConcurrencyLimit, ConnectionBroker, DenialLog},
    sys,
};
pub(crate) use listening_ports::ListeningPorts;
pub(crate) use pending_syscall::{PendingSyscall, descriptor_path};
use socket_address::SocketAddress;
pub(crate) use socket_diag::{SandboxSockets, open_diagnostics};

/// How many calls are held at once. More wait to be heard.
const MAX_CONCURRENT_CALLS: usize = 128;
/// How many ports are listened on because somebody wanted to go there.
const MAX_CAPTURED_PORTS: usize = 64;
const STACK_BYTES: usize = 128 * 1024;
/// Where glibc asks for names of users and hosts (nscd(8), nss-systemd(8), nss-resolve(8)).
const NAME_SERVICES: [&str; 3] =
    ["/run/nscd/socket", "/run/systemd/userdb/", "/run/systemd/resolve/io.systemd.Resolve"];

/// What calls are judged by.
pub(crate) struct SyscallContext {
    /// How connections to other hosts are captured. None: there are no other hosts.
    pub(crate) capture: Option<PortCapture>,
    /// The sockets of the sandbox itself. None: it shares the host's network, and they cannot be told from the host's.
    pub(crate) sandbox_sockets: Option<SandboxSockets>,
    /// Where refusals are noted.
    pub(crate) denials: Arc<DenialLog>,
    /// The ports that programs inside listen on, where nobody outside can connect to them.
    pub(crate) listening_ports: Arc<ListeningPorts>,
    /// Who answers for changes of files, where those are held, too.
    pub(crate) file_requests: Option<FileRequestHandler>,
}

/// What there is to do for a call.
enum SyscallTask {
    Connect,
    Change(FileRequest<ResolvedEntry>),
}

/// How connections are captured at ports that nobody listens on yet.
pub(crate) struct PortCapture {
    broker: Arc<ConnectionBroker>,
    listen: Box<dyn Fn(u16) -> io::Result<Vec<OwnedFd>> + Send + Sync>,
    added: Mutex<usize>,
}

/// Answers calls until nobody is left who could make one.
pub(crate) fn serve_notifications(listener: OwnedFd, context: SyscallContext) {
    let shared = Arc::new((listener, context));
    let slots = ConcurrencyLimit::new(MAX_CONCURRENT_CALLS);
    while wait_for_call(&shared.0) {
        let Ok(held) = sys::receive_notification(shared.0.as_fd()) else { continue };
        let call = PendingSyscall::new(held, shared.0.as_fd());
        let Some(work) = shared.1.classify(&call) else {
            call.continue_syscall();
            continue;
        };
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

/// Waits for a call. False: all who could make one are gone.
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
    /// Says what there is to do. None: it goes on. Most changes are the kernel's to judge, and that is soon seen.
    fn classify(&self, call: &PendingSyscall<'_>) -> Option<SyscallTask> {
        if call.syscall_number() == libc::SYS_listen {
            self.listening_ports.record(call);
            return None;
        }
        match &self.file_requests {
            Some(live) if call.syscall_number() != libc::SYS_connect => {
                live.parse_syscall(call).map(SyscallTask::Change)
            }
            // Nothing else is handed over.
            _ => Some(SyscallTask::Connect),
        }
    }

    fn handle(&self, call: &PendingSyscall<'_>, work: SyscallTask) {
        match (work, &self.file_requests) {
            (SyscallTask::Change(change), Some(live)) => live.answer(call, &change),
            _ => call.respond(self.connect(call)),
        }
    }

    /// Does what the call wanted, if it may.
    fn connect(&self, call: &PendingSyscall<'_>) -> Result<(), Errno> {
        let address = call.read_address()?;
        let socket = call.duplicate_socket()?;
        let family = socket_domain(&socket)?;
        if self.sandbox_sockets.as_ref().is_some_and(|own| !own.contains(&socket)) {
            return Err(Errno::ACCESS);
        }
        match (family, address) {
            (AddressFamily::INET | AddressFamily::INET6, SocketAddress::Internet(to)) => {
                self.capture_connection(&socket, to)?;
                connect(&socket, &to)
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

    /// Makes sure that a connection to another host arrives somewhere, or notes that there are none.
    fn capture_connection(&self, socket: &OwnedFd, to: SocketAddr) -> Result<(), Errno> {
        let address = to.ip().to_canonical();
        let elsewhere = !address.is_loopback() && !address.is_unspecified() && to.port() != 0;
        match &self.capture {
            _ if !elsewhere => Ok(()),
            Some(capture) if socket_type(socket)? == SocketType::STREAM => {
                capture.ensure_listener(to.port())
            }
            Some(_) => Ok(()),
            None => {
                // With a network of its own, the kernel refuses it.
                if self.sandbox_sockets.is_some() {
                    self.record_denial(SandboxDenial::Connect {
                        host: address.to_string(),
                        port: to.port(),
                    });
                }
                Ok(())
            }
        }
    }

    /// Connects to a socket in the file system, if a process of this very sandbox has bound it. Where nothing is, nothing was
    /// refused: glibc looks for name services that are rarely there.
    fn connect_path(
        &self,
        call: &PendingSyscall<'_>,
        socket: &OwnedFd,
        path: &[u8],
    ) -> Result<(), Errno> {
        let file = match (call.open_path(path), &self.sandbox_sockets) {
            (Ok(file), Some(own)) if own.has_listener(&file, call)? => file,
            (Err(error), Some(_)) => return Err(error),
            (Err(error @ (Errno::NOENT | Errno::NOTDIR)), None) => return Err(error),
            _ => {
                if !is_name_service(path) {
                    let path = String::from_utf8_lossy(path).into_owned();
                    self.record_denial(SandboxDenial::UnixSocket { path });
                }
                return Err(Errno::ACCESS);
            }
        };
        connect(socket, &SocketAddrUnix::new(pending_syscall::descriptor_path(&file))?)
    }

    /// Connects to an abstract name. The socket's own network namespace knows only its own.
    fn connect_abstract(&self, socket: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
        if self.sandbox_sockets.is_none() {
            let path = format!("@{}", String::from_utf8_lossy(name));
            self.record_denial(SandboxDenial::UnixSocket { path });
            return Err(Errno::PERM);
        }
        connect(socket, &SocketAddrUnix::new_abstract_name(name)?)
    }

    fn record_denial(&self, denial: SandboxDenial) {
        self.denials.record(denial);
    }
}

/// Says whether glibc asks for names here: everybody who wants a user's name tries it, and does without.
fn is_name_service(path: &[u8]) -> bool {
    let path = path.strip_prefix(b"/var").unwrap_or(path);
    NAME_SERVICES.iter().any(|service| path.starts_with(service.as_bytes()))
}

impl PortCapture {
    /// `listen` has the process inside listen on a port.
    pub(crate) fn new(
        broker: Arc<ConnectionBroker>,
        listen: impl Fn(u16) -> io::Result<Vec<OwnedFd>> + Send + Sync + 'static,
    ) -> Self {
        Self { broker, listen: Box::new(listen), added: Mutex::default() }
    }

    /// Sees to it that we listen on a port. Where we cannot, the connection ends inside: a program of the sandbox listens
    /// there, or nobody does.
    fn ensure_listener(&self, port: u16) -> Result<(), Errno> {
        if self.broker.is_listening_on(port) {
            return Ok(());
        }
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        if *added >= MAX_CAPTURED_PORTS || self.broker.is_listening_on(port) {
            return Ok(());
        }
        if let Ok(listeners) = (self.listen)(port) {
            *added += 1;
            self.broker.add_listeners(listeners).map_err(|_| Errno::NOMEM)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
