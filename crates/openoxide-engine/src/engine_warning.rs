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
    #[error("no audit record: {0}")]
    NotRecorded(AuditError),
    /// Rules with patterns restrict more files than a sandbox can cover.
    #[error(
        "rules with patterns restrict more than 4096 files of the project: in the sandbox, they are \
         enforced for those nearest to the top; name the directory of the others in a rule"
    )]
    ScanTruncated,
    /// The sandbox has stopped the command, and nothing could let it pass.
    #[error("not retried: {0}")]
    NotRetried(&'static str),
    /// The rules of an approval could not be saved, so it applies once.
    #[error("the grant was not saved: {0}")]
    GrantNotSaved(GrantSaveError),
    /// The request could not be registered, so only this process can answer it.
    #[error("the request can only be answered here: {0}")]
    NotQueued(RequestStoreError),
    /// The request had already been answered by another reviewer; its name.
    #[error("already answered by {0}")]
    AlreadyAnswered(String),
    /// The answer applies, but other processes cannot see it.
    #[error("other clients were not told about this answer: {0}")]
    AnswerNotShared(RequestStoreError),
}
