//! One answer for several requests.

use std::borrow::Cow;

use openoxide_protocol::{ApprovalRequest, ApprovalResponse, GrantScope, GrantTerms, SessionId};

use super::{AskError, render::Batch};

/// What one question brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// An answer to it.
    This(ApprovalResponse),
    /// Yes to it and to all that follow, but for those that demand a yes of their own.
    All,
    /// No to it and to all that follow.
    Skip,
}

/// What an answer means for the requests after it.
enum Rest {
    Ask,
    All,
    Skip,
    Fallen(SessionId, ApprovalResponse),
}

/// Returns an answer to each of `requests`, asking `ask` where no earlier answer holds.
pub(crate) fn answer_each(
    requests: &[ApprovalRequest],
    mut ask: impl FnMut(&ApprovalRequest, Option<Batch<'_>>) -> Result<Choice, AskError>,
) -> Result<Vec<ApprovalResponse>, AskError> {
    let mut answers = Vec::with_capacity(requests.len());
    let mut rest = Rest::Ask;
    for (at, request) in requests.iter().enumerate() {
        if let Some(answer) = rest.answer(request) {
            answers.push(answer);
            continue;
        }
        let choice = ask(request, Batch::at(requests, at))?;
        rest = rest.after(&choice, request);
        answers.push(choice.response(request));
    }
    Ok(answers)
}

impl Rest {
    /// Returns the answer that `request` already has.
    fn answer(&self, request: &ApprovalRequest) -> Option<ApprovalResponse> {
        match self {
            Self::All if !request.explicit_yes_required => Some(yes()),
            Self::Skip => Some(ApprovalResponse::Denied),
            Self::Fallen(session, response) if *session == request.session => {
                Some(response.clone())
            }
            Self::Ask | Self::All | Self::Fallen(..) => None,
        }
    }

    fn after(self, choice: &Choice, request: &ApprovalRequest) -> Self {
        match choice {
            Choice::All => Self::All,
            Choice::Skip => Self::Skip,
            // The correction is for this request; the others fall without one.
            Choice::This(ApprovalResponse::Rejected { .. }) => {
                Self::Fallen(request.session, ApprovalResponse::Rejected { message: None })
            }
            Choice::This(ApprovalResponse::Cancelled) => {
                Self::Fallen(request.session, ApprovalResponse::Cancelled)
            }
            Choice::This(_) => self,
        }
    }
}

impl Choice {
    /// Returns what was chosen, in words, for the screen.
    pub(crate) fn describe(&self) -> Cow<'static, str> {
        let text = match self {
            Self::This(ApprovalResponse::Approved { scope, terms }) => {
                return describe_yes(*scope, terms.as_ref());
            }
            Self::This(ApprovalResponse::Rejected { message: None }) => "no",
            Self::This(ApprovalResponse::Rejected { message: Some(_) }) => "no, with a message",
            Self::This(ApprovalResponse::Denied) => "no, to this alone",
            Self::This(ApprovalResponse::Cancelled) => "stopped",
            Self::All => "yes to all, once each",
            Self::Skip => "no, to this and the rest",
        };
        Cow::Borrowed(text)
    }

    /// Returns the answer to the request that was asked about.
    fn response(self, request: &ApprovalRequest) -> ApprovalResponse {
        match self {
            Self::This(response) => response,
            Self::All if request.explicit_yes_required => ApprovalResponse::Denied,
            Self::All => yes(),
            Self::Skip => ApprovalResponse::Denied,
        }
    }
}

fn describe_yes(scope: GrantScope, terms: Option<&GrantTerms>) -> Cow<'static, str> {
    let text = match scope {
        GrantScope::Once => "yes, once",
        GrantScope::Session => "yes, for the session",
        GrantScope::Project => "yes, for the project",
    };
    let Some(terms) = terms else { return Cow::Borrowed(text) };
    let which = if terms.rules.is_empty() { "" } else { ", with the chosen rules" };
    let time = terms.seconds.map(|seconds| format!(", for {} minutes", seconds / 60));
    let times = terms.times.map(|times| format!(", {times} times"));
    let below = terms.below.as_ref().map(|_| ", below this directory".to_owned());
    let task = terms.task.then(|| ", for this task".to_owned());
    let bounds: String = [time, times, below, task].into_iter().flatten().collect();
    Cow::Owned(format!("{text}{which}{bounds}"))
}

const fn yes() -> ApprovalResponse {
    ApprovalResponse::approved(GrantScope::Once)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{command, in_group, in_session, needing_explicit_yes};

    const NO: ApprovalResponse = ApprovalResponse::Rejected { message: None };

    /// Answers from a list, and returns what was asked about with what came out.
    fn run(
        requests: &[ApprovalRequest],
        choices: &[Choice],
    ) -> (Vec<String>, Vec<ApprovalResponse>) {
        let (mut asked, mut choices) = (Vec::new(), choices.iter().cloned());
        let answers = answer_each(requests, |request, _| {
            asked.push(request.presentation.content.clone());
            choices.next().ok_or(AskError::HungUp)
        });
        (asked, answers.unwrap())
    }

    fn three() -> Vec<ApprovalRequest> {
        in_group(vec![command("a"), needing_explicit_yes(command("b")), command("c")])
    }

    #[test]
    fn all_stops_before_a_request_that_needs_its_own_yes() {
        let (asked, answers) = run(&three(), &[Choice::All, Choice::This(NO)]);
        assert_eq!(asked, ["a", "b"]);
        assert_eq!(answers, [yes(), NO, NO], "and a no to it is still a no to the rest");
    }

    #[test]
    fn all_goes_on_after_a_yes_to_the_request_that_needs_its_own() {
        let (asked, answers) = run(&three(), &[Choice::All, Choice::This(yes())]);
        assert_eq!(asked, ["a", "b"]);
        assert_eq!(answers, [yes(), yes(), yes()]);
    }

    #[test]
    fn all_is_never_a_yes_to_what_needs_its_own() {
        let requests = in_group(vec![needing_explicit_yes(command("b")), command("c")]);
        let (_, answers) = run(&requests, &[Choice::All]);
        assert_eq!(answers, [ApprovalResponse::Denied, yes()]);
    }

    #[test]
    fn skip_denies_the_rest_alone() {
        let (asked, answers) = run(&three(), &[Choice::This(yes()), Choice::Skip]);
        assert_eq!(asked, ["a", "b"]);
        assert_eq!(answers, [yes(), ApprovalResponse::Denied, ApprovalResponse::Denied]);
    }

    #[test]
    fn a_rejection_falls_on_the_session_and_on_no_other() {
        let requests = vec![command("a"), in_session(command("b"), 2), command("c")];
        let message = Some("use make".to_owned());
        let first = Choice::This(ApprovalResponse::Rejected { message: message.clone() });
        let (asked, answers) = run(&requests, &[first, Choice::This(yes())]);
        assert_eq!(asked, ["a", "b"]);
        assert_eq!(answers, [ApprovalResponse::Rejected { message }, yes(), NO]);
    }

    #[test]
    fn a_cancellation_falls_on_the_session() {
        let (asked, answers) = run(&three(), &[Choice::This(ApprovalResponse::Cancelled)]);
        assert_eq!(asked, ["a"]);
        assert_eq!(answers, vec![ApprovalResponse::Cancelled; 3]);
    }

    #[test]
    fn a_failed_question_voids_all() {
        assert!(answer_each(&three(), |_, _| Err(AskError::HungUp)).is_err());
    }
}
