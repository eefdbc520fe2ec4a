//! A hook that answers too late is as good as none: its client goes on without it. So a thread of its own answers when the time is
//! over, whatever the rest of the program is waiting for.

use std::{
    io::Write as _,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{BLOCKED, client::Client};

/// How long the program may take for its own work. Without optimisations it takes several times as long.
const OWN_WORK: Duration = Duration::from_secs(if cfg!(debug_assertions) { 6 } else { 2 });
/// The answer is on its way this long before the client stops waiting.
const MARGIN: Duration = Duration::from_secs(1);
/// No client waits for less.
const SHORTEST: Duration = Duration::from_millis(500);

/// Makes sure that exactly one answer is printed, and in time.
#[derive(Clone, Debug)]
pub(super) struct Watchdog {
    shared: Arc<(Mutex<State>, Condvar)>,
    /// When the client has to have its answer.
    latest: Instant,
    /// When the program's own work has to be done, hooks of the policy apart.
    own: Duration,
}

#[derive(Debug)]
struct State {
    deadline: Instant,
    /// Whoever answers takes this.
    is_answered: bool,
}

impl Watchdog {
    /// Starts the watch over a call, whose client waits for so many seconds.
    ///
    /// # Errors
    /// When no thread can be started: then nothing guarantees an answer.
    pub(super) fn start(client: Client, seconds: u64) -> std::io::Result<Self> {
        let total = Duration::from_secs(seconds).saturating_sub(MARGIN).max(SHORTEST);
        let own = OWN_WORK.min(total);
        let now = Instant::now();
        let state = State { deadline: now + own, is_answered: false };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let watchdog = Self { shared, latest: now + total, own };
        let watched = watchdog.clone();
        thread::Builder::new().name("watchdog".to_owned()).spawn(move || watched.watch(client))?;
        Ok(watchdog)
    }

    /// Gives other programs, which are waited for, the time that the client leaves.
    pub(super) fn wait_for_others(&self) {
        self.set_deadline(self.latest);
    }

    /// Gives this program the time for its own work, from now on.
    pub(super) fn resume(&self) {
        self.set_deadline((Instant::now() + self.own).min(self.latest));
    }

    /// Takes the right to answer. If the watchdog has it, this does not return: the process ends with its answer.
    pub(super) fn claim(&self) {
        while !self.try_claim() {
            thread::park();
        }
    }

    fn try_claim(&self) -> bool {
        let mut state = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut state.is_answered, true)
    }

    fn set_deadline(&self, deadline: Instant) {
        let (state, changed) = &*self.shared;
        state.lock().unwrap_or_else(PoisonError::into_inner).deadline = deadline;
        changed.notify_all();
    }

    fn watch(&self, client: Client) {
        let (state, changed) = &*self.shared;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = state.deadline.saturating_duration_since(Instant::now());
            if state.is_answered {
                return;
            }
            if left.is_zero() {
                break;
            }
            state = changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_answered = true;
        drop(state);
        let line = client.undecided("deciding took too long");
        let mut output = std::io::stdout().lock();
        let written = writeln!(output, "{line}").and_then(|()| output.flush());
        // The rest of the program may wait for ever.
        std::process::exit(if written.is_ok() { 0 } else { BLOCKED });
    }
}
