//! The pending requests of a user, for the process that answers them.

use openoxide_protocol::{ApprovalId, ApprovalResponse, GrantScope, OperationDigest};
use openoxide_store::{
    AnswerResult, Descent, GrantFile, IdLookup, PendingRequest, ProcessIdentity, RequestResolution,
    RequestStore as _, RequestStoreError, SqliteRequestStore, UserEnvironment,
    audit::{AnswerChannel, AnswerRecord, AuditError},
};
use thiserror::Error;

use crate::{
    agent_approvals::is_repeatable,
    agent_question::HOOK_REQUESTERS,
    audit_log::AuditLog,
    grant_saving::{GrantSaveError, SavedGrant, save_approved_rules},
};

/// The minimum number of digits of a digest.
const MIN_DIGEST_DIGITS: usize = 8;

/// The pending requests of a user.
#[derive(Debug)]
pub struct RequestQueue {
    environment: UserEnvironment,
    /// `None` if no request was ever registered.
    store: Option<SqliteRequestStore>,
}

/// A reviewer's answer to a pending request.
#[derive(Clone, Debug)]
pub struct RequestAnswer {
    /// The answer.
    pub response: ApprovalResponse,
    /// The beginning of the digest of the content that the reviewer was shown. An explicit approval
    /// must name it, so that a loop over all pending requests cannot give it.
    pub digest: Option<String>,
    /// The channel through which the answer is given.
    pub channel: AnswerChannel,
    /// The command that answers, for the audit record.
    pub via: &'static str,
    /// A description of who answers.
    pub answered_by: String,
}

/// The effects of an accepted answer.
#[derive(Debug)]
pub struct AnswerReceipt {
    /// The number of other requests that ended with it.
    pub others: usize,
    /// The grant that it saved.
    pub grant: GrantOutcome,
    /// The number of the audit record, or why it could not be written.
    pub record: Result<u64, AuditError>,
}

/// The effect of an answer on the grants of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantOutcome {
    /// The answer is not an approval for the project.
    NotRequested,
    /// The requester's policy has no grants, so the approval applies once.
    Unavailable,
    /// The rules were saved.
    Saved(SavedGrant),
}

/// An error that leaves a request without an answer.
#[derive(Debug, Error)]
pub enum AnswerError {
    /// No request has this id.
    #[error("no request has this id")]
    NotFound,
    /// Several requests have ids with this prefix.
    #[error("several requests have ids with this prefix")]
    Ambiguous(Vec<ApprovalId>),
    /// The request has ended.
    #[error("the request has ended: by {}", .1.resolved_by)]
    AlreadyResolved(ApprovalId, Box<RequestResolution>),
    /// The request does not accept this answer.
    #[error(transparent)]
    NotAccepted(#[from] AnswerProblem),
    /// The grant could not be saved.
    #[error("the grant cannot be saved: {0}")]
    GrantNotSaved(#[source] GrantSaveError),
    /// The request store could not be read or written.
    #[error(transparent)]
    Store(#[from] RequestStoreError),
}

/// The reason why a request does not accept an answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AnswerProblem {
    /// The agent that asks has started the process that approves.
    #[error("the agent that asks cannot approve its own request; answer in another terminal")]
    SelfApproval,
    /// Whether the agent that asks has started the process that approves is unknown.
    #[error(
        "cannot tell whether the agent that asks started this process, as its PID namespace or its \
         ancestors are unknown; answer in a terminal of the same machine or container"
    )]
    UnknownDescent,
    /// The digest has too few digits.
    #[error("a digest has at least {minimum} digits")]
    ShortDigest {
        /// The number of digits that are required.
        minimum: usize,
    },
    /// The digest is that of something else.
    #[error("the digest does not match the request that is pending")]
    OtherDigest,
    /// The request needs explicit approval, which applies once.
    #[error("this request needs explicit approval, which applies once")]
    ExplicitOnce,
    /// The request needs explicit approval, and the answer names no digest.
    #[error("this request needs explicit approval: the digest of its content is required")]
    DigestRequired(OperationDigest),
    /// The request offers no rule.
    #[error("no rule can be saved for this request")]
    NoRules,
    /// An approval of the request cannot apply to later calls.
    #[error("this request can only be approved once")]
    NoSession,
    /// The request offers no directory.
    #[error("this request offers no directory")]
    NoDirectory,
    /// The rules would be limited to a task, and the request belongs to none.
    #[error("this request belongs to no task")]
    NoTask,
    /// The rules are not among those that the request offers; the offered rules.
    #[error("only offered rules can be saved")]
    NotOffered(Vec<String>),
}

impl RequestQueue {
    /// Opens the requests of a user, and ends those that have expired and those whose process has
    /// exited.
    ///
    /// # Errors
    /// Returns an error if the store cannot be used.
    pub fn open(environment: UserEnvironment) -> Result<Self, RequestStoreError> {
        let mut store = SqliteRequestStore::open_existing(&environment)?;
        if let Some(store) = &mut store {
            store.resolve_stale()?;
        }
        Ok(Self { environment, store })
    }

    /// Returns the pending requests, oldest first. An error among them means one damaged request.
    ///
    /// # Errors
    /// Returns an error if nothing can be read.
    pub fn list(
        &mut self,
    ) -> Result<Vec<Result<PendingRequest, RequestStoreError>>, RequestStoreError> {
        self.store.as_mut().map_or_else(|| Ok(Vec::new()), SqliteRequestStore::list_pending)
    }

    /// Returns the pending request whose id begins so.
    ///
    /// # Errors
    /// Returns an error if there is none or several, if it has ended, or if its content differs
    /// from what was registered.
    pub fn find(&mut self, id: &str) -> Result<PendingRequest, AnswerError> {
        let store = self.store.as_mut().ok_or(AnswerError::NotFound)?;
        match store.lookup_id(id)? {
            IdLookup::Pending(pending) => Ok(*pending),
            IdLookup::Resolved(id, ended) => Err(AnswerError::AlreadyResolved(id, Box::new(ended))),
            IdLookup::NotFound => Err(AnswerError::NotFound),
            IdLookup::Ambiguous(ids) => Err(AnswerError::Ambiguous(ids)),
        }
    }

    /// Answers a request, saves the rules of an approval for the project, and records the answer.
    /// The process that waits checks an approval against its policy before it takes effect.
    ///
    /// # Errors
    /// Returns an error if the request does not accept the answer, has ended, or differs from what
    /// was shown, or if the grant could not be saved. Nothing was answered then.
    pub fn answer(
        &mut self,
        pending: &PendingRequest,
        answer: &RequestAnswer,
    ) -> Result<AnswerReceipt, AnswerError> {
        answer.check(pending)?;
        let store = self.store.as_mut().ok_or(AnswerError::NotFound)?;
        let (id, by) = (pending.request.id, &answer.answered_by);
        let (environment, mut grant) = (&self.environment, Ok(GrantOutcome::NotRequested));
        let mut save = || {
            grant = save_grant(environment, pending, &answer.response);
            grant.is_ok()
        };
        let answered = store.answer((id, pending.shown_digest), &answer.response, by, &mut save)?;
        match (answered, grant) {
            (AnswerResult::Accepted(others), Ok(grant)) => {
                let record = self.record(pending, answer);
                Ok(AnswerReceipt { others, grant, record })
            }
            (AnswerResult::AlreadyResolved(ended), _) => {
                Err(AnswerError::AlreadyResolved(id, Box::new(ended)))
            }
            (_, Err(error)) => Err(AnswerError::GrantNotSaved(error)),
            (AnswerResult::GrantFailed, Ok(_)) => {
                Err(AnswerError::GrantNotSaved(GrantSaveError::NoGrantFile))
            }
        }
    }

    fn record(&self, pending: &PendingRequest, answer: &RequestAnswer) -> Result<u64, AuditError> {
        let (request, by) = (&pending.request, Some(answer.answered_by.clone()));
        let mut record = AnswerRecord::new(request, &answer.response, answer.channel, by);
        record.grant = record.grant.filter(|_| pending.project.is_some());
        AuditLog::new(self.environment.clone()).record_answer(request, answer.via, record)
    }
}

/// Returns the descent of the current process from the agent whose hook asks. A process that an
/// agent started and that has left its process tree is not recognized.
fn descent_from_agent(pending: &PendingRequest) -> Descent {
    if !is_asked_by_hook(pending) {
        return Descent::Unrelated;
    }
    let process = pending.process.as_ref();
    match &pending.client {
        Some(client) => client.descent(),
        None => process.map_or(Descent::Unknown, ProcessIdentity::descent_from_starters),
    }
}

fn is_asked_by_hook(pending: &PendingRequest) -> bool {
    HOOK_REQUESTERS.contains(&&*pending.requester)
}

/// Returns whether an approval of the request can also apply to identical calls of the session. The
/// hook of an agent recognizes them only if its process is known.
fn has_session_scope(pending: &PendingRequest) -> bool {
    !is_asked_by_hook(pending)
        || (pending.client.is_some() && is_repeatable(&pending.request.decision, &[]))
}

/// Saves the rules of an approval for the project. If grants do not apply to the request, the
/// approval applies once.
fn save_grant(
    environment: &UserEnvironment,
    pending: &PendingRequest,
    response: &ApprovalResponse,
) -> Result<GrantOutcome, GrantSaveError> {
    let Some(project) = &pending.project else { return Ok(GrantOutcome::Unavailable) };
    let grants = GrantFile::for_project(environment, project);
    save_approved_rules(Some(&grants), &pending.request, response).map(GrantOutcome::Saved)
}

impl RequestAnswer {
    /// Checks that a prompt would accept the same answer. A session or project scope is accepted
    /// only where a prompt offers it.
    fn check(&self, pending: &PendingRequest) -> Result<(), AnswerProblem> {
        self.check_digest(pending)?;
        let ApprovalResponse::Approved { scope, terms } = &self.response else { return Ok(()) };
        match descent_from_agent(pending) {
            Descent::Unrelated => {}
            Descent::Descendant => return Err(AnswerProblem::SelfApproval),
            Descent::Unknown => return Err(AnswerProblem::UnknownDescent),
        }
        let request = &pending.request;
        if request.requires_explicit_approval {
            return match (*scope, &self.digest) {
                (GrantScope::Session | GrantScope::Directory | GrantScope::Project, _) => {
                    Err(AnswerProblem::ExplicitOnce)
                }
                (GrantScope::Once, None) => {
                    Err(AnswerProblem::DigestRequired(pending.shown_digest))
                }
                (GrantScope::Once, Some(_)) => Ok(()),
            };
        }
        match scope {
            GrantScope::Once => return Ok(()),
            GrantScope::Session if has_session_scope(pending) => return Ok(()),
            GrantScope::Session => return Err(AnswerProblem::NoSession),
            GrantScope::Directory if request.directory.is_some() => return Ok(()),
            GrantScope::Directory => return Err(AnswerProblem::NoDirectory),
            GrantScope::Project => {}
        }
        let until_task_end = terms.as_ref().is_some_and(|terms| terms.until_task_end);
        if request.choices().is_empty() {
            Err(AnswerProblem::NoRules)
        } else if until_task_end && request.task.is_none() {
            Err(AnswerProblem::NoTask)
        } else if request.granted_terms(&self.response).is_none() {
            let rules = request.choices().into_iter().flat_map(|choice| choice.rules);
            Err(AnswerProblem::NotOffered(rules.collect()))
        } else {
            Ok(())
        }
    }

    fn check_digest(&self, pending: &PendingRequest) -> Result<(), AnswerProblem> {
        let Some(named) = &self.digest else { return Ok(()) };
        if named.len() < MIN_DIGEST_DIGITS {
            return Err(AnswerProblem::ShortDigest { minimum: MIN_DIGEST_DIGITS });
        }
        let shown = pending.shown_digest.to_string();
        match shown.starts_with(&named.to_ascii_lowercase()) {
            true => Ok(()),
            false => Err(AnswerProblem::OtherDigest),
        }
    }
}

#[cfg(test)]
mod tests;
