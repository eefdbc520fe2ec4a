//! Saving the rules of an approval for the project.

use openoxide_protocol::{ApprovalRequest, ApprovalResponse};
use openoxide_store::{GrantFile, GrantFileError, GrantLimits};
use thiserror::Error;

/// The rules of an approval for the project, with their limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedGrant {
    /// The rules that were saved.
    pub rules: Vec<String>,
    /// The rules that apply only to the session, because they are not about commands.
    pub session_rules: Vec<String>,
    /// The limits of each of them.
    pub limits: GrantLimits,
}

/// An error that prevents the rules of an approval from being saved.
#[derive(Debug, Error)]
pub enum GrantSaveError {
    /// A rule of the answer is not among those that the request offers, or the task that it is
    /// limited to is unknown.
    #[error("only offered rules can be saved")]
    NotOffered,
    /// A person named the policy files, so no grants are read or saved.
    #[error("the policy files were named, so no grants are saved")]
    NoGrantFile,
    /// The grant file could not be changed.
    #[error(transparent)]
    File(#[from] GrantFileError),
}

/// Saves the rules that an approval for the project names, or the suggested ones. They must be
/// among those that the request offers.
pub(crate) fn save_approved_rules(
    grants: Option<&GrantFile>,
    request: &ApprovalRequest,
    response: &ApprovalResponse,
) -> Result<SavedGrant, GrantSaveError> {
    let terms = request.granted_terms(response).ok_or(GrantSaveError::NotOffered)?;
    let grants = grants.ok_or(GrantSaveError::NoGrantFile)?;
    let limits = GrantLimits::from_terms(&terms, request.task.as_deref());
    grants.add_limited(&terms.rules, &limits)?;
    let (rules, session_rules) =
        terms.rules.into_iter().partition(|rule| grants.accepts_rule(rule));
    Ok(SavedGrant { rules, session_rules, limits })
}
