//! A watchdog for the answer of a hook. A late answer has no effect, because the client continues
//! without it. A separate thread therefore answers when the time is over, whatever the rest of the
//! program is waiting for.

use std::{
    io::Write as _,
    sync::{Arc, Condvar, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use openoxide_protocol::escape::escape_json;

use super::{hook_client::BLOCK_STATUS, unanswered_call::UnansweredCall};

/// The time limit for the program's own work. Without optimizations it takes several times as long.
const OWN_WORK_LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 6 } else { 2 });
/// The answer is on its way this long before the client stops waiting.
const ANSWER_MARGIN: Duration = Duration::from_secs(1);
/// The time that recording the answer may take after it was printed, so that the program ends
/// before the client stops waiting.
const RECORD_LIMIT: Duration = Duration::from_millis(250);
/// The reason of the answer.
const TIMEOUT_REASON: &str = "deciding took too long";
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
    /// True while the decision is recorded.
    is_recording: bool,
}

impl AnswerWatchdog {
    /// Starts the watchdog for a call whose client waits for the given number of seconds.
    ///
    /// # Errors
    /// When no thread can be started, so that an answer is not guaranteed.
    pub(super) fn start(call: UnansweredCall, seconds: u64) -> std::io::Result<Self> {
        let total = Duration::from_secs(seconds).saturating_sub(ANSWER_MARGIN).max(MIN_TIMEOUT);
        let own = OWN_WORK_LIMIT.min(total);
        let now = Instant::now();
        let state = WatchdogState { deadline: now + own, is_answered: false, is_recording: false };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let watchdog = Self { state: shared, answer_deadline: now + total, own_work_limit: own };
        let watched = watchdog.clone();
        thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || watched.run_watch(call))?;
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

    /// Returns the time that is left for a person or for other programs, before this program needs
    /// the rest for its own work.
    pub(super) fn time_for_others(&self) -> Duration {
        let end = self.answer_deadline.checked_sub(self.own_work_limit);
        end.map_or(Duration::ZERO, |end| end.saturating_duration_since(Instant::now()))
    }

    /// Takes the right to answer. If the watchdog has it, this does not return: the process ends with its answer.
    pub(super) fn claim_answer(&self) {
        while !self.try_claim_answer() {
            thread::park();
        }
    }

    /// Marks that the decision is being recorded. If the watchdog has answered, this does not return,
    /// so that the last record of the call is the answer of the watchdog.
    pub(super) fn begin_record(&self) {
        loop {
            let mut state = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !state.is_answered {
                state.is_recording = true;
                return;
            }
            drop(state);
            thread::park();
        }
    }

    /// Marks that the decision is recorded.
    pub(super) fn end_record(&self) {
        let (state, changed) = &*self.state;
        state.lock().unwrap_or_else(PoisonError::into_inner).is_recording = false;
        changed.notify_all();
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

    fn run_watch(&self, call: UnansweredCall) {
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
        let line = call.client.render_undecided(TIMEOUT_REASON);
        let mut output = std::io::stdout().lock();
        let written = writeln!(output, "{}", escape_json(&line)).and_then(|()| output.flush());
        self.record_answer(call);
        // The rest of the program may wait for ever.
        std::process::exit(if written.is_ok() { 0 } else { BLOCK_STATUS });
    }

    /// Records the answer of the watchdog. Waits only briefly, because the file system of the
    /// journal may be the one that does not respond.
    fn record_answer(&self, call: UnansweredCall) {
        let watched = self.clone();
        let (recorded, is_recorded) = mpsc::channel();
        let recorder = thread::Builder::new().name("recorder".to_owned()).spawn(move || {
            watched.wait_for_record();
            call.record(TIMEOUT_REASON);
            recorded.send(()).ok();
        });
        if recorder.is_ok() {
            is_recorded.recv_timeout(RECORD_LIMIT).ok();
        }
    }

    /// Waits until no decision is being recorded any more. A decision that is recorded later than
    /// this call does not exist, because [`Self::begin_record`] does not return then.
    fn wait_for_record(&self) {
        let (state, changed) = &*self.state;
        let state = state.lock().unwrap_or_else(PoisonError::into_inner);
        drop(changed.wait_while(state, |state| state.is_recording));
    }
}
