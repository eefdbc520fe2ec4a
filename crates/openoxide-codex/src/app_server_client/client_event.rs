//! The events that a client reports to its user.

use openoxide_protocol::AbsPath;

/// An event that is worth a line for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The client has attached to a conversation.
    ThreadAttached {
        /// The conversation.
        thread: String,
        /// The directory of the conversation.
        cwd: AbsPath,
    },
    /// The client could not attach to a conversation, and tries again.
    ThreadNotStarted {
        /// The conversation.
        thread: String,
        /// The reason.
        reason: String,
    },
    /// A request of an unknown kind was left to other clients; its method.
    UnsupportedRequest(String),
    /// A request was left to other clients because too many requests are queued.
    QueueFull,
    /// A queued request was answered by another client; the name of its call.
    AnsweredElsewhere(String),
}
