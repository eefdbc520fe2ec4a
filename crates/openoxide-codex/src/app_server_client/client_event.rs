//! The events that a client reports to its user.

use openoxide_protocol::AbsPath;

/// An event that is reported to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The client has attached to a conversation.
    ThreadAttached {
        /// The id of the conversation.
        thread: String,
        /// The directory of the conversation.
        cwd: AbsPath,
    },
    /// The client could not attach to a conversation, and will try again.
    ThreadNotStarted {
        /// The id of the conversation.
        thread: String,
        /// The reason.
        reason: String,
    },
    /// A request of an unknown kind was left to other clients. Contains its method.
    UnsupportedRequest(String),
    /// A request was left to other clients because too many requests are queued.
    QueueFull,
    /// A queued request was answered by another client. Contains the id of its call.
    AnsweredElsewhere(String),
}
