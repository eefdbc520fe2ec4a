//! One answer for several requests.

use std::borrow::Cow;

use openoxide_protocol::{ApprovalRequest, ApprovalResponse, GrantScope, GrantTerms, SessionId};

use crate::inline::{ask_error::AskError, render_options::BatchPosition};

/// The result of one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptAnswer {
    /// An answer to this request only.
    Single(ApprovalResponse),
    /// Approves this request and all that follow, except for those that require explicit approval.
    All,
    /// Rejects this request and all that follow.
    Skip,
}

/// The effect of an answer on the requests after it.
enum BatchState {
    Ask,
    All,
    Skip,
    SessionEnded(SessionId, ApprovalResponse),
}

/// Returns an answer to each of `requests`. Calls `ask` for those that no earlier answer covers.
pub(crate) fn answer_each(
    requests: &[ApprovalRequest],
    mut ask: impl FnMut(&ApprovalRequest, Option<BatchPosition<'_>>) -> Result<PromptAnswer, AskError>,
) -> Result<Vec<ApprovalResponse>, AskError> {
    let mut answers = Vec::with_capacity(requests.len());
    let mut rest = BatchState::Ask;
    for (at, request) in requests.iter().enumerate() {
        if let Some(answer) = rest.known_response(request) {
            answers.push(answer);
            continue;
        }
        let choice = ask(request, BatchPosition::from_requests(requests, at))?;
        rest = rest.update(&choice, request);
        answers.push(choice.into_response(request));
    }
    Ok(answers)
}

impl BatchState {
    /// Returns the answer that an earlier answer gives to `request`, if there is one.
    fn known_response(&self, request: &ApprovalRequest) -> Option<ApprovalResponse> {
        match self {
            Self::All if !request.requires_explicit_approval => Some(approve_once()),
            Self::Skip => Some(ApprovalResponse::Denied),
            Self::SessionEnded(session, response) if *session == request.session => {
                Some(response.clone())
            }
            Self::Ask | Self::All | Self::SessionEnded(..) => None,
        }
    }

    fn update(self, choice: &PromptAnswer, request: &ApprovalRequest) -> Self {
        match choice {
            PromptAnswer::All => Self::All,
            PromptAnswer::Skip => Self::Skip,
            // The message is only for this request. The others are rejected without one.
            PromptAnswer::Single(ApprovalResponse::Rejected { .. }) => {
                Self::SessionEnded(request.session, ApprovalResponse::Rejected { message: None })
            }
            PromptAnswer::Single(ApprovalResponse::Cancelled) => {
                Self::SessionEnded(request.session, ApprovalResponse::Cancelled)
            }
            PromptAnswer::Single(_) => self,
        }
    }
}

impl PromptAnswer {
    /// Returns a description of the choice for the screen.
    pub(crate) fn describe(&self) -> Cow<'static, str> {
        let text = match self {
            Self::Single(ApprovalResponse::Approved { scope, terms }) => {
                return describe_approval(*scope, terms.as_ref());
            }
            Self::Single(ApprovalResponse::Rejected { message: None }) => "no",
            Self::Single(ApprovalResponse::Rejected { message: Some(_) }) => "no, with a message",
            Self::Single(ApprovalResponse::Denied) => "no, to this alone",
            Self::Single(ApprovalResponse::Cancelled) => "stopped",
            Self::All => "yes to all, once each",
            Self::Skip => "no, to this and the rest",
        };
        Cow::Borrowed(text)
    }

    /// Converts the choice to the answer to the request that was shown.
    fn into_response(self, request: &ApprovalRequest) -> ApprovalResponse {
        match self {
            Self::Single(response) => response,
            Self::All if request.requires_explicit_approval => ApprovalResponse::Denied,
            Self::All => approve_once(),
            Self::Skip => ApprovalResponse::Denied,
        }
    }
}

fn describe_approval(scope: GrantScope, terms: Option<&GrantTerms>) -> Cow<'static, str> {
    let text = match scope {
        GrantScope::Once => "yes, once",
        GrantScope::Session => "yes, for the session",
        GrantScope::Directory => "yes, in this directory",
        GrantScope::Project => "yes, for the project",
    };
    let Some(terms) = terms else { return Cow::Borrowed(text) };
    let which = if terms.rules.is_empty() { "" } else { ", with the chosen rules" };
    let time = terms.expires_in_seconds.map(|seconds| format!(", for {} minutes", seconds / 60));
    let times = terms.max_uses.map(|times| format!(", {times} times"));
    let below = terms.directory.as_ref().map(|_| ", below this directory".to_owned());
    let task = terms.until_task_end.then(|| ", for this task".to_owned());
    let bounds: String = [time, times, below, task].into_iter().flatten().collect();
    Cow::Owned(format!("{text}{which}{bounds}"))
}

const fn approve_once() -> ApprovalResponse {
    ApprovalResponse::new_approval(GrantScope::Once)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{command_request, with_explicit_approval, with_group, with_session};

    const NO: ApprovalResponse = ApprovalResponse::Rejected { message: None };

    /// Answers requests from a list. Returns the contents of the requests that were asked about,
    /// and the responses.
    fn run(
        requests: &[ApprovalRequest],
        choices: &[PromptAnswer],
    ) -> (Vec<String>, Vec<ApprovalResponse>) {
        let (mut asked, mut choices) = (Vec::new(), choices.iter().cloned());
        let answers = answer_each(requests, |request, _| {
            asked.push(request.presentation.content.clone());
            choices.next().ok_or(AskError::HungUp)
        });
        (asked, answers.unwrap())
    }

    fn three() -> Vec<ApprovalRequest> {
        with_group(vec![
            command_request("a"),
            with_explicit_approval(command_request("b")),
            command_request("c"),
        ])
    }

    #[test]
    fn all_stops_before_a_request_that_needs_explicit_approval() {
        let (asked, answers) = run(&three(), &[PromptAnswer::All, PromptAnswer::Single(NO)]);
        assert_eq!(asked, ["a", "b"]);
        assert_eq!(answers, [approve_once(), NO, NO], "and a no to it is still a no to the rest");
    }

    #[test]
    fn all_continues_after_an_explicit_approval() {
        let (asked, answers) =
            run(&three(), &[PromptAnswer::All, PromptAnswer::Single(approve_once())]);
        assert_eq!(asked, ["a", "b"]);
        assert_eq!(answers, [approve_once(), approve_once(), approve_once()]);
    }

    #[test]
    fn all_is_never_an_explicit_approval() {
        let requests =
            with_group(vec![with_explicit_approval(command_request("b")), command_request("c")]);
        let (_, answers) = run(&requests, &[PromptAnswer::All]);
        assert_eq!(answers, [ApprovalResponse::Denied, approve_once()]);
    }

    #[test]
    fn skip_denies_the_rest_alone() {
        let (asked, answers) =
            run(&three(), &[PromptAnswer::Single(approve_once()), PromptAnswer::Skip]);
        assert_eq!(asked, ["a", "b"]);
        assert_eq!(answers, [approve_once(), ApprovalResponse::Denied, ApprovalResponse::Denied]);
    }

    #[test]
    fn a_rejection_falls_on_the_session_and_on_no_other() {
        let requests =
            vec![command_request("a"), with_session(command_request("b"), 2), command_request("c")];
        let message = Some("use make".to_owned());
        let first = PromptAnswer::Single(ApprovalResponse::Rejected { message: message.clone() });
        let (asked, answers) = run(&requests, &[first, PromptAnswer::Single(approve_once())]);
        assert_eq!(asked, ["a", "b"]);
        assert_eq!(answers, [ApprovalResponse::Rejected { message }, approve_once(), NO]);
    }

    #[test]
    fn a_cancellation_falls_on_the_session() {
        let (asked, answers) = run(&three(), &[PromptAnswer::Single(ApprovalResponse::Cancelled)]);
        assert_eq!(asked, ["a"]);
        assert_eq!(answers, vec![ApprovalResponse::Cancelled; 3]);
    }

    #[test]
    fn a_failed_question_voids_all() {
        assert!(answer_each(&three(), |_, _| Err(AskError::HungUp)).is_err());
    }
}
