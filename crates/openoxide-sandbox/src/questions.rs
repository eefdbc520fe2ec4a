//! Asking a person while whoever wants something waits: to reach a host, to change a file.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::LiveChange;

/// How many questions may be put to a person in a minute: who is flooded reads none.
const MOST_A_MINUTE: usize = 30;
/// How many answers are remembered.
const MOST_SETTLED: usize = 4096;
/// How often is looked whether who waits is still there.
const LOOK: Duration = Duration::from_millis(100);
const STACK: usize = 256 * 1024;

/// What a confined process wants and waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LiveQuestion {
    /// To reach a host that the profile does not name.
    Host {
        /// Its name or address.
        host: String,
        /// The port.
        port: u16,
    },
    /// To change a file that the profile does not let it change.
    Change(LiveChange),
}

/// What a reviewer says of what is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LiveAnswer {
    /// What waits now is done.
    Once,
    /// These and all that follow in this run.
    Session,
    /// As `Session`; the reviewer keeps it for other runs.
    Always,
    /// Neither these nor any that follow in this run.
    No,
    /// As `Session`, and nobody was asked: a rule says so.
    Allowed,
    /// As `No`, and nobody was asked.
    Denied,
}

impl LiveAnswer {
    const fn is_yes(self) -> bool {
        !matches!(self, Self::No | Self::Denied)
    }
}

/// Who asks. The second argument says when nobody wants to know any more.
type Asker<K> = dyn Fn(&K, &dyn Fn() -> bool) -> LiveAnswer + Send + Sync;

/// The questions of one run, each about one `K`.
pub(crate) struct Questions<K> {
    ask: Box<Asker<K>>,
    patience: Duration,
    most_open: usize,
    state: Mutex<State<K>>,
}

struct State<K> {
    open: BTreeMap<K, Arc<Question>>,
    settled: BTreeMap<K, bool>,
    begun: VecDeque<Instant>,
}

/// One question, and until when it is waited for.
struct Question {
    until: Instant,
    state: Mutex<Waiting>,
    answered: Condvar,
}

/// What was answered, and how many wait for it.
#[derive(Default)]
struct Waiting {
    answer: Option<bool>,
    count: usize,
    gone: bool,
}

impl<K: Ord + Clone + Send + 'static> Questions<K> {
    /// Each question is put to `ask`, on a thread of its own. Who waits for an answer waits no longer than `patience` from when the
    /// question began. What would be one more than `most_open` is not asked.
    pub(crate) fn new(
        ask: impl Fn(&K, &dyn Fn() -> bool) -> LiveAnswer + Send + Sync + 'static,
        patience: Duration,
        most_open: usize,
    ) -> Arc<Self> {
        let (open, settled, begun) = Default::default();
        let state = Mutex::new(State { open, settled, begun });
        Arc::new(Self { ask: Box::new(ask), patience, most_open, state })
    }

    /// Says whether this may be, when that is known or the reviewer has answered. All doubt is no. Where all who wait are no longer
    /// there (`still`), the question is withdrawn.
    pub(crate) fn may(self: &Arc<Self>, key: &K, still: impl Fn() -> bool) -> bool {
        let question = {
            let mut state = self.state();
            if let Some(settled) = state.settled.get(key) {
                return *settled;
            }
            match state.open.get(key) {
                Some(question) => Some(Arc::clone(question)),
                None => self.begin(&mut state, key),
            }
            .inspect(|question| question.state().count += 1)
        };
        let Some(question) = question else { return false };
        let answer = question.wait(still);
        if answer.is_none() {
            self.leave(key, &question);
        }
        answer.unwrap_or(false)
    }

    /// Ends a question that nobody waits for any more.
    fn leave(&self, key: &K, question: &Question) {
        let mut state = self.state();
        let mut waiting = question.state();
        waiting.count -= 1;
        if waiting.count == 0 && waiting.answer.is_none() {
            waiting.gone = true;
            state.open.remove(key);
        }
    }

    /// Opens a question, unless there are too many.
    fn begin(self: &Arc<Self>, state: &mut State<K>, key: &K) -> Option<Arc<Question>> {
        let now = Instant::now();
        let old = |begun: &Instant| now.duration_since(*begun) > Duration::from_secs(60);
        while state.begun.front().is_some_and(old) {
            state.begun.pop_front();
        }
        if state.open.len() >= self.most_open || state.begun.len() >= MOST_A_MINUTE {
            return None;
        }
        state.begun.push_back(now);
        let until = now + self.patience;
        let question = Question { until, state: Mutex::default(), answered: Condvar::new() };
        let question = Arc::new(question);
        state.open.insert(key.clone(), Arc::clone(&question));
        self.put(state, key, &question).then_some(question)
    }

    /// Has the reviewer asked on a thread of its own.
    fn put(self: &Arc<Self>, state: &mut State<K>, key: &K, question: &Arc<Question>) -> bool {
        let (questions, question) = (Arc::clone(self), Arc::clone(question));
        let asked = key.clone();
        let asking = move || {
            let answer = (questions.ask)(&asked, &|| question.state().gone);
            questions.settle(&asked, &question, answer);
        };
        let begun = thread::Builder::new().stack_size(STACK).spawn(asking).is_ok();
        if !begun {
            state.open.remove(key);
        }
        begun
    }

    fn settle(&self, key: &K, question: &Question, answer: LiveAnswer) {
        let mut state = self.state();
        if question.state().gone {
            return;
        }
        let yes = answer.is_yes();
        if matches!(answer, LiveAnswer::Allowed | LiveAnswer::Denied) {
            state.begun.pop_back();
        }
        if answer != LiveAnswer::Once && state.settled.len() < MOST_SETTLED {
            state.settled.insert(key.clone(), yes);
        }
        state.open.remove(key);
        question.answer(yes);
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Question {
    /// Waits for the answer. None: who waits is no longer there.
    fn wait(&self, still: impl Fn() -> bool) -> Option<bool> {
        let mut waiting = self.state();
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            if waiting.answer.is_some() || left.is_zero() {
                return Some(waiting.answer.unwrap_or(false));
            }
            let look = left.min(LOOK);
            let waited = self.answered.wait_timeout(waiting, look);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
            if waiting.answer.is_none() && !still() {
                return None;
            }
        }
    }

    fn answer(&self, yes: bool) {
        self.state().answer = Some(yes);
        self.answered.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> fmt::Debug for Questions<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Questions").field("patience", &self.patience).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    type Key = (String, u16);

    /// Tells what it is asked and answers what it is told; a closed channel is no.
    fn told(patience: u64) -> (Arc<Questions<Key>>, mpsc::Receiver<Key>, mpsc::Sender<LiveAnswer>) {
        let (asked, heard) = mpsc::channel();
        let (say, said) = mpsc::channel();
        let (asked, said) = (Mutex::new(asked), Mutex::new(said));
        let ask = move |key: &Key, _: &dyn Fn() -> bool| {
            asked.lock().unwrap().send(key.clone()).unwrap();
            said.lock().unwrap().recv().unwrap_or(LiveAnswer::No)
        };
        (Questions::new(ask, Duration::from_millis(patience), 8), heard, say)
    }

    fn may(questions: &Arc<Questions<Key>>, host: &str, port: u16) -> bool {
        questions.may(&(host.to_owned(), port), || true)
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
        let question = Arc::clone(questions.state().open.values().next().unwrap());
        while question.state().count < 20 {
            thread::yield_now();
        }
        say.send(LiveAnswer::Once).unwrap();
        assert!(all.into_iter().all(|one| one.join().unwrap()));
        assert!(heard.try_recv().is_err());
    }

    #[test]
    fn an_answer_counts_as_long_as_it_says() {
        for (answer, yes, again) in [
            (LiveAnswer::Once, true, true),
            (LiveAnswer::Session, true, false),
            (LiveAnswer::Always, true, false),
            (LiveAnswer::No, false, false),
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
    fn a_question_that_nobody_waits_for_is_withdrawn_and_asked_anew() {
        let asked = Arc::new(Mutex::new(0));
        let count = Arc::clone(&asked);
        let ask = move |(): &(), gone: &dyn Fn() -> bool| {
            *count.lock().unwrap() += 1;
            while !gone() {
                thread::yield_now();
            }
            LiveAnswer::Session
        };
        let questions = Questions::new(ask, Duration::from_secs(60), 8);
        let still = std::sync::atomic::AtomicBool::new(true);
        let (one, other) = thread::scope(|scope| {
            let waiting = || questions.may(&(), || still.load(std::sync::atomic::Ordering::SeqCst));
            let both = (scope.spawn(waiting), scope.spawn(|| questions.may(&(), || false)));
            thread::sleep(Duration::from_millis(300));
            assert_eq!(*asked.lock().unwrap(), 1, "one still waits");
            still.store(false, std::sync::atomic::Ordering::SeqCst);
            (both.0.join().unwrap(), both.1.join().unwrap())
        });
        assert!(!one && !other && !questions.may(&(), || false), "no late yes counts");
        assert_eq!(*asked.lock().unwrap(), 2);
    }

    #[test]
    fn no_answer_in_time_is_no_and_a_late_one_counts_for_what_follows() {
        let (questions, _heard, say) = told(20);
        assert!(!may(&questions, "example.org", 443));
        assert!(!may(&questions, "example.org", 443), "still open, and nobody waits again");
        say.send(LiveAnswer::Session).unwrap();
        while !questions.state().open.is_empty() {
            thread::yield_now();
        }
        assert!(may(&questions, "example.org", 443));
    }

    #[test]
    fn a_flood_of_questions_is_not_asked() {
        let (questions, heard, say) = told(1);
        assert!((0..20).all(|n| !may(&questions, &format!("n{n}.example.org"), 443)));
        for _ in 0..8 {
            say.send(LiveAnswer::No).unwrap();
        }
        while !questions.state().open.is_empty() {
            thread::yield_now();
        }
        assert_eq!(heard.try_iter().count(), 8);
        let (questions, heard, say) = told(30_000);
        let asked = (0..100).filter(|n| {
            say.send(LiveAnswer::Session).unwrap();
            may(&questions, &format!("n{n}.example.org"), 443)
        });
        assert_eq!(asked.count(), 30);
        assert_eq!(heard.try_iter().count(), 30);
        // What rules answer floods nobody.
        let (questions, _heard, say) = told(30_000);
        assert!((0..100).all(|n| {
            say.send(LiveAnswer::Allowed).unwrap();
            may(&questions, &format!("n{n}.example.org"), 443)
        }));
    }
}
