//! The services that the engine needs from this program: warnings on standard error, and
//! termination signals.

use openoxide_engine::{CheckHost, EngineWarning, InterruptWatch};

use crate::{signal_watch::SignalWatch, user_messages};

/// The host of commands that run in a terminal.
pub(crate) struct TerminalHost;

impl CheckHost for TerminalHost {
    fn warn(&self, warning: EngineWarning) {
        user_messages::print_warning(&warning);
    }

    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_> {
        Box::new(SignalWatch::start())
    }
}

impl InterruptWatch for SignalWatch {
    fn is_interrupted(&self) -> bool {
        self.is_interrupted()
    }

    fn stop(&self) -> bool {
        Self::stop(self)
    }
}
