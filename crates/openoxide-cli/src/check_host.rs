//! What the engine needs from this program: warnings on standard error, and the signals to end.

use openoxide_engine::{CheckHost, InterruptWatch, Warning};

use crate::{report, review::Signals};

/// A command in a terminal.
pub(crate) struct TerminalHost;

impl CheckHost for TerminalHost {
    fn warn(&self, warning: Warning) {
        report::warning(&warning);
    }

    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_> {
        Box::new(Signals::listen())
    }
}

impl InterruptWatch for Signals {
    fn is_interrupted(&self) -> bool {
        self.came()
    }

    fn stop(&self) -> bool {
        Self::stop(self)
    }
}
