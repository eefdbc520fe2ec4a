//! The messages between the supervisor and the process that started it.

use serde::{Deserialize, Serialize};

use crate::interface::{RuntimeDecision, RuntimeRequest};

/// A message from the supervisor to the process that started it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum SupervisorMessage {
    /// A request that the reviewer must answer.
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
