//! The handlers of requests that a reviewer answers: for files, if their changes are handed to the
//! supervisor, and for sockets of the host.

use std::sync::Arc;

use openoxide_protocol::SocketAccess;

use crate::{
    file_requests::FileRequestHandler,
    host_sockets::{AgentSocket, AskAboutSocket, HostSocketHandler, SocketPermissions},
    interface::{LaunchConfig, RequestedChange, RuntimeDecision, RuntimeRequest},
    network::ContactedHosts,
    runtime_reviews::DenialLog,
    supervisor::review_relay::ReviewClient,
};

/// Returns the handler of file requests, if file changes are reviewed. If no person can be asked,
/// every request is rejected.
pub(super) fn create_handler(
    launch: &LaunchConfig,
    asking: Option<ReviewClient>,
    refused: &Arc<DenialLog>,
) -> Option<FileRequestHandler> {
    let ask = move |change: &RequestedChange, gone: &dyn Fn() -> bool| {
        let put = |asking: &ReviewClient| {
            asking.ask_and_wait(RuntimeRequest::Change(change.clone()), gone)
        };
        asking.as_ref().map_or(RuntimeDecision::Rejected, put)
    };
    // The registry is in the same directory as the rest of OpenOxide's state.
    let own = [launch.registry.clone()].into_iter().chain(launch.registry.parent());
    launch
        .reviews_file_changes
        .then(|| FileRequestHandler::new(&launch.profile, own, Arc::clone(refused), ask))
}

/// Returns the handler of connections to sockets of the host. If no reviewer can be asked, only
/// granted connections are made. `contacted` contains the hosts that programs have connected to.
pub(super) fn create_socket_handler(
    launch: &LaunchConfig,
    asking: Option<ReviewClient>,
    denials: &Arc<DenialLog>,
    contacted: ContactedHosts,
) -> HostSocketHandler {
    let ask = asking.filter(|_| launch.has_reviewer).map(|asking| {
        let ask = move |access: &SocketAccess, gone: &dyn Fn() -> bool| {
            asking.ask_and_wait(RuntimeRequest::Socket(access.clone()), gone)
        };
        let ask: AskAboutSocket = Box::new(ask);
        ask
    });
    let granted = launch.granted_sockets.clone();
    let permissions = Arc::new(SocketPermissions::new(granted, Arc::clone(denials), ask));
    let agent = launch.ssh_agent.as_ref();
    let agent =
        agent.map(|agent| AgentSocket::new(agent, &launch.registry, &permissions, contacted));
    HostSocketHandler::new(permissions, agent)
}
