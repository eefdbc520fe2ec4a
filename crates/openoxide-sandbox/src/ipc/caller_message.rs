//! The messages between the supervisor and the process that has started it.

use serde::{Deserialize, Serialize};

use crate::interface::{RuntimeDecision, RuntimeRequest};

/// A message of the supervisor to the process that has started it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum SupervisorMessage {
    /// May this be?
    Ask(RuntimeRequest),
    /// The answer is not needed any more. The question is still answered.
    Withdrawn,
}

/// A message to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum CallerMessage {
    /// The answer to the open question.
    Answer(RuntimeDecision),
}
