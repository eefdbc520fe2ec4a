//! The handler of file requests, for runs whose file changes are handed to the supervisor.

use std::sync::Arc;

use crate::{
    file_requests::FileRequestHandler,
    interface::{LaunchConfig, RequestedChange, RuntimeDecision, RuntimeRequest},
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
