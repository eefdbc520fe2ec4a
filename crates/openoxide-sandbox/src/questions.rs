//! Asking a person while whoever wants something waits: to reach a host, to change a file.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::Change;

/// How many questions may be put to a person in a minute: who is flooded reads none.
const MOST_A_MINUTE: usize = 30;
/// How many answers are remembered.
const MOST_SETTLED: usize = 4096;
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
    Change(Change),
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

/// The questions of one run, each about one `K`.
pub(crate) struct Questions<K> {
    ask: Box<dyn Fn(&K) -> LiveAnswer + Send + Sync>,
    patience: Duration,
    most_open: usize,
    state: Mutex<State<K>>,
}

struct State<K> {
    open: BTreeMap<K, Arc<Question>>,
    settled: BTreeMap<K, bool>,
    begun: VecDeque<Instant>,
}

/// One question: until when it is waited for, and what was answered.
struct Question {
    until: Instant,
    answer: Mutex<Option<bool>>,
    answered: Condvar,
}

impl<K: Ord + Clone + Send + 'static> Questions<K> {
    /// Each question is put to `ask`, on a thread of its own. Who waits for an answer waits no longer than `patience` from when the
    /// question began. What would be one more than `most_open` is not asked.
    pub(crate) fn new(
        ask: impl Fn(&K) -> LiveAnswer + Send + Sync + 'static,
        patience: Duration,
        most_open: usize,
    ) -> Arc<Self> {
        let (open, settled, begun) = Default::default();
        let state = Mutex::new(State { open, settled, begun });
        Arc::new(Self { ask: Box::new(ask), patience, most_open, state })
    }

    /// Says whether this may be, when that is known or the reviewer has answered. All doubt is no.
    pub(crate) fn may(self: &Arc<Self>, key: &K) -> bool {
        let question = {
            let mut state = self.state();
            if let Some(settled) = state.settled.get(key) {
                return *settled;
            }
            match state.open.get(key) {
                Some(question) => Some(Arc::clone(question)),
                None => self.begin(&mut state, key).filter(|_| self.put(&mut state, key)),
            }
        };
        question.is_some_and(|question| question.wait())
    }

    /// Opens a question, unless there are too many.
    fn begin(&self, state: &mut State<K>, key: &K) -> Option<Arc<Question>> {
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
        let question =
            Arc::new(Question { until, answer: Mutex::default(), answered: Condvar::new() });
        state.open.insert(key.clone(), Arc::clone(&question));
        Some(question)
    }

    /// Has the reviewer asked on a thread of its own.
    fn put(self: &Arc<Self>, state: &mut State<K>, key: &K) -> bool {
        let questions = Arc::clone(self);
        let asked = key.clone();
        let asking = move || questions.settle(&asked, (questions.ask)(&asked));
        let begun = thread::Builder::new().stack_size(STACK).spawn(asking).is_ok();
        if !begun {
            state.open.remove(key);
        }
        begun
    }

    fn settle(&self, key: &K, answer: LiveAnswer) {
        let mut state = self.state();
        let yes = answer.is_yes();
        if matches!(answer, LiveAnswer::Allowed | LiveAnswer::Denied) {
            state.begun.pop_back();
        }
        if answer != LiveAnswer::Once && state.settled.len() < MOST_SETTLED {
            state.settled.insert(key.clone(), yes);
        }
        if let Some(question) = state.open.remove(key) {
            question.answer(yes);
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Question {
    fn wait(&self) -> bool {
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.until.saturating_duration_since(Instant::now());
        let waited = self.answered.wait_timeout_while(answer, left, |answer| answer.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.unwrap_or(false)
    }

    fn answer(&self, yes: bool) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(yes);
        self.answered.notify_all();
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
        let ask = move |key: &Key| {
            asked.lock().unwrap().send(key.clone()).unwrap();
            said.lock().unwrap().recv().unwrap_or(LiveAnswer::No)
        };
        (Questions::new(ask, Duration::from_millis(patience), 8), heard, say)
    }

    fn may(questions: &Arc<Questions<Key>>, host: &str, port: u16) -> bool {
        questions.may(&(host.to_owned(), port))
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
        while Arc::strong_count(questions.state().open.values().next().unwrap()) < 21 {
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
