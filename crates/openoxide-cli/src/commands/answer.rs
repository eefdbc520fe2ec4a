//! `approve` and `deny`: an answer from another terminal.

use openoxide_engine::AuditLog;
use openoxide_protocol::{ApprovalResponse, GrantScope, GrantTerms, SCHEMA};
use openoxide_store::{
    Answering, Bound, Ended, Ending, Environment, GrantFile, Named, RequestError, Requests as _,
    SqliteRequests, Waiting,
    audit::{Answer, Channel},
};
use openoxide_tui::{Lines, visible};
use serde_json::json;

use crate::{
    args::{ApproveArgs, DenyArgs, Global},
    color,
    commands::{grants, pending},
    exit::Exit,
    report,
};

/// Fewer digits of a digest prove nothing.
const DIGITS: usize = 8;

/// Says yes to one request.
pub(crate) fn approve(args: &ApproveArgs, global: Global) -> Result<Exit, String> {
    if args.bounds.task.as_ref().is_some_and(|task| !task.is_empty()) {
        report::failure(&"`--task` takes no value here: the request's own task is used");
        return Ok(Exit::Usage);
    }
    let terms = grants::terms(args.rule.clone(), &args.bounds)?;
    let terms = (terms != GrantTerms::default()).then_some(terms);
    if terms.is_some() && args.scope != GrantScope::Project {
        report::failure(
            &"`--rule`, `--for`, `--times`, `--below` and `--task` require `--scope project`",
        );
        return Ok(Exit::Usage);
    }
    let response = ApprovalResponse::Approved { scope: args.scope, terms };
    let kept = response.clone();
    let answer = Said { verb: "approve", id: &args.id, response, json: args.json };
    Ok(answer.give(global, |waiting| may_be_approved(args, &kept, waiting)))
}

/// Says no to one request.
pub(crate) fn deny(args: &DenyArgs, global: Global) -> Result<Exit, String> {
    let response = match args.alone {
        true => ApprovalResponse::Denied,
        false => ApprovalResponse::Rejected { message: args.message.clone() },
    };
    let answer = Said { verb: "deny", id: &args.id, response, json: args.json };
    Ok(answer.give(global, |_| Ok(())))
}

/// Takes the answers that the prompt takes, and no more: a yes for longer only where it is offered there. Where only a yes to
/// this very request counts, it has to name what was shown: a loop over all that waits does not.
fn may_be_approved(
    args: &ApproveArgs,
    response: &ApprovalResponse,
    waiting: &Waiting,
) -> Result<(), String> {
    let request = &waiting.request;
    let digest = waiting.shown.to_string();
    let explicit = request.explicit_yes_required;
    match (&args.digest, args.scope) {
        (Some(named), _) if named.len() < DIGITS => {
            Err(format!("`--digest` takes {DIGITS} digits or more"))
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
        (_, GrantScope::Project) if request.decision.always.is_empty() => {
            Err("no rule can be saved for this request; remove `--scope`".to_owned())
        }
        (_, GrantScope::Project) if args.bounds.task.is_some() && request.task.is_none() => {
            Err("this request belongs to no task; remove `--task`".to_owned())
        }
        (_, GrantScope::Project) if request.kept(response).is_none() => {
            let rules = request.choices().into_iter().flat_map(|choice| choice.rules);
            let rules: Vec<_> = rules.map(|rule| visible(&rule, Lines::One)).collect();
            Err(format!("only offered rules can be saved: {}", rules.join(", ")))
        }
        _ => Ok(()),
    }
}

/// An answer and the request that it is for.
struct Said<'a> {
    verb: &'static str,
    id: &'a str,
    response: ApprovalResponse,
    json: bool,
}

impl Said<'_> {
    fn give(&self, global: Global, may: impl FnOnce(&Waiting) -> Result<(), String>) -> Exit {
        let given = self.find().and_then(|(requests, named)| match named {
            Named::Waiting(waiting) => self.to(requests, &waiting, global, may),
            Named::Ended(id, ended) => Ok(self.too_late(&id.to_string(), &ended)),
            Named::Nothing => Ok(unknown(self.id)),
            Named::Several(ids) => {
                let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
                report::failure(&format!("`{}` names several: {}", self.id, ids.join(", ")));
                Ok(Exit::Usage)
            }
        });
        given.unwrap_or_else(|error| {
            report::failure(&format!("nothing was answered: {error}"));
            Exit::Failure
        })
    }

    fn find(&self) -> Result<(Option<SqliteRequests>, Named), RequestError> {
        let Some(mut requests) = SqliteRequests::open_existing(&Environment::read())? else {
            return Ok((None, Named::Nothing));
        };
        requests.sweep()?;
        let named = requests.named(self.id)?;
        Ok((Some(requests), named))
    }

    /// Shows what is answered, and answers it.
    fn to(
        &self,
        requests: Option<SqliteRequests>,
        waiting: &Waiting,
        global: Global,
        may: impl FnOnce(&Waiting) -> Result<(), String>,
    ) -> Result<Exit, RequestError> {
        let Some(mut requests) = requests else { return Ok(unknown(self.id)) };
        let colored = color::wanted(global.color, &std::io::stderr());
        report::say(pending::in_words(waiting, colored).trim_end());
        if let Err(why) = may(waiting) {
            report::failure(&why);
            return Ok(Exit::Usage);
        }
        let (id, by) = (waiting.request.id, by(self.verb));
        let mut keep = || self.keep(waiting);
        Ok(match requests.answer((id, waiting.shown), &self.response, &by, &mut keep)? {
            Answering::Counts(others) => self.counts(waiting, by, others),
            Answering::TooLate(ended) => self.too_late(&id.to_string(), &ended),
            Answering::NotKept(why) => {
                report::failure(&format!(
                    "the grant cannot be kept, so nothing was answered: {why}"
                ));
                Exit::Failure
            }
        })
    }

    /// Keeps the rules that were shown. Where grants do not count, the yes counts for this once, as in the prompt.
    fn keep(&self, waiting: &Waiting) -> Result<(), String> {
        let Some(project) = &waiting.project else {
            report::note(
                &"the request was made with `--policy`, so grants are not saved; approved once",
            );
            return Ok(());
        };
        let grants = GrantFile::of(&Environment::read(), project);
        let terms = waiting.request.kept(&self.response).ok_or("it was not offered")?;
        let bound = Bound::of(&terms, waiting.request.task.as_deref());
        let added = grants.add_bounded(&terms.rules, &bound);
        added.map_err(|error| error.to_string())
    }

    fn counts(&self, waiting: &Waiting, by: String, others: usize) -> Exit {
        let (request, channel) = (&waiting.request, Channel::Command);
        let mut answer = Answer::new(request, &self.response, channel, Some(by));
        answer.kept = answer.kept.filter(|_| waiting.project.is_some());
        let audit = AuditLog::new(Environment::read());
        report::recorded(audit.record_answer(&waiting.request, self.verb, answer));
        let terms = waiting.request.kept(&self.response).unwrap_or_default();
        let reach = grants::reach(&Bound::of(&terms, waiting.request.task.as_deref()));
        for rule in &terms.rules {
            let rule = visible(rule, Lines::One);
            report::say(&format!("openoxide: saved for this project: {rule}{reach}"));
        }
        let more =
            if others > 0 { format!(", and {others} more of its session") } else { String::new() };
        let id = waiting.request.id;
        report::say(&format!("openoxide: {}: {id}{more}", self.past()));
        let line = json!({ "schema": SCHEMA, "id": id, "answered": true, "response": self.response, "others": others });
        self.tell(&line, Exit::Success)
    }

    const fn past(&self) -> &'static str {
        match self.response {
            ApprovalResponse::Approved { .. } => "approved",
            _ => "denied",
        }
    }

    fn too_late(&self, id: &str, ended: &Ended) -> Exit {
        let by = visible(&ended.by, Lines::One);
        let how = match &ended.ending {
            Ending::Resolved { response: ApprovalResponse::Approved { .. }, .. } => "was approved",
            Ending::Resolved { .. } => "was denied",
            Ending::Expired => "has expired",
            Ending::Withdrawn => "was withdrawn",
            Ending::Abandoned => "was abandoned",
        };
        report::say(&format!(
            "openoxide: {id} {how} (by {by}, {}); nothing was answered",
            ended.at
        ));
        let line = json!({ "schema": SCHEMA, "id": id, "answered": false, "ending": ended.ending, "by": ended.by });
        self.tell(&line, Exit::Failure)
    }

    fn tell(&self, line: &serde_json::Value, exit: Exit) -> Exit {
        if self.json { report::data(format!("{line}\n").as_bytes(), exit) } else { exit }
    }
}

fn unknown(id: &str) -> Exit {
    report::failure(&format!(
        "no request `{id}`; run `openoxide pending` to list pending requests"
    ));
    Exit::Usage
}

/// Returns which command answered, and at which terminal.
fn by(verb: &str) -> String {
    let terminal = (0..3).find_map(|number| {
        let link = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
        let path = link.to_str()?;
        (path.starts_with("/dev/pts/") || path.starts_with("/dev/tty")).then(|| path.to_owned())
    });
    let terminal = terminal.unwrap_or_else(|| "no terminal".to_owned());
    format!("`openoxide {verb}`, process {}, {terminal}", std::process::id())
}
