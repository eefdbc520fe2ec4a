//! The interface between the engine and the program that checks a call.

use crate::engine_warning::EngineWarning;

/// The program that checks a call with the engine.
pub trait CheckHost {
    /// Receives a warning for the person when it occurs.
    fn warn(&self, warning: EngineWarning);

    /// Called before the hooks of a policy may run.
    fn on_hooks_started(&self) {}

    /// Called after the last hook has ended.
    fn on_hooks_ended(&self) {}

    /// Called before a question waits for an answer from another terminal.
    fn on_wait_started(&self) {}

    /// Called when the question has its answer, or when the wait has ended without one.
    fn on_wait_ended(&self) {}

    /// Called before the decision is recorded. It does not return if the host has answered the call
    /// in the meantime, because the record would differ from the answer.
    fn on_record_started(&self) {}

    /// Called when the decision is recorded, or could not be.
    fn on_record_ended(&self) {}

    /// Starts to watch for an interrupt. Called before hooks run, and before a request waits for an
    /// answer.
    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_>;
}

/// A watch for an interrupt, until it is dropped.
pub trait InterruptWatch {
    /// Returns whether an interrupt has arrived.
    fn is_interrupted(&self) -> bool;

    /// Stops watching, and returns whether an interrupt arrived before. No interrupt is lost in
    /// between.
    fn stop(&self) -> bool;
}
