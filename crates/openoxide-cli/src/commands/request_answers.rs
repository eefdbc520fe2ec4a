//! `approve` and `deny`: an answer from another terminal.

use openoxide_engine::{
    AnswerError, AnswerProblem, AnswerReceipt, GrantOutcome, RequestAnswer, RequestQueue,
    SavedGrant,
};
use openoxide_protocol::{ApprovalResponse, GrantScope, GrantTerms, SCHEMA};
use openoxide_store::{
    PendingRequest, RequestResolution, RequestResolutionKind, UserEnvironment, audit::AnswerChannel,
};
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use crate::{
    args::{ApproveArgs, DenyArgs, GlobalArgs},
    commands::{grants, pending},
    error::{CliError, grant_args_error::GrantArgsError},
    program_exit::ProgramExit,
    terminal_color, user_messages,
};

/// Approves one request.
pub(crate) fn approve_request(
    args: &ApproveArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    if args.limits.task.as_ref().is_some_and(|task| !task.is_empty()) {
        return Err(GrantArgsError::NamedTask.into());
    }
    let terms = grants::new_grant_terms(args.rule.clone(), &args.limits)?;
    let terms = (terms != GrantTerms::default()).then_some(terms);
    if terms.is_some() && args.scope != GrantScope::Project {
        return Err(GrantArgsError::LimitWithoutProject.into());
    }
    let response = ApprovalResponse::Approved { scope: args.scope, terms };
    let answer = new_answer("approve", response, args.digest.clone());
    Ok(SubmittedAnswer { id: &args.id, answer, json: args.json }.submit(global))
}

/// Denies one request.
pub(crate) fn deny_request(args: &DenyArgs, global: GlobalArgs) -> ProgramExit {
    let response = match args.alone {
        true => ApprovalResponse::Denied,
        false => ApprovalResponse::Rejected { message: args.message.clone() },
    };
    let answer = new_answer("deny", response, None);
    SubmittedAnswer { id: &args.id, answer, json: args.json }.submit(global)
}

fn new_answer(
    via: &'static str,
    response: ApprovalResponse,
    digest: Option<String>,
) -> RequestAnswer {
    let (channel, answered_by) = (AnswerChannel::Command, describe_answerer(via));
    RequestAnswer { response, digest, channel, via, answered_by }
}

/// Returns why the request does not accept the answer, with the options of these commands.
fn describe_problem(problem: &AnswerProblem) -> String {
    match problem {
        AnswerProblem::ShortDigest { minimum } => {
            format!("`--digest` requires at least {minimum} digits")
        }
        AnswerProblem::OtherDigest
        | AnswerProblem::SelfApproval
        | AnswerProblem::UnknownDescent => problem.to_string(),
        AnswerProblem::NoSession => {
            "this request can only be approved once; remove `--scope`".to_owned()
        }
        AnswerProblem::ExplicitOnce => {
            "this request needs explicit approval; `--scope` is not allowed".to_owned()
        }
        AnswerProblem::DigestRequired(digest) => {
            let digest = digest.to_string();
            let short = digest.get(..16).unwrap_or_default();
            format!("this request needs explicit approval; confirm it with `--digest {short}`")
        }
        AnswerProblem::NoRules => {
            "no rule can be saved for this request; remove `--scope`".to_owned()
        }
        AnswerProblem::NoDirectory => {
            "this request offers no directory; remove `--scope`".to_owned()
        }
        AnswerProblem::NoTask => "this request belongs to no task; remove `--task`".to_owned(),
        AnswerProblem::NotOffered(rules) => {
            let rules: Vec<_> =
                rules.iter().map(|rule| escape_text(rule, LineMode::SingleLine)).collect();
            format!("only offered rules can be saved: {}", rules.join(", "))
        }
    }
}

/// Prints which rules were saved, and which apply only to the session.
fn print_saved_grant(saved: &SavedGrant) {
    let reach = grants::format_grant_limits(&saved.limits);
    for rule in &saved.rules {
        let rule = escape_text(rule, LineMode::SingleLine);
        user_messages::print_line(&format!("openoxide: saved for this project: {rule}{reach}"));
    }
    for rule in &saved.session_rules {
        let rule = escape_text(rule, LineMode::SingleLine);
        user_messages::print_line(&format!(
            "openoxide: approved for this session: {rule}; only rules about commands are saved"
        ));
    }
}

/// An answer and the request that it is for.
struct SubmittedAnswer<'a> {
    id: &'a str,
    answer: RequestAnswer,
    json: bool,
}

impl SubmittedAnswer<'_> {
    fn submit(&self, global: GlobalArgs) -> ProgramExit {
        match self.find_and_answer(global) {
            Ok((pending, receipt)) => self.report_answered(&pending, receipt),
            Err(error) => self.report_failure(&error),
        }
    }

    /// Prints the request, and answers it.
    fn find_and_answer(
        &self,
        global: GlobalArgs,
    ) -> Result<(PendingRequest, AnswerReceipt), AnswerError> {
        let mut requests = RequestQueue::open(UserEnvironment::from_process())?;
        let pending = requests.find(self.id)?;
        let colored = terminal_color::use_color(global.color, &std::io::stderr());
        user_messages::print_line(pending::render_text(&pending, colored).trim_end());
        let receipt = requests.answer(&pending, &self.answer)?;
        Ok((pending, receipt))
    }

    fn report_failure(&self, error: &AnswerError) -> ProgramExit {
        match error {
            AnswerError::NotFound => user_messages::print_error(&format!(
                "no request `{}`; run `openoxide pending` to list pending requests",
                self.id
            )),
            AnswerError::Ambiguous(ids) => {
                let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
                let (id, ids) = (self.id, ids.join(", "));
                user_messages::print_error(&format!("`{id}` matches several requests: {ids}"));
            }
            AnswerError::NotAccepted(problem) => {
                user_messages::print_error(&describe_problem(problem));
            }
            AnswerError::AlreadyResolved(id, ended) => {
                return self.report_too_late(&id.to_string(), ended);
            }
            AnswerError::GrantNotSaved(why) => {
                user_messages::print_error(&format!(
                    "cannot save the grant, so the request was not answered: {why}"
                ));
                return ProgramExit::Failure;
            }
            AnswerError::Store(error) => {
                user_messages::print_error(&format!("the request was not answered: {error}"));
                return ProgramExit::Failure;
            }
        }
        ProgramExit::Usage
    }

    fn report_answered(&self, pending: &PendingRequest, receipt: AnswerReceipt) -> ProgramExit {
        let AnswerReceipt { others, grant, record } = receipt;
        if grant == GrantOutcome::Unavailable {
            user_messages::print_note(
                &"the request was made with `--policy`, so grants are not saved; approved once",
            );
        }
        user_messages::warn_if_unrecorded(record);
        if let GrantOutcome::Saved(saved) = &grant {
            print_saved_grant(saved);
        }
        let more =
            if others > 0 { format!(", and {others} more of its session") } else { String::new() };
        let (id, response) = (pending.request.id, &self.answer.response);
        user_messages::print_line(&format!("openoxide: {}: {id}{more}", self.past_tense()));
        let line = json!({ "schema": SCHEMA, "id": id, "answered": true, "response": response, "others": others });
        self.print_result(&line, ProgramExit::Success)
    }

    const fn past_tense(&self) -> &'static str {
        match self.answer.response {
            ApprovalResponse::Approved { .. } => "approved",
            _ => "denied",
        }
    }

    fn report_too_late(&self, id: &str, ended: &RequestResolution) -> ProgramExit {
        let by = escape_text(&ended.resolved_by, LineMode::SingleLine);
        let how = match &ended.kind {
            RequestResolutionKind::Resolved {
                response: ApprovalResponse::Approved { .. }, ..
            } => "was approved",
            RequestResolutionKind::Resolved { .. } => "was denied",
            RequestResolutionKind::Expired => "has expired",
            RequestResolutionKind::Withdrawn => "was withdrawn",
            RequestResolutionKind::Abandoned => "was abandoned",
        };
        user_messages::print_line(&format!(
            "openoxide: {id} {how} (by {by}, {}); your answer was not used",
            ended.resolved_at
        ));
        let line = json!({
            "schema": SCHEMA, "id": id, "answered": false, "ending": ended.kind,
            "answered_by": ended.resolved_by,
        });
        self.print_result(&line, ProgramExit::Failure)
    }

    fn print_result(&self, line: &serde_json::Value, exit: ProgramExit) -> ProgramExit {
        if self.json { user_messages::print_data(&format!("{line}\n"), exit) } else { exit }
    }
}

/// Returns the command that answers, its process and its terminal, in words.
fn describe_answerer(verb: &str) -> String {
    let terminal = (0..3).find_map(|number| {
        let link = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
        let path = link.to_str()?;
        (path.starts_with("/dev/pts/") || path.starts_with("/dev/tty")).then(|| path.to_owned())
    });
    let terminal = terminal.unwrap_or_else(|| "no terminal".to_owned());
    format!("`openoxide {verb}`, process {}, {terminal}", std::process::id())
}
