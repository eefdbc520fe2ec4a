//! connect(2) of confined processes, made on their behalf; and, where that is wanted, changes of files ([`crate::live`]).
//!
//! A filter hands each such call over and enforces all of it. Its address is copied once, its socket is duplicated, both are judged,
//! and then we connect that socket to that address ourselves. That call itself never goes on: between our look and the
//! kernel's, another thread could put another address in that memory or another socket at that number, and the socket of
//! a host's service is no namespace's secret. So whatever is reached, is reached by us, knowingly.

mod address;
mod call;
mod listened;
mod own;

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
    Denial,
    live::{Live, Spot, Wish},
    network::{Broker, Refused, Slots},
    sys,
};
use address::Address;
pub(crate) use call::{Call, name_of};
pub(crate) use listened::Listened;
pub(crate) use own::{OwnSockets, diagnostics};

/// How many calls are held at once. More wait to be heard.
const MOST: usize = 128;
/// How many ports are listened on because somebody wanted to go there.
const MOST_PORTS: usize = 64;
const STACK: usize = 128 * 1024;
/// Where glibc asks for names of users and hosts (nscd(8), nss-systemd(8), nss-resolve(8)).
const NAME_SERVICES: [&str; 3] =
    ["/run/nscd/socket", "/run/systemd/userdb/", "/run/systemd/resolve/io.systemd.Resolve"];

/// What calls are judged by.
pub(crate) struct Context {
    /// How connections to other hosts are captured. None: there are no other hosts.
    pub(crate) capture: Option<Capture>,
    /// The sockets of the sandbox itself. None: it shares the host's network, and they cannot be told from the host's.
    pub(crate) own: Option<OwnSockets>,
    /// Where refusals are noted.
    pub(crate) refused: Arc<Refused>,
    /// The ports that programs inside listen on, where nobody outside can connect to them.
    pub(crate) listened: Arc<Listened>,
    /// Who answers for changes of files, where those are held, too.
    pub(crate) live: Option<Live>,
}

/// What there is to do for a call.
enum Work {
    Connect,
    Change(Wish<Spot>),
}

/// How connections are captured at ports that nobody listens on yet.
pub(crate) struct Capture {
    broker: Arc<Broker>,
    listen: Box<dyn Fn(u16) -> io::Result<Vec<OwnedFd>> + Send + Sync>,
    added: Mutex<usize>,
}

/// Answers calls until nobody is left who could make one.
pub(crate) fn serve(listener: OwnedFd, context: Context) {
    let shared = Arc::new((listener, context));
    let slots = Slots::new(MOST);
    while waits(&shared.0) {
        let Ok(held) = sys::next_held(shared.0.as_fd()) else { continue };
        let call = Call::new(held, shared.0.as_fd());
        let Some(work) = shared.1.work(&call) else {
            call.go_on();
            continue;
        };
        let (slot, for_one) = (slots.take(), Arc::clone(&shared));
        let answering = move || {
            let call = Call::new(held, for_one.0.as_fd());
            for_one.1.answer(&call, work);
            drop(slot);
        };
        if thread::Builder::new().stack_size(STACK).spawn(answering).is_err() {
            call.answer(Err(Errno::AGAIN));
        }
    }
}

/// Waits for a call. False: all who could make one are gone.
fn waits(listener: &OwnedFd) -> bool {
    loop {
        let mut one = [PollFd::new(listener, PollFlags::IN)];
        match poll(&mut one, None) {
            Err(Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => return one.iter().all(|one| one.revents().contains(PollFlags::IN)),
        }
    }
}

impl Context {
    /// Says what there is to do. None: it goes on. Most changes are the kernel's to judge, and that is soon seen.
    fn work(&self, call: &Call<'_>) -> Option<Work> {
        if call.number() == libc::SYS_listen {
            self.listened.note(call);
            return None;
        }
        match &self.live {
            Some(live) if call.number() != libc::SYS_connect => live.look(call).map(Work::Change),
            // Nothing else is handed over.
            _ => Some(Work::Connect),
        }
    }

    fn answer(&self, call: &Call<'_>, work: Work) {
        match (work, &self.live) {
            (Work::Change(change), Some(live)) => live.settle(call, &change),
            _ => call.answer(self.connect(call)),
        }
    }

    /// Does what the call wanted, if it may.
    fn connect(&self, call: &Call<'_>) -> Result<(), Errno> {
        let address = call.address()?;
        let socket = call.socket()?;
        let family = socket_domain(&socket)?;
        if self.own.as_ref().is_some_and(|own| !own.is_one(&socket)) {
            return Err(Errno::ACCESS);
        }
        match (family, address) {
            (AddressFamily::INET | AddressFamily::INET6, Address::Internet(to)) => {
                self.capture(&socket, to)?;
                connect(&socket, &to)
            }
            (AddressFamily::UNIX, Address::Path(path)) => self.path(call, &socket, &path),
            (AddressFamily::UNIX, Address::Abstract(name)) => self.name(&socket, &name),
            (AddressFamily::INET | AddressFamily::INET6, Address::Nowhere) => {
                connect_unspec(&socket)
            }
            (AddressFamily::INET | AddressFamily::INET6 | AddressFamily::UNIX, _) => {
                Err(Errno::INVAL)
            }
            _ => Err(Errno::ACCESS),
        }
    }

    /// Makes sure that a connection to another host arrives somewhere, or notes that there are none.
    fn capture(&self, socket: &OwnedFd, to: SocketAddr) -> Result<(), Errno> {
        let address = to.ip().to_canonical();
        let elsewhere = !address.is_loopback() && !address.is_unspecified() && to.port() != 0;
        match &self.capture {
            _ if !elsewhere => Ok(()),
            Some(capture) if socket_type(socket)? == SocketType::STREAM => capture.port(to.port()),
            Some(_) => Ok(()),
            None => {
                // With a network of its own, the kernel refuses it.
                if self.own.is_some() {
                    self.refuse(Denial::Connect { host: address.to_string(), port: to.port() });
                }
                Ok(())
            }
        }
    }

    /// Connects to a socket in the file system, if a process of this very sandbox has bound it. Where nothing is, nothing was
    /// refused: glibc looks for name services that are rarely there.
    fn path(&self, call: &Call<'_>, socket: &OwnedFd, path: &[u8]) -> Result<(), Errno> {
        let file = match (call.open(path), &self.own) {
            (Ok(file), Some(own)) if own.has(&file, call)? => file,
            (Err(error), Some(_)) => return Err(error),
            (Err(error @ (Errno::NOENT | Errno::NOTDIR)), None) => return Err(error),
            _ => {
                if !is_name_service(path) {
                    let path = String::from_utf8_lossy(path).into_owned();
                    self.refuse(Denial::UnixSocket { path });
                }
                return Err(Errno::ACCESS);
            }
        };
        connect(socket, &SocketAddrUnix::new(call::name_of(&file))?)
    }

    /// Connects to an abstract name. The socket's own network namespace knows only its own.
    fn name(&self, socket: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
        if self.own.is_none() {
            let path = format!("@{}", String::from_utf8_lossy(name));
            self.refuse(Denial::UnixSocket { path });
            return Err(Errno::PERM);
        }
        connect(socket, &SocketAddrUnix::new_abstract_name(name)?)
    }

    fn refuse(&self, denial: Denial) {
        self.refused.add(denial);
    }
}

/// Says whether glibc asks for names here: everybody who wants a user's name tries it, and does without.
fn is_name_service(path: &[u8]) -> bool {
    let path = path.strip_prefix(b"/var").unwrap_or(path);
    NAME_SERVICES.iter().any(|service| path.starts_with(service.as_bytes()))
}

impl Capture {
    /// `listen` has the process inside listen on a port.
    pub(crate) fn new(
        broker: Arc<Broker>,
        listen: impl Fn(u16) -> io::Result<Vec<OwnedFd>> + Send + Sync + 'static,
    ) -> Self {
        Self { broker, listen: Box::new(listen), added: Mutex::default() }
    }

    /// Sees to it that we listen on a port. Where we cannot, the connection ends inside: a program of the sandbox listens
    /// there, or nobody does.
    fn port(&self, port: u16) -> Result<(), Errno> {
        if self.broker.listens_on(port) {
            return Ok(());
        }
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        if *added >= MOST_PORTS || self.broker.listens_on(port) {
            return Ok(());
        }
        if let Ok(listeners) = (self.listen)(port) {
            *added += 1;
            self.broker.add(listeners).map_err(|_| Errno::NOMEM)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
