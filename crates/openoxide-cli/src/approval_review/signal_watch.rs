//! Ctrl-C and the signal to end, for as long as somebody waits: for hooks, or for an answer.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicBool, Ordering},
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

/// What the handlers write and read. They are registered once: a second pair would find the first one's wait over, and end the program.
static SIGNAL_FLAGS: LazyLock<SignalFlags> = LazyLock::new(SignalFlags::register);

#[derive(Default)]
struct SignalFlags {
    is_received: Arc<AtomicBool>,
    is_finished: Arc<AtomicBool>,
}

impl SignalFlags {
    /// Where that fails, signals do what they always do: the request is then swept by whoever looks next.
    fn register() -> Self {
        let flags = Self::default();
        for signal in [SIGINT, SIGTERM] {
            let over = flag::register_conditional_default(signal, Arc::clone(&flags.is_finished));
            if over.is_ok() {
                drop(flag::register(signal, Arc::clone(&flags.is_received)));
            }
        }
        flags
    }
}

/// Notices signals until it is dropped. After that they end the program as if nobody had listened. One wait follows the other: there
/// is one of these at a time.
#[derive(Debug)]
pub(crate) struct SignalWatch(());

impl SignalWatch {
    /// Begins to listen.
    pub(crate) fn start() -> Self {
        let flags = &*SIGNAL_FLAGS;
        flags.is_received.store(false, Ordering::SeqCst);
        flags.is_finished.store(false, Ordering::SeqCst);
        Self(())
    }

    #[expect(clippy::unused_self, reason = "who does not listen has nothing to ask")]
    pub(crate) fn is_interrupted(&self) -> bool {
        SIGNAL_FLAGS.is_received.load(Ordering::SeqCst)
    }

    /// Stops listening, and says whether a signal came until then: none falls between.
    pub(crate) fn stop(&self) -> bool {
        SIGNAL_FLAGS.is_finished.store(true, Ordering::SeqCst);
        self.is_interrupted()
    }
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        SIGNAL_FLAGS.is_finished.store(true, Ordering::SeqCst);
    }
}
