//! Monitoring of `bwrap` while the program runs.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{
        Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait, waitpid,
    },
};

use crate::{
    init::bwrap_init::bwrap_status,
    interface::LaunchConfig,
    ipc::{InitMessage, MessageSocket, ProgressEvent, ProgressWriter},
    sys,
};

/// The signals that the monitor handles: those of its children, those from keys, and the one with
/// which the supervisor ends it.
pub(super) const HANDLED_SIGNALS: &[Signal] =
    &[Signal::CHILD, Signal::INT, Signal::QUIT, Signal::WINCH, Signal::TERM, Signal::HUP];

/// The process that monitors `bwrap`, with the resources that it uses.
pub(super) struct BwrapMonitor<'a> {
    pub(super) launch: &'a LaunchConfig,
    pub(super) socket: &'a MessageSocket,
    pub(super) progress: &'a ProgressWriter,
    pub(super) signals: OwnedFd,
    pub(super) bwrap: Pid,
    /// The first process inside, which leads the group of the program.
    pub(super) first_process: Pid,
    pub(super) status: OwnedFd,
    pub(super) status_output: Vec<u8>,
}

impl BwrapMonitor<'_> {
    /// Waits until the program has ended or the supervisor is gone. All processes of the sandbox
    /// are gone then. Returns the exit status of this process.
    pub(super) fn run(mut self) -> i32 {
        let status = self.wait_for_exit();
        self.kill_all();
        let Some(status) = status else { return 1 };
        bwrap_status::read_remaining(&self.status, &mut self.status_output);
        let message = bwrap_status::build_exit_message(status, &self.status_output, self.launch);
        let event = match message {
            InitMessage::Ended(end) => ProgressEvent::Ended(end),
            _ => ProgressEvent::NotExecuted,
        };
        // The supervisor receives the same event next.
        drop(self.progress.record(event));
        i32::from(self.socket.send(&message, &[]).is_err())
    }

    /// Waits for `bwrap` and returns its exit status, or `None` if the run must end now.
    fn wait_for_exit(&self) -> Option<WaitStatus> {
        loop {
            let mut both = [
                PollFd::new(&self.signals, PollFlags::IN),
                PollFd::new(self.socket.descriptor(), PollFlags::IN),
            ];
            _ = poll(&mut both, None);
            let [_, said] = &both;
            let said = !said.revents().is_empty();
            while let Some(signal) = sys::read_signal(self.signals.as_fd()) {
                match signal {
                    Signal::TERM | Signal::HUP => return None,
                    signal if is_forwarded(signal) => self.forward_signal(signal),
                    _ => {}
                }
            }
            if let Some(status) = self.reap_children() {
                return Some(status);
            }
            if said && !self.handle_message() {
                return None;
            }
        }
    }

    /// Forwards a signal to the program's group. The first process is not affected, because from
    /// outside only SIGKILL ends the first process of a PID namespace.
    fn forward_signal(&self, signal: Signal) {
        _ = kill_process_group(self.first_process, signal);
    }

    /// Waits for all children that have ended. Returns the status of `bwrap` if it is one of them.
    fn reap_children(&self) -> Option<WaitStatus> {
        let mut end = None;
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.bwrap {
                end = Some(status);
            }
        }
        end
    }

    /// Handles a message from the supervisor. Returns `false` if the supervisor is gone.
    fn handle_message(&self) -> bool {
        match self.socket.receive() {
            Ok(Some((InitMessage::Signal(number), _))) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    self.forward_signal(signal);
                }
                true
            }
            Ok(Some(_)) => true,
            Ok(None) | Err(_) => false,
        }
    }

    /// Kills `bwrap`. Its first process is killed with it (`--die-with-parent`), and all others
    /// with that process. Each becomes a child of this process when its parent ends. A process ID
    /// is used only while the child has not been waited for.
    fn kill_all(&self) {
        for child in [self.bwrap, self.first_process] {
            if matches!(waitpid(Some(child), WaitOptions::NOHANG), Ok(None)) {
                _ = kill_process(child, Signal::KILL);
            }
        }
        while !matches!(wait(WaitOptions::empty()), Err(rustix::io::Errno::CHILD)) {}
    }
}

/// Returns whether the signal is forwarded: it comes from keys or the supervisor, and does not
/// report the end of a process.
const fn is_forwarded(signal: Signal) -> bool {
    matches!(signal, Signal::INT | Signal::QUIT | Signal::WINCH)
}
