//! `codex review`: a client of a running `codex app-server` that answers its approval requests,
//! first by the policy and then by the person. The first answer of all clients applies. Requests
//! that are not answered here can be answered by another client.

mod app_server;
mod codex_threads;
mod request_handling;
mod review_case;
mod review_lines;
mod review_prompt;
mod server_events;

use std::collections::{BTreeSet, VecDeque};

use openoxide_codex::app_server::{RequestId, ServerRequest};
use openoxide_tui::can_ask;

use self::{
    app_server::{AppServer, ServerError},
    codex_threads::ThreadRegistry,
    review_lines::print_line,
    server_events::{ItemChanges, RunningCalls},
};
use crate::{
    approval_review::SignalWatch,
    args::{CodexReviewArgs, GlobalArgs},
    error::CliError,
    policy_args,
    program_exit::ProgramExit,
    user_messages,
};

/// Attaches to a server, and answers requests until it is interrupted.
pub(super) fn run_review(
    args: &CodexReviewArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let engine =
        policy_args::open_engine_for_execution(&review_case::new_policy_args(args, None), None)?;
    let closed = engine.managed_policy_error().is_some();
    if policy_args::check_policy(&engine, global).is_err() && !closed {
        user_messages::print_note(
            &"the policy has errors; every action needs approval until they are fixed",
        );
    }
    let at_terminal = !global.no_input && can_ask();
    let path = app_server::socket_path(args.socket.as_deref())?;
    let server = match AppServer::connect(&path, at_terminal) {
        Ok(server) => server,
        Err(error) => {
            user_messages::print_error(&error);
            return Ok(ProgramExit::Failure);
        }
    };
    let who =
        if at_terminal { "and asks you" } else { "and leaves what has to be asked to others" };
    print_line(&format!("answers for Codex at {} {who}; Ctrl-C ends that", path.display()));
    let ended =
        CodexReviewer::attach(args, global, at_terminal, server).and_then(CodexReviewer::run_loop);
    Ok(ended.unwrap_or_else(|stop| match stop {
        ReviewStop::Interrupted => ProgramExit::Interrupted,
        ReviewStop::Disconnected(lost) => {
            user_messages::print_error(&lost);
            ProgramExit::Failure
        }
    }))
}

/// The reason for which the client stops.
#[derive(Debug)]
enum ReviewStop {
    /// The person wants that.
    Interrupted,
    /// The server is gone.
    Disconnected(ServerError),
}

/// The disposition of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestDisposition {
    AnsweredHere,
    AnsweredElsewhere,
    LeftToOthers,
}

/// A client with all that it has heard and not yet dealt with.
struct CodexReviewer<'a> {
    args: &'a CodexReviewArgs,
    global: GlobalArgs,
    at_terminal: bool,
    server: AppServer,
    threads: ThreadRegistry,
    signals: Option<SignalWatch>,
    queued_requests: VecDeque<ServerRequest>,
    /// The one that is being dealt with.
    current_request: Option<RequestId>,
    /// The requests that were answered here, until the server confirms them.
    answered_requests: BTreeSet<RequestId>,
    /// The current request, once another client has answered it.
    resolved_elsewhere: BTreeSet<RequestId>,
    file_changes: ItemChanges,
    running_calls: RunningCalls,
}

impl<'a> CodexReviewer<'a> {
    fn attach(
        args: &'a CodexReviewArgs,
        global: GlobalArgs,
        at_terminal: bool,
        mut server: AppServer,
    ) -> Result<Self, ReviewStop> {
        let threads = ThreadRegistry::request_threads(&mut server, args.thread.as_deref())
            .map_err(ReviewStop::Disconnected)?;
        Ok(Self {
            args,
            global,
            at_terminal,
            server,
            threads,
            signals: Some(SignalWatch::start()),
            queued_requests: VecDeque::new(),
            current_request: None,
            answered_requests: BTreeSet::new(),
            resolved_elsewhere: BTreeSet::new(),
            file_changes: ItemChanges::default(),
            running_calls: RunningCalls::default(),
        })
    }

    fn run_loop(mut self) -> Result<ProgramExit, ReviewStop> {
        loop {
            self.poll_server()?;
            let Some(request) = self.next_request() else { continue };
            self.current_request = Some(request.id.clone());
            let dealt = self.handle_request(&request)?;
            self.current_request = None;
            self.resolved_elsewhere.clear();
            if self.args.once {
                return Ok(match dealt {
                    RequestDisposition::AnsweredHere => ProgramExit::Success,
                    RequestDisposition::AnsweredElsewhere => ProgramExit::Failure,
                    RequestDisposition::LeftToOthers => ProgramExit::Ask,
                });
            }
        }
    }

    /// Returns the oldest request of a known conversation. The rules of its project apply to it.
    fn next_request(&mut self) -> Option<ServerRequest> {
        let known =
            |request: &ServerRequest| self.threads.cwd(request.params.thread_id()).is_some();
        let at = self.queued_requests.iter().position(known)?;
        self.queued_requests.remove(at)
    }
}
