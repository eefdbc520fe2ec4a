//! The coordinator of the questions of one run: each is asked once, and its answer is remembered.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use crate::interface::RuntimeDecision;

/// The limit on questions to a person per minute. A person who gets too many questions does not
/// read them.
pub(crate) const MAX_REVIEWS_PER_MINUTE: usize = 30;
/// The number of answers that are remembered.
const MAX_REMEMBERED_DECISIONS: usize = 4096;
/// The interval at which the existence of the waiting process is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const STACK_BYTES: usize = 256 * 1024;

/// The function that asks the reviewer. The second argument returns true once the question is
/// withdrawn.
type ReviewCallback<K> = dyn Fn(&K, &dyn Fn() -> bool) -> RuntimeDecision + Send + Sync;

/// The outcome of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReviewOutcome {
    Approved,
    /// Rejected, or not answered.
    Rejected,
    /// Rejected without a question, because there were too many.
    NotAsked,
}

impl ReviewOutcome {
    const fn from_approval(approved: bool) -> Self {
        if approved { Self::Approved } else { Self::Rejected }
    }
}

/// The questions of one run, each about one `K`.
pub(crate) struct ReviewCoordinator<K> {
    ask: Box<ReviewCallback<K>>,
    timeout: Duration,
    max_open: usize,
    state: Mutex<ReviewState<K>>,
}

struct ReviewState<K> {
    open: BTreeMap<K, Arc<PendingReview>>,
    decided: BTreeMap<K, bool>,
    recent_starts: VecDeque<Instant>,
}

/// One question, and the time limit for its answer.
struct PendingReview {
    deadline: Instant,
    state: Mutex<ReviewAnswer>,
    answer_ready: Condvar,
}

/// The answer, and the number of threads that are waiting for it.
#[derive(Default)]
struct ReviewAnswer {
    answer: Option<bool>,
    waiter_count: usize,
    withdrawn: bool,
}

impl<K: Ord + Clone + Send + 'static> ReviewCoordinator<K> {
    /// Creates a coordinator that passes each question to `ask`, on a separate thread. A caller
    /// waits for an answer for at most `patience`, measured from the start of the question. If
    /// `most_open` questions are open, further ones are not asked.
    pub(crate) fn new(
        ask: impl Fn(&K, &dyn Fn() -> bool) -> RuntimeDecision + Send + Sync + 'static,
        patience: Duration,
        most_open: usize,
    ) -> Arc<Self> {
        let (open, settled, begun) = Default::default();
        let state = Mutex::new(ReviewState { open, decided: settled, recent_starts: begun });
        Arc::new(Self { ask: Box::new(ask), timeout: patience, max_open: most_open, state })
    }

    /// Returns whether the request is approved, as soon as that is known or the reviewer has
    /// answered. Without an answer, it is rejected. The question is withdrawn if all waiting
    /// processes have ended (`still`).
    pub(crate) fn review(self: &Arc<Self>, key: &K, still: impl Fn() -> bool) -> ReviewOutcome {
        let question = {
            let mut state = self.lock_state();
            if let Some(settled) = state.decided.get(key) {
                return ReviewOutcome::from_approval(*settled);
            }
            match state.open.get(key) {
                Some(question) => Some(Arc::clone(question)),
                None => self.open_review(&mut state, key),
            }
            .inspect(|question| question.lock_state().waiter_count += 1)
        };
        let Some(question) = question else { return ReviewOutcome::NotAsked };
        let answer = question.wait_for_answer(still);
        if answer.is_none() {
            self.remove_waiter(key, &question);
        }
        ReviewOutcome::from_approval(answer.unwrap_or(false))
    }

    /// Removes a waiting caller from a question. Withdraws the question if it was the last one.
    fn remove_waiter(&self, key: &K, question: &PendingReview) {
        let mut state = self.lock_state();
        let mut waiting = question.lock_state();
        waiting.waiter_count -= 1;
        if waiting.waiter_count == 0 && waiting.answer.is_none() {
            waiting.withdrawn = true;
            state.open.remove(key);
        }
    }

    /// Opens a question, unless there are too many.
    fn open_review(
        self: &Arc<Self>,
        state: &mut ReviewState<K>,
        key: &K,
    ) -> Option<Arc<PendingReview>> {
        let now = Instant::now();
        let old = |begun: &Instant| now.duration_since(*begun) > Duration::from_secs(60);
        while state.recent_starts.front().is_some_and(old) {
            state.recent_starts.pop_front();
        }
        if state.open.len() >= self.max_open || state.recent_starts.len() >= MAX_REVIEWS_PER_MINUTE
        {
            return None;
        }
        state.recent_starts.push_back(now);
        let until = now + self.timeout;
        let question = PendingReview {
            deadline: until,
            state: Mutex::default(),
            answer_ready: Condvar::new(),
        };
        let question = Arc::new(question);
        state.open.insert(key.clone(), Arc::clone(&question));
        self.spawn_reviewer(state, key, &question).then_some(question)
    }

    /// Asks the reviewer on a separate thread. Returns whether the thread was started.
    fn spawn_reviewer(
        self: &Arc<Self>,
        state: &mut ReviewState<K>,
        key: &K,
        question: &Arc<PendingReview>,
    ) -> bool {
        let (questions, question) = (Arc::clone(self), Arc::clone(question));
        let asked = key.clone();
        let asking = move || {
            let answer = (questions.ask)(&asked, &|| question.lock_state().withdrawn);
            questions.record_decision(&asked, &question, answer);
        };
        let begun = thread::Builder::new().stack_size(STACK_BYTES).spawn(asking).is_ok();
        if !begun {
            state.open.remove(key);
        }
        begun
    }

    fn record_decision(&self, key: &K, question: &PendingReview, answer: RuntimeDecision) {
        let mut state = self.lock_state();
        if question.lock_state().withdrawn {
            return;
        }
        let yes = answer.is_approval();
        if matches!(answer, RuntimeDecision::AllowedByRule | RuntimeDecision::DeniedByRule) {
            state.recent_starts.pop_back();
        }
        if answer != RuntimeDecision::Once && state.decided.len() < MAX_REMEMBERED_DECISIONS {
            state.decided.insert(key.clone(), yes);
        }
        state.open.remove(key);
        question.set_answer(yes);
    }

    fn lock_state(&self) -> MutexGuard<'_, ReviewState<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingReview {
    /// Waits for the answer. Returns `None` if the waiting process has ended.
    fn wait_for_answer(&self, still: impl Fn() -> bool) -> Option<bool> {
        let mut waiting = self.lock_state();
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if waiting.answer.is_some() || left.is_zero() {
                return Some(waiting.answer.unwrap_or(false));
            }
            let look = left.min(POLL_INTERVAL);
            let waited = self.answer_ready.wait_timeout(waiting, look);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
            if waiting.answer.is_none() && !still() {
                return None;
            }
        }
    }

    fn set_answer(&self, yes: bool) {
        self.lock_state().answer = Some(yes);
        self.answer_ready.notify_all();
    }

    fn lock_state(&self) -> MutexGuard<'_, ReviewAnswer> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> fmt::Debug for ReviewCoordinator<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReviewCoordinator").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    type Key = (String, u16);

    /// Returns a coordinator, the receiver of its questions and the sender of the answers. A closed
    /// channel is a rejection.
    fn told(
        patience: u64,
    ) -> (Arc<ReviewCoordinator<Key>>, mpsc::Receiver<Key>, mpsc::Sender<RuntimeDecision>) {
        let (asked, heard) = mpsc::channel();
        let (say, said) = mpsc::channel();
        let (asked, said) = (Mutex::new(asked), Mutex::new(said));
        let ask = move |key: &Key, _: &dyn Fn() -> bool| {
            asked.lock().unwrap().send(key.clone()).unwrap();
            said.lock().unwrap().recv().unwrap_or(RuntimeDecision::Rejected)
        };
        (ReviewCoordinator::new(ask, Duration::from_millis(patience), 8), heard, say)
    }

    fn may(questions: &Arc<ReviewCoordinator<Key>>, host: &str, port: u16) -> bool {
        questions.review(&(host.to_owned(), port), || true) == ReviewOutcome::Approved
    }

    #[test]
    fn the_same_question_is_asked_once_and_answers_all_who_wait() {
        let (questions, heard, say) = told(30_000);
        let all: Vec<_> = (0..20)
            .map(|_| {
                let questions = Arc::clone(&questions);
                thread::spawn(move || may(&questions, "example.org", 443))
            })
            .collect();
        assert_eq!(heard.recv().unwrap(), ("example.org".to_owned(), 443));
        let question = Arc::clone(questions.lock_state().open.values().next().unwrap());
        while question.lock_state().waiter_count < 20 {
            thread::yield_now();
        }
        say.send(RuntimeDecision::Once).unwrap();
        assert!(all.into_iter().all(|one| one.join().unwrap()));
        assert!(heard.try_recv().is_err());
    }

    #[test]
    fn an_answer_applies_for_its_scope() {
        for (answer, yes, again) in [
            (RuntimeDecision::Once, true, true),
            (RuntimeDecision::Session, true, false),
            (RuntimeDecision::Always, true, false),
            (RuntimeDecision::Rejected, false, false),
        ] {
            let (questions, heard, say) = told(30_000);
            say.send(answer).unwrap();
            assert_eq!(may(&questions, "example.org", 443), yes);
            say.send(answer).unwrap();
            assert_eq!(may(&questions, "example.org", 443), yes);
            assert_eq!(heard.try_iter().count(), if again { 2 } else { 1 }, "{answer:?}");
            say.send(answer).unwrap();
            assert_eq!(may(&questions, "example.org", 80), yes);
            assert_eq!(heard.try_iter().last().unwrap().1, 80, "another port is another question");
        }
    }

    #[test]
    fn an_abandoned_review_is_withdrawn_and_asked_again() {
        let asked = Arc::new(Mutex::new(0));
        let count = Arc::clone(&asked);
        let ask = move |(): &(), gone: &dyn Fn() -> bool| {
            *count.lock().unwrap() += 1;
            while !gone() {
                thread::yield_now();
            }
            RuntimeDecision::Session
        };
        let questions = ReviewCoordinator::new(ask, Duration::from_secs(60), 8);
        let still = std::sync::atomic::AtomicBool::new(true);
        let (one, other) = thread::scope(|scope| {
            let waiting =
                || questions.review(&(), || still.load(std::sync::atomic::Ordering::SeqCst));
            let both = (scope.spawn(waiting), scope.spawn(|| questions.review(&(), || false)));
            thread::sleep(Duration::from_millis(300));
            assert_eq!(*asked.lock().unwrap(), 1, "one still waits");
            still.store(false, std::sync::atomic::Ordering::SeqCst);
            (both.0.join().unwrap(), both.1.join().unwrap())
        });
        let rejected = ReviewOutcome::Rejected;
        assert_eq!(
            [one, other, questions.review(&(), || false)],
            [rejected; 3],
            "no late yes counts"
        );
        assert_eq!(*asked.lock().unwrap(), 2);
    }

    #[test]
    fn a_timeout_rejects_and_a_late_answer_applies_to_later_requests() {
        let (questions, _heard, say) = told(20);
        assert!(!may(&questions, "example.org", 443));
        assert!(!may(&questions, "example.org", 443), "still open, and nobody waits again");
        say.send(RuntimeDecision::Session).unwrap();
        while !questions.lock_state().open.is_empty() {
            thread::yield_now();
        }
        assert!(may(&questions, "example.org", 443));
    }

    #[test]
    fn a_flood_of_questions_is_not_asked() {
        let (questions, heard, say) = told(1);
        assert!((0..20).all(|n| !may(&questions, &format!("n{n}.example.org"), 443)));
        for _ in 0..8 {
            say.send(RuntimeDecision::Rejected).unwrap();
        }
        while !questions.lock_state().open.is_empty() {
            thread::yield_now();
        }
        assert_eq!(heard.try_iter().count(), 8);
        let (questions, heard, say) = told(30_000);
        let asked = (0..100).filter(|n| {
            say.send(RuntimeDecision::Session).unwrap();
            may(&questions, &format!("n{n}.example.org"), 443)
        });
        assert_eq!(asked.count(), 30);
        assert_eq!(heard.try_iter().count(), 30);
        // Requests that rules decide are not limited.
        let (questions, _heard, say) = told(30_000);
        assert!((0..100).all(|n| {
            say.send(RuntimeDecision::AllowedByRule).unwrap();
            may(&questions, &format!("n{n}.example.org"), 443)
        }));
    }
}
