//! Ctrl-C and the signal to end, for as long as somebody waits for an answer.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

/// Notices signals until it is dropped. After that they end the program as if nobody had listened.
#[derive(Debug)]
pub(crate) struct Signals {
    came: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl Signals {
    /// Begins to listen. Where that fails, signals do what they always do: the request is then swept by whoever looks next.
    pub(crate) fn listen() -> Self {
        let signals = Self { came: Arc::default(), over: Arc::default() };
        for signal in [SIGINT, SIGTERM] {
            let over = flag::register_conditional_default(signal, Arc::clone(&signals.over));
            if over.is_ok() {
                drop(flag::register(signal, Arc::clone(&signals.came)));
            }
        }
        signals
    }

    pub(crate) fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }
}

impl Signals {
    /// Stops listening, and says whether a signal came until then: none falls between.
    pub(crate) fn stop(&self) -> bool {
        self.over.store(true, Ordering::SeqCst);
        self.came()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
    }
}
