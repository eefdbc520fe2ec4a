//! An approval request that is prepared for review.

use std::collections::BTreeMap;

use openoxide_protocol::{
    AbsPath, Action, Operation, PresentationKind, RequestPresentation, SessionId,
};
use serde_json::Value;

use crate::{app_server::StartedMcpCall, file_change::FileUpdateChange};

/// The context of a conversation, from the messages before a request.
#[derive(Clone, Copy, Debug)]
pub struct ThreadContext<'a> {
    /// The directory of the conversation. The directory of a request is chosen by the model.
    pub cwd: &'a AbsPath,
    /// The changes of the item that the request refers to.
    pub changes: Option<&'a [FileUpdateChange]>,
    /// The tool calls that are running in the conversation.
    pub started_calls: &'a [&'a StartedMcpCall],
    /// The session to use if the id of the conversation is not a valid session.
    pub session: SessionId,
}

/// An approval request that is prepared for the gate and for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewRequest {
    /// The operation that the gate checks.
    pub operation: Operation,
    /// Actions that the request would allow in addition to the operation.
    pub additional_actions: Vec<Action>,
    /// A one-line summary of the request.
    pub title: String,
    /// The content that is shown to a person.
    pub presentation: RequestPresentation,
    /// The reason why only a person may approve the request, if there is one.
    pub human_approval_reason: Option<&'static str>,
}

/// Returns the content that is shown to a person, with the notes that have a value.
pub(super) fn build_presentation(
    kind: PresentationKind,
    content: String,
    notes: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> RequestPresentation {
    let notes = notes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let metadata: BTreeMap<_, _> = notes.filter(|(_, value)| !value.is_null()).collect();
    RequestPresentation { kind, content, summary: None, language: None, metadata }
}
