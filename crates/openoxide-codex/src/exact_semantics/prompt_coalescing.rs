//! One question for all callers that wait for the same answer. Codex asks once about a host that
//! several requests of a turn try to reach.

use std::{
    collections::BTreeMap,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// The open questions, by their key.
#[derive(Debug)]
pub(super) struct PromptCoalescer<K, A>(Mutex<BTreeMap<K, Arc<SharedPrompt<A>>>>);

/// A question that one caller asks, and that other callers wait for.
#[derive(Debug)]
struct SharedPrompt<A>(Mutex<SharedPromptState<A>>);

#[derive(Debug)]
struct SharedPromptState<A> {
    /// The result, or `None` while the question is open.
    result: Option<PromptResult<A>>,
    wakers: Vec<Waker>,
}

#[derive(Clone, Copy, Debug)]
enum PromptResult<A> {
    Answered(A),
    /// The caller that asked was dropped before there was an answer.
    Abandoned,
}

/// A guard that ends a question even if its caller is dropped.
struct PromptGuard<'a, K: Ord, A> {
    questions: &'a PromptCoalescer<K, A>,
    key: K,
    question: Arc<SharedPrompt<A>>,
    answer: Option<A>,
}

impl<K, A> Default for PromptCoalescer<K, A> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord + Clone, A: Copy> PromptCoalescer<K, A> {
    /// Returns the answer to the open question with this key, or asks it. If the caller that asks
    /// is dropped, one of the waiting callers asks again.
    pub(super) async fn ask_once(&self, key: &K, ask: impl AsyncFnOnce() -> A) -> A {
        loop {
            let (question, is_new) = self.join_prompt(key);
            if is_new {
                let (key, answer) = (key.clone(), None);
                let mut asking = PromptGuard { questions: self, key, question, answer };
                let answer = ask().await;
                asking.answer = Some(answer);
                return answer;
            }
            if let PromptResult::Answered(answer) =
                poll_fn(|context| question.poll_result(context)).await
            {
                return answer;
            }
        }
    }

    /// Returns the question with this key, and whether it is new.
    fn join_prompt(&self, key: &K) -> (Arc<SharedPrompt<A>>, bool) {
        let mut open = lock_ignoring_poison(&self.0);
        if let Some(question) = open.get(key) {
            return (Arc::clone(question), false);
        }
        let state = SharedPromptState { result: None, wakers: Vec::new() };
        let question = Arc::new(SharedPrompt(Mutex::new(state)));
        open.insert(key.clone(), Arc::clone(&question));
        (question, true)
    }
}

impl<A: Copy> SharedPrompt<A> {
    fn poll_result(&self, context: &Context<'_>) -> Poll<PromptResult<A>> {
        let mut state = lock_ignoring_poison(&self.0);
        match state.result {
            Some(end) => Poll::Ready(end),
            None => {
                state.wakers.push(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<K: Ord, A> Drop for PromptGuard<'_, K, A> {
    fn drop(&mut self) {
        lock_ignoring_poison(&self.questions.0).remove(&self.key);
        let mut state = lock_ignoring_poison(&self.question.0);
        state.result =
            Some(self.answer.take().map_or(PromptResult::Abandoned, PromptResult::Answered));
        state.wakers.drain(..).for_each(Waker::wake);
    }
}

fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, pin::pin};

    use super::*;

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Returns the answer as soon as there is one, and counts the questions.
    async fn person(asked: &Cell<u8>, answer: &Cell<Option<u8>>) -> u8 {
        asked.set(asked.get() + 1);
        poll_fn(|_| answer.get().map_or(Poll::Pending, Poll::Ready)).await
    }

    #[test]
    fn who_waits_for_the_same_gets_the_same_answer() {
        let (questions, asked, answer) =
            (PromptCoalescer::default(), Cell::new(0), Cell::new(None));
        let mut first = pin!(questions.ask_once(&"a", async || person(&asked, &answer).await));
        let mut second = pin!(questions.ask_once(&"a", async || person(&asked, &answer).await));
        let mut other = pin!(questions.ask_once(&"b", async || person(&asked, &answer).await));
        assert!(poll(first.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
        assert_eq!(asked.get(), 1);
        assert!(poll(other.as_mut()).is_pending());
        assert_eq!(asked.get(), 2, "another host is another question");
        answer.set(Some(7));
        assert_eq!(poll(first), Poll::Ready(7));
        answer.set(None);
        assert_eq!(poll(second), Poll::Ready(7));
        // The answer applied to the callers that waited, and was not stored.
        let mut later = pin!(questions.ask_once(&"a", async || person(&asked, &answer).await));
        assert!(poll(later.as_mut()).is_pending());
        assert_eq!(asked.get(), 3);
    }

    #[test]
    fn if_who_asks_goes_away_another_asks() {
        let (questions, asked, answer) =
            (PromptCoalescer::default(), Cell::new(0), Cell::new(None));
        let mut second = pin!(questions.ask_once(&"a", async || person(&asked, &answer).await));
        {
            let mut first = pin!(questions.ask_once(&"a", async || person(&asked, &answer).await));
            assert!(poll(first.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
        }
        assert!(poll(second.as_mut()).is_pending());
        assert_eq!(asked.get(), 2);
        answer.set(Some(1));
        assert_eq!(poll(second), Poll::Ready(1));
    }
}
