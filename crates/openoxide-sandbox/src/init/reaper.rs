//! The first process of its PID namespace. It waits for all others, and they are killed when it
//! ends (pid_namespaces(7)).

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    net::{AddressFamily, SocketFlags, SocketType, socketpair},
    process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait},
};

use crate::{
    init::remount::RemountState,
    interface::CommandOutcome,
    ipc::{InitMessage, ListenRequest, MessageSocket, ProgressEvent, ProgressWriter},
    network::namespace_setup,
    sys,
};

/// The init process of a sandbox, with the resources that it uses.
pub(super) struct InitProcess<'a> {
    pub(super) worker: Pid,
    /// Whether the program has a terminal, whose keys can stop it.
    pub(super) has_terminal: bool,
    pub(super) child_exits: OwnedFd,
    pub(super) socket: &'a MessageSocket,
    pub(super) progress: &'a ProgressWriter,
    pub(super) remount_state: RemountState,
}

/// Returns a descriptor that reports when child processes end.
pub(super) fn child_exit_descriptor() -> io::Result<OwnedFd> {
    sys::create_signalfd(&[Signal::CHILD])
}

impl InitProcess<'_> {
    /// Waits until the program has ended or the supervisor is gone. Returns the exit status of this
    /// process.
    pub(super) fn run(mut self) -> i32 {
        let status = self.wait_for_exit();
        if status != 0 {
            self.remount_state.remove_placeholders();
        }
        status
    }

    fn wait_for_exit(&mut self) -> i32 {
        loop {
            if let Some(end) = self.reap_children() {
                // The supervisor receives the same event next. The record is for readers that
                // remain after it is gone.
                drop(self.progress.record(ProgressEvent::Ended(end)));
                return i32::from(self.socket.send(&InitMessage::Ended(end), &[]).is_err());
            }
            let mut waits = [
                PollFd::new(&self.child_exits, PollFlags::IN),
                PollFd::new(self.socket.descriptor(), PollFlags::IN),
                PollFd::new(self.remount_state.mount_table(), PollFlags::PRI),
            ];
            _ = poll(&mut waits, self.remount_state.poll_timeout());
            let [_, said, mounts] = waits.map(|wait| !wait.revents().is_empty());
            while sys::read_signal(self.child_exits.as_fd()).is_some() {}
            let bare = mounts || self.remount_state.poll_timeout().is_some();
            let gone = said && !self.handle_message();
            // If a path cannot be covered again, the run is ended.
            if gone || bare && self.restore_covers().is_err() {
                return 1;
            }
        }
    }

    fn restore_covers(&mut self) -> io::Result<()> {
        let wire = self.socket;
        // If the supervisor is gone, this is noticed next.
        self.remount_state.restore_covers(|path| {
            drop(wire.send(&InitMessage::PlaceholderCreated(path.to_owned()), &[]));
        })
    }

    /// Waits for all children that have ended. Returns the outcome of the program if it is one of
    /// them.
    fn reap_children(&self) -> Option<CommandOutcome> {
        let mut end = None;
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            if let Some(signal) = status.stopping_signal() {
                self.handle_stop(pid, signal);
            } else if pid == self.worker {
                end = Some(outcome_from_status(status));
            }
        }
        end
    }

    /// Handles a child that has stopped. A process can make this process its tracer
    /// (`PTRACE_TRACEME`), and is detached: without a tracer, the signal would have been delivered.
    /// The trap after an execve(2) exists only for the tracer. Otherwise the program was stopped,
    /// usually by a key of its terminal.
    fn handle_stop(&self, child: Pid, signal: i32) {
        let delivered = if signal == libc::SIGTRAP { 0 } else { signal };
        let was_traced = sys::detach_tracee(child, delivered).is_ok();
        if !was_traced && child == self.worker && self.has_terminal {
            // If the supervisor is gone, this is noticed next.
            drop(self.socket.send(&InitMessage::Stopped, &[]));
        }
    }

    /// Handles a message from the supervisor. Returns `false` if the supervisor is gone.
    fn handle_message(&self) -> bool {
        match self.socket.receive() {
            Ok(Some((InitMessage::Signal(number), _))) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    _ = kill_process_group(self.worker, signal);
                }
                true
            }
            Ok(Some((InitMessage::Listen(request), _))) => {
                listen(request, self.socket);
                true
            }
            Ok(Some((InitMessage::CreateSocketPair, _))) => {
                create_socket_pair(self.socket);
                true
            }
            Ok(Some((InitMessage::OpenSockets, _))) => {
                let sockets = namespace_setup::open_unconnected_sockets().unwrap_or_default();
                // If the supervisor is gone, this is noticed next.
                drop(self.socket.send(&InitMessage::Sockets, &sockets));
                true
            }
            Ok(Some(_)) => true,
            Ok(None) | Err(_) => false,
        }
    }
}

fn outcome_from_status(status: WaitStatus) -> CommandOutcome {
    let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => CommandOutcome::Exited(byte(status)),
        (None, signal) => CommandOutcome::Signalled(signal.map_or(u8::MAX, byte)),
    }
}

/// Listens as requested, and sends the sockets to the supervisor. The list is empty if that is not
/// possible.
fn listen(request: ListenRequest, wire: &MessageSocket) {
    let listeners = match request {
        ListenRequest::Port(port) => namespace_setup::listen(port),
        ListenRequest::Address(address) => {
            namespace_setup::listen_for_redirects(address).map(|one| vec![one])
        }
    };
    let message = InitMessage::Listeners { request: Some(request) };
    // If the supervisor is gone, this is noticed next.
    drop(wire.send(&message, &listeners.unwrap_or_default()));
}

/// Creates two connected sockets that keep the boundaries of messages, and sends them to the
/// supervisor.
fn create_socket_pair(wire: &MessageSocket) {
    let kind = SocketType::SEQPACKET;
    let pair = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
    let sockets = pair.map_or_else(|_| Vec::new(), |(first, second)| vec![first, second]);
    // If the supervisor is gone, this is noticed next.
    drop(wire.send(&InitMessage::SocketPair, &sockets));
}
