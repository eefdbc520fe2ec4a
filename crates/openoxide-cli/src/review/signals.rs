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
static FLAGS: LazyLock<Flags> = LazyLock::new(Flags::register);

#[derive(Default)]
struct Flags {
    came: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl Flags {
    /// Where that fails, signals do what they always do: the request is then swept by whoever looks next.
    fn register() -> Self {
        let flags = Self::default();
        for signal in [SIGINT, SIGTERM] {
            let over = flag::register_conditional_default(signal, Arc::clone(&flags.over));
            if over.is_ok() {
                drop(flag::register(signal, Arc::clone(&flags.came)));
            }
        }
        flags
    }
}

/// Notices signals until it is dropped. After that they end the program as if nobody had listened. One wait follows the other: there
/// is one of these at a time.
#[derive(Debug)]
pub(crate) struct Signals(());

impl Signals {
    /// Begins to listen.
    pub(crate) fn listen() -> Self {
        let flags = &*FLAGS;
        flags.came.store(false, Ordering::SeqCst);
        flags.over.store(false, Ordering::SeqCst);
        Self(())
    }

    #[expect(clippy::unused_self, reason = "who does not listen has nothing to ask")]
    pub(crate) fn came(&self) -> bool {
        FLAGS.came.load(Ordering::SeqCst)
    }

    /// Stops listening, and says whether a signal came until then: none falls between.
    pub(crate) fn stop(&self) -> bool {
        FLAGS.over.store(true, Ordering::SeqCst);
        self.came()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        FLAGS.over.store(true, Ordering::SeqCst);
    }
}
