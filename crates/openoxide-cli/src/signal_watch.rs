//! Handling of Ctrl-C and SIGTERM while the program waits for hooks or for an answer.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicBool, Ordering},
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

/// The flags that the signal handlers read and write. The handlers are registered only once: a
/// second pair would find the flag of the first wait still set, and end the program.
static SIGNAL_FLAGS: LazyLock<SignalFlags> = LazyLock::new(SignalFlags::register);

#[derive(Default)]
struct SignalFlags {
    is_received: Arc<AtomicBool>,
    is_finished: Arc<AtomicBool>,
}

impl SignalFlags {
    /// Registers the signal handlers. If that fails, signals keep their default effect, and the
    /// abandoned request is removed by the next process that lists requests.
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

/// A watch for signals that lasts until it is dropped. Afterwards signals end the program as usual.
/// Only one watch exists at a time.
#[derive(Debug)]
pub(crate) struct SignalWatch(());

impl SignalWatch {
    /// Starts the watch.
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

    /// Stops watching, and returns whether a signal arrived before. No signal is lost in between.
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
