//! The process of the agent that called the hook.

use std::os::fd::OwnedFd;

use openoxide_sandbox::open_socket_peer;
use openoxide_store::ClientProcess;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::sockopt::socket_peercred,
};

/// Returns the process that sends the payload, or `None` if it is not known or did not start this
/// hook.
///
/// Claude Code connects the standard input of its hooks with a pair of sockets. The kernel reports
/// the process that made the pair, so another program that calls the hook has another identity,
/// also if it is started by the agent and knows everything that the payload contains.
pub(super) fn find_client_process() -> Option<ClientProcess> {
    let input = std::io::stdin();
    let peer = socket_peercred(&input).ok()?;
    let descriptor = open_socket_peer(&input).ok()?;
    let client = ClientProcess::from_ancestor(u32::try_from(peer.pid.as_raw_nonzero().get()).ok()?);
    // The ID of a process that still runs was not the ID of another one in the meantime. If the
    // process has ended, the ancestor with this ID is a later process.
    client.filter(|_| descriptor.is_none_or(|process| is_running(&process)))
}

fn is_running(process: &OwnedFd) -> bool {
    let mut watched = [PollFd::new(process, PollFlags::IN)];
    poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
}
