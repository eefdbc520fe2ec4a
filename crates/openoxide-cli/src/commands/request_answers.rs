//! `approve` and `deny`: an answer from another terminal.

use openoxide_engine::AuditLog;
use openoxide_protocol::{ApprovalResponse, GrantScope, GrantTerms, SCHEMA};
use openoxide_store::{
    AnswerResult, GrantFile, GrantLimits, IdLookup, PendingRequest, RequestError,
    RequestResolution, RequestResolutionKind, RequestStore as _, SqliteRequestStore,
    UserEnvironment,
    audit::{AnswerChannel, AnswerRecord},
};
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use crate::{
    args::{ApproveArgs, DenyArgs, GlobalArgs},
    commands::{grants, pending},
    program_exit::ProgramExit,
    terminal_color, user_messages,
};

/// Fewer digits of a digest prove nothing.
const MIN_DIGEST_DIGITS: usize = 8;

/// Approves one request.
pub(crate) fn approve_request(
    args: &ApproveArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, String> {
    if args.limits.task.as_ref().is_some_and(|task| !task.is_empty()) {
        user_messages::print_error(&"`--task` takes no value here: the request's own task is used");
        return Ok(ProgramExit::Usage);
    }
    let terms = grants::new_grant_terms(args.rule.clone(), &args.limits)?;
    let terms = (terms != GrantTerms::default()).then_some(terms);
    if terms.is_some() && args.scope != GrantScope::Project {
        user_messages::print_error(
            &"`--rule`, `--for`, `--times`, `--below` and `--task` require `--scope project`",
        );
        return Ok(ProgramExit::Usage);
    }
    let response = ApprovalResponse::Approved { scope: args.scope, terms };
    let kept = response.clone();
    let answer = SubmittedAnswer { verb: "approve", id: &args.id, response, json: args.json };
    Ok(answer.submit(global, |waiting| check_approval(args, &kept, waiting)))
}

/// Denies one request.
pub(crate) fn deny_request(args: &DenyArgs, global: GlobalArgs) -> Result<ProgramExit, String> {
    let response = match args.alone {
        true => ApprovalResponse::Denied,
        false => ApprovalResponse::Rejected { message: args.message.clone() },
    };
    let answer = SubmittedAnswer { verb: "deny", id: &args.id, response, json: args.json };
    Ok(answer.submit(global, |_| Ok(())))
}

/// Checks that the prompt would accept the same answer. A session or project scope is accepted only
/// where the prompt offers it. An explicit approval must name the digest that was shown, so that a
/// loop over all pending requests cannot give it.
fn check_approval(
    args: &ApproveArgs,
    response: &ApprovalResponse,
    waiting: &PendingRequest,
) -> Result<(), String> {
    let request = &waiting.request;
    let digest = waiting.shown_digest.to_string();
    let explicit = request.requires_explicit_approval;
    match (&args.digest, args.scope) {
        (Some(named), _) if named.len() < MIN_DIGEST_DIGITS => {
            Err(format!("`--digest` takes {MIN_DIGEST_DIGITS} digits or more"))
        }
        (Some(named), _) if !digest.starts_with(&named.to_ascii_lowercase()) => {
            Err("the digest does not match the request that is pending".to_owned())
        }
        (_, GrantScope::Session | GrantScope::Project) if explicit => {
            Err("this request needs explicit approval; `--scope` is not allowed".to_owned())
        }
        (None, _) if explicit => {
            let short = digest.get(..16).unwrap_or_default();
            Err(format!("this request needs explicit approval; confirm it with `--digest {short}`"))
        }
        (_, GrantScope::Project) if request.decision.suggested_rules.is_empty() => {
            Err("no rule can be saved for this request; remove `--scope`".to_owned())
        }
        (_, GrantScope::Project) if args.limits.task.is_some() && request.task.is_none() => {
            Err("this request belongs to no task; remove `--task`".to_owned())
        }
        (_, GrantScope::Project) if request.granted_terms(response).is_none() => {
            let rules = request.choices().into_iter().flat_map(|choice| choice.rules);
            let rules: Vec<_> =
                rules.map(|rule| escape_text(&rule, LineMode::SingleLine)).collect();
            Err(format!("only offered rules can be saved: {}", rules.join(", ")))
        }
        _ => Ok(()),
    }
}

/// An answer and the request that it is for.
struct SubmittedAnswer<'a> {
    verb: &'static str,
    id: &'a str,
    response: ApprovalResponse,
    json: bool,
}

impl SubmittedAnswer<'_> {
    fn submit(
        &self,
        global: GlobalArgs,
        may: impl FnOnce(&PendingRequest) -> Result<(), String>,
    ) -> ProgramExit {
        let given = self.find_request().and_then(|(requests, named)| match named {
            IdLookup::Pending(waiting) => self.submit_to(requests, &waiting, global, may),
            IdLookup::Resolved(id, ended) => Ok(self.report_too_late(&id.to_string(), &ended)),
            IdLookup::NotFound => Ok(report_unknown_request(self.id)),
            IdLookup::Ambiguous(ids) => {
                let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
                user_messages::print_error(&format!(
                    "`{}` names several: {}",
                    self.id,
                    ids.join(", ")
                ));
                Ok(ProgramExit::Usage)
            }
        });
        given.unwrap_or_else(|error| {
            user_messages::print_error(&format!("nothing was answered: {error}"));
            ProgramExit::Failure
        })
    }

    fn find_request(&self) -> Result<(Option<SqliteRequestStore>, IdLookup), RequestError> {
        let Some(mut requests) =
            SqliteRequestStore::open_existing(&UserEnvironment::from_process())?
        else {
            return Ok((None, IdLookup::NotFound));
        };
        requests.resolve_stale()?;
        let named = requests.lookup_id(self.id)?;
        Ok((Some(requests), named))
    }

    /// Prints the request, and answers it.
    fn submit_to(
        &self,
        requests: Option<SqliteRequestStore>,
        waiting: &PendingRequest,
        global: GlobalArgs,
        may: impl FnOnce(&PendingRequest) -> Result<(), String>,
    ) -> Result<ProgramExit, RequestError> {
        let Some(mut requests) = requests else { return Ok(report_unknown_request(self.id)) };
        let colored = terminal_color::use_color(global.color, &std::io::stderr());
        user_messages::print_line(pending::render_text(waiting, colored).trim_end());
        if let Err(why) = may(waiting) {
            user_messages::print_error(&why);
            return Ok(ProgramExit::Usage);
        }
        let (id, by) = (waiting.request.id, describe_answerer(self.verb));
        let mut keep = || self.save_grant(waiting);
        Ok(match requests.answer((id, waiting.shown_digest), &self.response, &by, &mut keep)? {
            AnswerResult::Accepted(others) => self.report_answered(waiting, by, others),
            AnswerResult::AlreadyResolved(ended) => self.report_too_late(&id.to_string(), &ended),
            AnswerResult::GrantFailed(why) => {
                user_messages::print_error(&format!(
                    "the grant cannot be kept, so nothing was answered: {why}"
                ));
                ProgramExit::Failure
            }
        })
    }

    /// Saves the offered rules. If grants do not apply to the request, the approval applies once,
    /// as in the prompt.
    fn save_grant(&self, waiting: &PendingRequest) -> Result<(), String> {
        let Some(project) = &waiting.project else {
            user_messages::print_note(
                &"the request was made with `--policy`, so grants are not saved; approved once",
            );
            return Ok(());
        };
        let grants = GrantFile::for_project(&UserEnvironment::from_process(), project);
        let terms = waiting.request.granted_terms(&self.response).ok_or("it was not offered")?;
        let bound = GrantLimits::from_terms(&terms, waiting.request.task.as_deref());
        let added = grants.add_limited(&terms.rules, &bound);
        added.map_err(|error| error.to_string())
    }

    fn report_answered(&self, waiting: &PendingRequest, by: String, others: usize) -> ProgramExit {
        let (request, channel) = (&waiting.request, AnswerChannel::Command);
        let mut answer = AnswerRecord::new(request, &self.response, channel, Some(by));
        answer.grant = answer.grant.filter(|_| waiting.project.is_some());
        let audit = AuditLog::new(UserEnvironment::from_process());
        user_messages::warn_if_unrecorded(audit.record_answer(&waiting.request, self.verb, answer));
        let terms = waiting.request.granted_terms(&self.response).unwrap_or_default();
        let reach = grants::format_grant_limits(&GrantLimits::from_terms(
            &terms,
            waiting.request.task.as_deref(),
        ));
        for rule in &terms.rules {
            let rule = escape_text(rule, LineMode::SingleLine);
            user_messages::print_line(&format!("openoxide: saved for this project: {rule}{reach}"));
        }
        let more =
            if others > 0 { format!(", and {others} more of its session") } else { String::new() };
        let id = waiting.request.id;
        user_messages::print_line(&format!("openoxide: {}: {id}{more}", self.past_tense()));
        let line = json!({ "schema": SCHEMA, "id": id, "answered": true, "response": self.response, "others": others });
        self.print_result(&line, ProgramExit::Success)
    }

    const fn past_tense(&self) -> &'static str {
        match self.response {
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
            "openoxide: {id} {how} (by {by}, {}); nothing was answered",
            ended.resolved_at
        ));
        let line = json!({
            "schema": SCHEMA, "id": id, "answered": false, "ending": ended.kind,
            "answered_by": ended.resolved_by,
        });
        self.print_result(&line, ProgramExit::Failure)
    }

    fn print_result(&self, line: &serde_json::Value, exit: ProgramExit) -> ProgramExit {
        if self.json {
            user_messages::print_data(format!("{line}\n").as_bytes(), exit)
        } else {
            exit
        }
    }
}

fn report_unknown_request(id: &str) -> ProgramExit {
    user_messages::print_error(&format!(
        "no request `{id}`; run `openoxide pending` to list pending requests"
    ));
    ProgramExit::Usage
}

/// Returns which command answered, and at which terminal.
fn describe_answerer(verb: &str) -> String {
    let terminal = (0..3).find_map(|number| {
        let link = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
        let path = link.to_str()?;
        (path.starts_with("/dev/pts/") || path.starts_with("/dev/tty")).then(|| path.to_owned())
    });
    let terminal = terminal.unwrap_or_else(|| "no terminal".to_owned());
    format!("`openoxide {verb}`, process {}, {terminal}", std::process::id())
}
