//! Who answers for changes of files, where they are held.

use std::sync::Arc;

use super::questions::Asking;
use crate::{Launch, LiveAnswer, LiveChange, LiveQuestion, live::Live, network::Refused};

/// Returns who answers, where somebody is to. Where nobody can be asked, nothing is granted.
pub(super) fn live(
    launch: &Launch,
    asking: Option<Asking>,
    refused: &Arc<Refused>,
) -> Option<Live> {
    let ask = move |change: &LiveChange, gone: &dyn Fn() -> bool| {
        let put = |asking: &Asking| asking.put(LiveQuestion::Change(change.clone()), gone);
        asking.as_ref().map_or(LiveAnswer::No, put)
    };
    // The registry lies with the rest of our state.
    let own = [launch.registry.clone()].into_iter().chain(launch.registry.parent());
    launch.live.then(|| Live::new(&launch.profile, own, Arc::clone(refused), ask))
}
