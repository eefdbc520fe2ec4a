//! A request for an approval as it is reviewed.

use std::collections::BTreeMap;

use openoxide_protocol::{
    AbsPath, Action, Operation, PresentationKind, RequestPresentation, SessionId,
};
use serde_json::Value;

use crate::{app_server::StartedMcpCall, file_change::FileUpdateChange};

/// The context of a conversation, from the messages before a request.
#[derive(Clone, Copy, Debug)]
pub struct ThreadContext<'a> {
    /// The directory of the conversation: that of a request is the model's choice.
    pub cwd: &'a AbsPath,
    /// The changes of the item that it is about.
    pub changes: Option<&'a [FileUpdateChange]>,
    /// The calls of tools that have begun in the conversation, and not ended.
    pub started_calls: &'a [&'a StartedMcpCall],
    /// Its session, where the conversation's name is none.
    pub session: SessionId,
}

/// A request for an approval, prepared for the gate and for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewRequest {
    /// For the gate.
    pub operation: Operation,
    /// Actions that the request would allow in addition to the operation.
    pub additional_actions: Vec<Action>,
    /// A one-line summary of the request.
    pub title: String,
    /// The content that a person is shown.
    pub presentation: RequestPresentation,
    /// The reason why a person has to approve the request, if no rule may.
    pub human_approval_reason: Option<&'static str>,
}

/// Returns the content that a person is shown, with the notes that have a value.
pub(super) fn build_presentation(
    kind: PresentationKind,
    content: String,
    notes: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> RequestPresentation {
    let notes = notes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let metadata: BTreeMap<_, _> = notes.filter(|(_, value)| !value.is_null()).collect();
    RequestPresentation { kind, content, language: None, metadata }
}
