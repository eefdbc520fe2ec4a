//! Where a person is asked: in this terminal, and in any other by `openoxide approve`. Whoever answers first counts.

mod signals;
mod watch;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use openoxide_engine::{Call, Engine, GrantUse, History, OpenError, ReviewEnd, ReviewResult};
use openoxide_protocol::{
    ApprovalRequest, ApprovalResponse, Decision, Effect, GrantScope, Operation,
};
use openoxide_store::{Bound, Environment, GrantFile, audit::Channel};
use openoxide_tui::{AskError, AskOptions, Input, Lines, Recall, ask, can_ask, visible};

use crate::{
    args::{Global, RunArgs},
    check_host::TerminalHost,
    commands::run::options,
    report,
};
pub(crate) use signals::Signals;
use watch::Watch;

/// So often is looked for an answer. Each look reads one number of shared memory: 50 ms are not felt, and twenty looks in a
/// second not measured. Being told instead (inotify) would need another dependency and a data base that never moves.
const LOOK: Duration = Duration::from_millis(50);

/// How the questions of one `run` are answered.
pub(crate) struct Review<'a> {
    engine: &'a Engine,
    wait: Option<u32>,
    global: Global,
    operation: Operation,
    at_terminal: bool,
    /// Says when nobody wants to know any more.
    gone: Option<&'a dyn Fn() -> bool>,
}

impl<'a> Review<'a> {
    /// Returns the way to an answer; nothing if nobody can be asked.
    pub(crate) fn of(
        engine: &'a Engine,
        args: &RunArgs,
        global: Global,
        operation: Operation,
    ) -> Option<Self> {
        let at_terminal = !global.no_input && can_ask();
        let anywhere = at_terminal || args.wait.is_some();
        let wait = args.wait;
        anywhere.then_some(Self { engine, wait, global, operation, at_terminal, gone: None })
    }

    /// Ends the question when nobody wants to know any more.
    pub(crate) fn unless(self, gone: &'a dyn Fn() -> bool) -> Self {
        Self { gone: Some(gone), ..self }
    }

    /// Waits for an answer, or for the reason why there is none.
    pub(crate) fn ask(&self, request: ApprovalRequest) -> ReviewResult {
        let task = self.engine.grants().and_then(GrantFile::task).map(str::to_owned);
        let request = ApprovalRequest { task, ..request };
        let end = match (Watch::open(self, &request), self.at_terminal) {
            (Ok(mut watch), here) => {
                let end = match here {
                    true => self.ask_both(&request, &mut watch),
                    false => self.wait(&request, &mut watch),
                };
                watch.close(end)
            }
            (Err(error), true) => {
                report::note(&format!("it can be answered here only: {error}"));
                self.ask_here(&request)
            }
            (Err(error), false) => ReviewEnd::Lost(error),
        };
        ReviewResult { request, end, keeps: self.engine.grants().is_some() }
    }

    fn ask_here(&self, request: &ApprovalRequest) -> ReviewEnd {
        let options = AskOptions { recall: Some(recall()), ..options(self.global) };
        let response = said(ask(request, &options));
        self.here(request, response)
    }

    /// Takes what was said in this terminal where nobody else could say anything.
    fn here(&self, request: &ApprovalRequest, response: ApprovalResponse) -> ReviewEnd {
        if is_lasting(&response) {
            keep(self.engine.grants(), request, &response);
        }
        ReviewEnd::Answered { response, channel: Channel::Terminal, by: None }
    }

    fn wait(&self, request: &ApprovalRequest, watch: &mut Watch<'_>) -> ReviewEnd {
        let id = request.id;
        report::say(&format!(
            "openoxide: waiting for approval: {}",
            visible(&request.decision.reason, Lines::One)
        ));
        report::say(&format!(
            "openoxide: it waits for `openoxide approve {id}` or `openoxide deny {id}` in a terminal"
        ));
        loop {
            if let Some(end) = watch.look() {
                return end;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Asks in this terminal, while the others may answer, too.
    fn ask_both(&self, request: &ApprovalRequest, watch: &mut Watch<'_>) -> ReviewEnd {
        let withdrawn = Arc::new(AtomicBool::new(false));
        let options = AskOptions {
            withdrawn: Some(Arc::clone(&withdrawn)),
            recall: Some(recall()),
            ..options(self.global)
        };
        let lines = options.input == Input::Lines;
        let (said, here) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| drop(said.send(ask(request, &options))));
            loop {
                match here.recv_timeout(LOOK) {
                    Ok(Ok(response)) => return watch.settle(request, response),
                    Ok(Err(error)) => return self.unasked(&error, watch),
                    Err(RecvTimeoutError::Disconnected) => {
                        return watch.withdraw(ReviewEnd::Interrupted);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if let Some(end) = watch.look() {
                    withdrawn.store(true, Ordering::Relaxed);
                    if lines {
                        elsewhere_said(&end);
                    }
                    drop(here.recv());
                    return end;
                }
            }
        })
    }

    /// A terminal that went away is no answer: nothing else falls with it.
    fn unasked(&self, error: &AskError, watch: &mut Watch<'_>) -> ReviewEnd {
        report::failure(error);
        let (response, channel) = (ApprovalResponse::Cancelled, Channel::Terminal);
        watch.withdraw(ReviewEnd::Answered { response, channel, by: None })
    }

    /// Returns what the policy says by now: somebody may have granted or denied it since.
    fn decision_now(&self, usage: GrantUse) -> Result<Decision, OpenError> {
        let facts = self.engine.facts(&Call::from_operation(&self.operation));
        self.engine.evaluate_now(&self.operation, &facts, usage, &TerminalHost)
    }
}

/// Reads the audit when somebody wants to know, and not before.
fn recall() -> Recall {
    Recall::new(|request| History::read(&Environment::read()).recalled(request))
}

fn said(asked: Result<ApprovalResponse, AskError>) -> ApprovalResponse {
    asked.unwrap_or_else(|error| {
        report::failure(&error);
        ApprovalResponse::Cancelled
    })
}

/// Where lines are read, the prompt ends with the next line only.
fn elsewhere_said(end: &ReviewEnd) {
    if matches!(end, ReviewEnd::Interrupted) {
        #[expect(clippy::exit, reason = "the thread that reads the line cannot be woken")]
        std::process::exit(crate::exit::Exit::Interrupted.code().into());
    }
    report::say("\nopenoxide: answered elsewhere; press Enter");
}

pub(crate) const fn is_lasting(response: &ApprovalResponse) -> bool {
    matches!(response, ApprovalResponse::Approved { scope: GrantScope::Project, .. })
}

/// Keeps the rules that were chosen among those that were shown, before the yes counts. A yes that could not be kept still counts for
/// this once.
fn keep(grants: Option<&GrantFile>, request: &ApprovalRequest, response: &ApprovalResponse) {
    let Some(terms) = request.kept(response) else {
        return report::note(&"only offered rules can be saved; approved once");
    };
    let bound = |terms| Bound::of(terms, request.task.as_deref());
    match grants.map(|grants| grants.add_bounded(&terms.rules, &bound(&terms))) {
        Some(Ok(())) => {}
        Some(Err(error)) => report::failure(&format!("the grant was not saved: {error}")),
        None => report::note(&"grants are not saved with `--policy`; approved once"),
    }
}

/// Says whether the policy answers the question by now, and how.
const fn settled(decision: &Decision) -> Option<bool> {
    match decision.effect {
        Effect::Allow => Some(true),
        Effect::Deny => Some(false),
        Effect::Ask => None,
    }
}
