//! The process of the agent that called the hook.

use openoxide_store::ClientProcess;

/// Returns the process that sends the payload, or `None` if it is not known or did not start this
/// hook.
///
/// Claude Code connects the standard input of its hooks with a pair of sockets. The kernel reports
/// the process that made the pair, so another program that calls the hook has another identity,
/// also if it is started by the agent and knows everything that the payload contains.
pub(super) fn find_client_process() -> Option<ClientProcess> {
    let peer = rustix::net::sockopt::socket_peercred(std::io::stdin()).ok()?;
    ClientProcess::from_ancestor(u32::try_from(peer.pid.as_raw_nonzero().get()).ok()?)
}
