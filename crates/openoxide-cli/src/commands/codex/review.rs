//! `codex review`: a client of a running `codex app-server` that answers its approval requests,
//! first by the policy and then by the person. The first answer of all clients applies. Requests
//! that are not answered here can be answered by another client.

mod request_handling;
mod review_case;
mod review_lines;
mod review_prompt;
mod reviewer;

use std::{
    env,
    path::{Path, PathBuf},
};

use openoxide_codex::app_server_client::{
    AppServer, AppServerClient, RequestDisposition, ReviewStop,
};
use openoxide_tui::can_ask;

use self::{review_lines::print_line, reviewer::CodexReviewer};
use crate::{
    args::{CodexReviewArgs, GlobalArgs},
    error::{CliError, codex_error::NoSocketError},
    policy_args,
    program_exit::ProgramExit,
    user_messages,
};

/// The path of the socket of Codex's daemon, relative to Codex's home directory.
const DEFAULT_SOCKET: &str = "app-server-control/app-server-control.sock";

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
    let path = socket_path(args.socket.as_deref())?;
    let server = match AppServer::connect(&path, at_terminal) {
        Ok(server) => server,
        Err(error) => {
            user_messages::print_error(&error);
            return Ok(ProgramExit::Failure);
        }
    };
    let who = if at_terminal {
        "and asking you"
    } else {
        "and leaving approval requests to other clients"
    };
    print_line(&format!(
        "answering requests of Codex at {} {who}; press Ctrl-C to stop",
        path.display()
    ));
    let ended = review_requests(args, global, at_terminal, server);
    Ok(ended.unwrap_or_else(|stop| match stop {
        ReviewStop::Interrupted => ProgramExit::Interrupted,
        ReviewStop::Disconnected(lost) => {
            user_messages::print_error(&lost);
            ProgramExit::Failure
        }
    }))
}

/// Answers requests until the client stops, or one request with `--once`.
fn review_requests(
    args: &CodexReviewArgs,
    global: GlobalArgs,
    at_terminal: bool,
    server: AppServer,
) -> Result<ProgramExit, ReviewStop> {
    let client = AppServerClient::new(server, args.thread.as_deref());
    let mut client = client.map_err(ReviewStop::Disconnected)?;
    let mut reviewer = CodexReviewer::new(args, global, at_terminal);
    loop {
        let disposition = client.review_next(&mut reviewer)?;
        if args.once {
            return Ok(match disposition {
                RequestDisposition::AnsweredHere => ProgramExit::Success,
                RequestDisposition::AnsweredElsewhere => ProgramExit::Failure,
                RequestDisposition::LeftToOthers => ProgramExit::Ask,
            });
        }
    }
}

/// Returns the path of the named socket, or of the default one.
///
/// # Errors
///
/// If neither is known.
fn socket_path(named: Option<&Path>) -> Result<PathBuf, NoSocketError> {
    let directory = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let home = || directory("CODEX_HOME").map(PathBuf::from);
    let usual = || directory("HOME").map(|home| Path::new(&home).join(".codex"));
    let place =
        named.map(Path::to_owned).or_else(|| Some(home().or_else(usual)?.join(DEFAULT_SOCKET)));
    place.ok_or(NoSocketError)
}
