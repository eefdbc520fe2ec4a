//! The conversations of a server, and attaching to them.
//!
//! A conversation can be attached to when its first turn has begun; until then the server knows nothing to resume, and it is tried again.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use openoxide_protocol::AbsPath;
use serde_json::{Value, json};

use super::{
    lines::say,
    server::{Lost, Server},
};

/// So often is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// No server has more at once that a person could follow.
const MOST: usize = 1000;

/// The conversations that are known.
pub(super) struct Threads {
    /// The only one that is wanted.
    only: Option<String>,
    known: BTreeMap<String, Thread>,
    calls: BTreeMap<i64, Call>,
    tried: Option<Instant>,
    /// Those of which was said that they cannot be attached to yet.
    told: BTreeSet<String>,
}

enum Thread {
    /// It cannot be attached to yet.
    Waits,
    /// It is being attached to.
    Asked,
    /// Its requests come here, too.
    Attached(AbsPath),
}

/// What an answer is awaited to.
enum Call {
    List,
    Resume(String),
}

impl Threads {
    /// Asks for those that there are, or for the one that is wanted.
    ///
    /// # Errors
    /// The server is gone.
    pub(super) fn of(server: &mut Server, only: Option<&str>) -> Result<Self, Lost> {
        let mut threads = Self {
            only: only.map(str::to_owned),
            known: BTreeMap::new(),
            calls: BTreeMap::new(),
            tried: None,
            told: BTreeSet::new(),
        };
        match only {
            Some(only) => threads.heard(only.to_owned()),
            None => threads.list(server, None)?,
        }
        Ok(threads)
    }

    /// Returns the directory of a conversation that is attached to.
    pub(super) fn cwd(&self, thread: &str) -> Option<&AbsPath> {
        match self.known.get(thread) {
            Some(Thread::Attached(cwd)) => Some(cwd),
            _ => None,
        }
    }

    /// Notes a conversation.
    pub(super) fn heard(&mut self, thread: String) {
        let wanted = self.only.as_ref().is_none_or(|only| *only == thread);
        if wanted && self.known.len() < MOST {
            self.known.entry(thread).or_insert(Thread::Waits);
        }
    }

    /// Attaches to those that are not yet attached to.
    ///
    /// # Errors
    /// The server is gone.
    pub(super) fn tend(&mut self, server: &mut Server) -> Result<(), Lost> {
        if self.tried.is_some_and(|tried| tried.elapsed() < AGAIN) {
            return Ok(());
        }
        self.tried = Some(Instant::now());
        for (name, thread) in &mut self.known {
            if matches!(thread, Thread::Waits) {
                // The history is neither wanted nor bounded.
                let params = json!({ "threadId": name, "excludeTurns": true });
                let call = server.call("thread/resume", &params)?;
                self.calls.insert(call, Call::Resume(name.clone()));
                *thread = Thread::Asked;
            }
        }
        Ok(())
    }

    /// Takes the answer to a call.
    ///
    /// # Errors
    /// The server is gone.
    pub(super) fn answered(
        &mut self,
        server: &mut Server,
        call: i64,
        answer: Result<Value, String>,
    ) -> Result<(), Lost> {
        match (self.calls.remove(&call), answer) {
            (Some(Call::List), Ok(list)) => self.listed(server, &list),
            (Some(Call::List), Err(error)) => Err(Lost::Failed(error)),
            (Some(Call::Resume(thread)), Ok(resumed)) => {
                self.attached(thread, &resumed);
                Ok(())
            }
            (Some(Call::Resume(thread)), Err(error)) => {
                self.waits(thread, &error);
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    fn list(&mut self, server: &mut Server, cursor: Option<&str>) -> Result<(), Lost> {
        let call = server.call("thread/loaded/list", &json!({ "cursor": cursor }))?;
        self.calls.insert(call, Call::List);
        Ok(())
    }

    fn listed(&mut self, server: &mut Server, list: &Value) -> Result<(), Lost> {
        let names = list.get("data").and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).for_each(|name| self.heard(name.to_owned()));
        match list.get("nextCursor").and_then(Value::as_str) {
            Some(cursor) if self.known.len() < MOST => self.list(server, Some(cursor)),
            _ => Ok(()),
        }
    }

    fn attached(&mut self, thread: String, resumed: &Value) {
        let cwd = resumed.get("cwd").and_then(Value::as_str);
        let Some(cwd) = cwd.and_then(|cwd| AbsPath::new(cwd).ok()) else {
            return self.waits(thread, "its directory cannot be determined");
        };
        say(&format!("attached to {thread}, which works in {cwd}"));
        self.known.insert(thread, Thread::Attached(cwd));
    }

    /// A conversation without a turn is nothing that can be resumed: it is tried again, and said once.
    fn waits(&mut self, thread: String, why: &str) {
        if self.told.insert(thread.clone()) {
            say(&format!("{thread} is attached to once it has begun ({why})"));
        }
        self.known.insert(thread, Thread::Waits);
    }
}
