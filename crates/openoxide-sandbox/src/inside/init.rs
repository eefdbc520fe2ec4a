//! The first process of its namespace: it waits for all others, and everything ends with it (pid_namespaces(7)).

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait},
};

use crate::{
    report::End,
    sys,
    wire::{Message, Wire},
};

/// Returns a descriptor that says when children end.
pub(super) fn ended_children() -> io::Result<OwnedFd> {
    sys::signal_descriptor(&[Signal::CHILD])
}

/// Waits until the program has ended, or nobody is there any more for whom it runs. Returns the status of this process.
pub(super) fn attend(worker: Pid, ended: &OwnedFd, wire: &Wire) -> i32 {
    loop {
        if let Some(end) = reap(worker) {
            return i32::from(wire.send(&Message::Ended(end), &[]).is_err());
        }
        let mut both =
            [PollFd::new(ended, PollFlags::IN), PollFd::new(wire.descriptor(), PollFlags::IN)];
        _ = poll(&mut both, None);
        let [_, said] = &both;
        let said = !said.revents().is_empty();
        while sys::take_signal(ended.as_fd()).is_some() {}
        if said && !obey(worker, wire) {
            return 1;
        }
    }
}

/// Takes the ends of all children that have ended; returns that of the program.
fn reap(worker: Pid) -> Option<End> {
    let mut end = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == worker {
            end = Some(how(status));
        }
    }
    end
}

fn how(status: WaitStatus) -> End {
    let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => End::Exited(byte(status)),
        (None, signal) => End::Signalled(signal.map_or(u8::MAX, byte)),
    }
}

/// Does what was said. False: the supervisor is gone.
fn obey(worker: Pid, wire: &Wire) -> bool {
    match wire.receive() {
        Ok(Some((Message::Signal(number), _))) => {
            if let Some(signal) = Signal::from_named_raw(number) {
                _ = kill_process_group(worker, signal);
            }
            true
        }
        Ok(Some(_)) => true,
        Ok(None) | Err(_) => false,
    }
}
