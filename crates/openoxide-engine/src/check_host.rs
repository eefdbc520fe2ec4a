//! The interface of the engine to the program around it while it checks a call.

use crate::EngineWarning;

/// The program that has a call checked.
pub trait CheckHost {
    /// Takes a warning for the person, at the moment when it arises.
    fn warn(&self, warning: EngineWarning);

    /// Is called before the hooks of a policy may run.
    fn on_hooks_started(&self) {}

    /// Is called when no hook runs any more.
    fn on_hooks_ended(&self) {}

    /// Starts to listen for an interrupt. It is called when hooks are about to run.
    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_>;
}

/// Listens for an interrupt, until it is dropped.
pub trait InterruptWatch {
    /// Returns whether an interrupt came.
    fn is_interrupted(&self) -> bool;

    /// Stops listening, and returns whether an interrupt came until then: none is missed between.
    fn stop(&self) -> bool;
}
