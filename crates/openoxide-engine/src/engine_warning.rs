//! Warnings for a person about a check, in addition to its outcome.

use openoxide_store::{GrantFileError, RequestStoreError, audit::AuditError};
use thiserror::Error;

use crate::grant_saving::GrantSaveError;

/// A problem that did not stop a check.
#[derive(Debug, Error)]
pub enum EngineWarning {
    /// A limited grant was ignored, because its use could not be counted.
    #[error("grant ignored: its use counter cannot be updated: {0}")]
    GrantNotCounted(GrantFileError),
    /// The audit record could not be written, and no policy requires it.
    #[error("not written down: {0}")]
    NotRecorded(AuditError),
    /// The scan for restricted files has reached its limit.
    #[error(
        "the project has more files than are looked at: what a rule holds back by a pattern is held in the sandbox as far as was \
         looked; what a rule or `[sandbox]` names is held wherever it lies"
    )]
    ScanTruncated,
    /// The sandbox has stopped the command, and nothing could let it pass.
    #[error("not retried: {0}")]
    NotRetried(&'static str),
    /// The rules of an approval could not be saved, so it applies once.
    #[error("the grant was not saved: {0}")]
    GrantNotSaved(GrantSaveError),
    /// The request had already been answered by another reviewer; its name.
    #[error("it was answered before: by {0}")]
    AlreadyAnswered(String),
    /// The answer applies, but other processes cannot see it.
    #[error("the others do not see this answer: {0}")]
    AnswerNotShared(RequestStoreError),
}
