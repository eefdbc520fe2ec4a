//! `codex review`: a client of a running `codex app-server` that answers its requests for approvals, the policy first and the person
//! second. The first answer of all clients counts; what is not answered here, another one still can.

mod deal;
mod heard;
mod judge;
mod lines;
mod prompt;
mod server;
mod threads;

use std::collections::{BTreeSet, VecDeque};

use openoxide_adapters::codex::wire::{Request, RequestId};
use openoxide_tui::can_ask;

use self::{
    heard::{Calls, Changes},
    lines::say,
    server::{Lost, Server},
    threads::Threads,
};
use crate::{
    args::{CodexReviewArgs, Global},
    error::CliError,
    exit::Exit,
    policy_args, report,
    review::Signals,
};

/// Attaches to a server, and answers until somebody ends it.
pub(super) fn review(args: &CodexReviewArgs, global: Global) -> Result<Exit, CliError> {
    let engine = policy_args::open_for_execution(&judge::policy_args(args, None), None)?;
    let closed = engine.managed_policy_error().is_some();
    if policy_args::sound(&engine, global).is_err() && !closed {
        report::note(&"the policy has errors; every action needs approval until they are fixed");
    }
    let at_terminal = !global.no_input && can_ask();
    let path = server::place(args.socket.as_deref())?;
    let server = match Server::open(&path, at_terminal) {
        Ok(server) => server,
        Err(error) => {
            report::failure(&error);
            return Ok(Exit::Failure);
        }
    };
    let who =
        if at_terminal { "and asks you" } else { "and leaves what has to be asked to others" };
    say(&format!("answers for Codex at {} {who}; Ctrl-C ends that", path.display()));
    let ended = Reviewer::of(args, global, at_terminal, server).and_then(Reviewer::run);
    Ok(ended.unwrap_or_else(|stop| match stop {
        Stop::Interrupted => Exit::Interrupted,
        Stop::Lost(lost) => {
            report::failure(&lost);
            Exit::Failure
        }
    }))
}

/// Why nothing more is answered.
#[derive(Debug)]
enum Stop {
    /// The person wants that.
    Interrupted,
    /// The server is gone.
    Lost(Lost),
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dealt {
    Here,
    Elsewhere,
    Left,
}

/// A client with all that it has heard and not yet dealt with.
struct Reviewer<'a> {
    args: &'a CodexReviewArgs,
    global: Global,
    at_terminal: bool,
    server: Server,
    threads: Threads,
    signals: Option<Signals>,
    waiting: VecDeque<Request>,
    /// The one that is being dealt with.
    current: Option<RequestId>,
    /// Those that were answered here, until the server says so.
    answered: BTreeSet<RequestId>,
    /// The one that is being dealt with, once somebody else has answered it.
    resolved: BTreeSet<RequestId>,
    changes: Changes,
    calls: Calls,
}

impl<'a> Reviewer<'a> {
    fn of(
        args: &'a CodexReviewArgs,
        global: Global,
        at_terminal: bool,
        mut server: Server,
    ) -> Result<Self, Stop> {
        let threads = Threads::of(&mut server, args.thread.as_deref()).map_err(Stop::Lost)?;
        Ok(Self {
            args,
            global,
            at_terminal,
            server,
            threads,
            signals: Some(Signals::listen()),
            waiting: VecDeque::new(),
            current: None,
            answered: BTreeSet::new(),
            resolved: BTreeSet::new(),
            changes: Changes::default(),
            calls: Calls::default(),
        })
    }

    fn run(mut self) -> Result<Exit, Stop> {
        loop {
            self.listen()?;
            let Some(request) = self.next() else { continue };
            self.current = Some(request.id.clone());
            let dealt = self.deal(&request)?;
            self.current = None;
            self.resolved.clear();
            if self.args.once {
                return Ok(match dealt {
                    Dealt::Here => Exit::Success,
                    Dealt::Elsewhere => Exit::Failure,
                    Dealt::Left => Exit::Ask,
                });
            }
        }
    }

    /// Returns the oldest request whose conversation is known: the rules of its project judge it.
    fn next(&mut self) -> Option<Request> {
        let known = |request: &Request| self.threads.cwd(request.asked.thread()).is_some();
        let at = self.waiting.iter().position(known)?;
        self.waiting.remove(at)
    }
}
