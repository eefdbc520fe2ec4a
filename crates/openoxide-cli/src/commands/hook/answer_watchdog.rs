//! A watchdog for the answer of a hook. A late answer has no effect, because the client continues
//! without it. A separate thread therefore answers when the time is over, whatever the rest of the
//! program is waiting for.

use std::{
    io::Write as _,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::hook_client::{BLOCK_STATUS, HookClient};

/// The time limit for the program's own work. Without optimizations it takes several times as long.
const OWN_WORK_LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 6 } else { 2 });
/// The answer is on its way this long before the client stops waiting.
const ANSWER_MARGIN: Duration = Duration::from_secs(1);
/// No client waits for less.
const MIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Makes sure that exactly one answer is printed, and in time.
#[derive(Clone, Debug)]
pub(super) struct AnswerWatchdog {
    state: Arc<(Mutex<WatchdogState>, Condvar)>,
    /// The time at which the client must have its answer.
    answer_deadline: Instant,
    /// The time limit for the program's own work, without the policy's hooks.
    own_work_limit: Duration,
}

#[derive(Debug)]
struct WatchdogState {
    deadline: Instant,
    /// True once a thread has claimed the right to answer.
    is_answered: bool,
}

impl AnswerWatchdog {
    /// Starts the watchdog for a call whose client waits for the given number of seconds.
    ///
    /// # Errors
    /// When no thread can be started, so that an answer is not guaranteed.
    pub(super) fn start(client: HookClient, seconds: u64) -> std::io::Result<Self> {
        let total = Duration::from_secs(seconds).saturating_sub(ANSWER_MARGIN).max(MIN_TIMEOUT);
        let own = OWN_WORK_LIMIT.min(total);
        let now = Instant::now();
        let state = WatchdogState { deadline: now + own, is_answered: false };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let watchdog = Self { state: shared, answer_deadline: now + total, own_work_limit: own };
        let watched = watchdog.clone();
        thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || watched.run_watch(client))?;
        Ok(watchdog)
    }

    /// Gives other programs, which are waited for, the time that the client leaves.
    pub(super) fn extend_deadline(&self) {
        self.set_deadline(self.answer_deadline);
    }

    /// Gives this program the time for its own work, from now on.
    pub(super) fn resume_own_work(&self) {
        self.set_deadline((Instant::now() + self.own_work_limit).min(self.answer_deadline));
    }

    /// Takes the right to answer. If the watchdog has it, this does not return: the process ends with its answer.
    pub(super) fn claim_answer(&self) {
        while !self.try_claim_answer() {
            thread::park();
        }
    }

    fn try_claim_answer(&self) -> bool {
        let mut state = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut state.is_answered, true)
    }

    fn set_deadline(&self, deadline: Instant) {
        let (state, changed) = &*self.state;
        state.lock().unwrap_or_else(PoisonError::into_inner).deadline = deadline;
        changed.notify_all();
    }

    fn run_watch(&self, client: HookClient) {
        let (state, changed) = &*self.state;
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
        let line = client.render_undecided("deciding took too long");
        let mut output = std::io::stdout().lock();
        let written = writeln!(output, "{line}").and_then(|()| output.flush());
        // The rest of the program may wait for ever.
        std::process::exit(if written.is_ok() { 0 } else { BLOCK_STATUS });
    }
}
