//! The interface of the engine to the program around it while it checks a call.

use crate::engine_warning::EngineWarning;

/// The program that has a call checked.
pub trait CheckHost {
    /// Takes a warning for the person, at the moment when it arises.
    fn warn(&self, warning: EngineWarning);

    /// Called before the hooks of a policy may run.
    fn on_hooks_started(&self) {}

    /// Called when no hook is running any more.
    fn on_hooks_ended(&self) {}

    /// Called before the decision is recorded. It does not return if the host has answered the call
    /// in the meantime: the record would not be what the client was told.
    fn on_record_started(&self) {}

    /// Called when the decision is recorded, or could not be.
    fn on_record_ended(&self) {}

    /// Starts to watch for an interrupt. Called before hooks run, and before a request waits for an
    /// answer.
    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_>;
}

/// Listens for an interrupt, until it is dropped.
pub trait InterruptWatch {
    /// Returns whether an interrupt came.
    fn is_interrupted(&self) -> bool;

    /// Stops listening, and returns whether an interrupt came until then: none is missed between.
    fn stop(&self) -> bool;
}
