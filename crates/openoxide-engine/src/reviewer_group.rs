//! Several reviewers that are asked at once.

use std::{fmt, time::Duration};

use openoxide_protocol::{ApprovalRequest, ApprovalResponse};
use openoxide_store::audit::AnswerChannel;

use crate::{
    review_record::ReviewOutcome,
    reviewer::{ReviewStatus, Reviewer},
};

/// Several reviewers that are asked at once. The first answer applies, and closes the question for
/// the others.
///
/// A reviewer that cannot be reached is left out. If none can be reached, the group cannot either.
/// If one closes the question without an answer, it is closed for all.
///
/// ```
/// use openoxide_engine::{FunctionReviewer, QueueReviewer, ReviewerGroup};
/// # use openoxide_protocol::ApprovalResponse;
///
/// let mut program = FunctionReviewer::new("program", |_| ApprovalResponse::Denied);
/// let mut queue = QueueReviewer::new(|request| println!("see `openoxide pending`"));
/// let mut both = ReviewerGroup::new([&mut program, &mut queue]);
/// ```
pub struct ReviewerGroup<'r> {
    members: Vec<GroupMember<'r>>,
    /// The position of the member that ended the question.
    decisive: Option<usize>,
}

struct GroupMember<'r> {
    reviewer: &'r mut dyn Reviewer,
    is_reachable: bool,
}

impl<'r> ReviewerGroup<'r> {
    /// Returns the group. The reviewers are polled in this order.
    #[must_use]
    pub fn new<const N: usize>(reviewers: [&'r mut dyn Reviewer; N]) -> Self {
        let member = |reviewer| GroupMember { reviewer, is_reachable: true };
        Self { members: reviewers.map(member).into(), decisive: None }
    }

    fn decisive_member(&self) -> Option<&GroupMember<'r>> {
        self.members.get(self.decisive.unwrap_or(0))
    }

    fn reachable(&mut self) -> impl Iterator<Item = (usize, &mut GroupMember<'r>)> {
        self.members.iter_mut().enumerate().filter(|(_, member)| member.is_reachable)
    }

    /// Ends the question for all members but one.
    fn close_others(&mut self, ended: usize, status: &ReviewStatus) {
        self.decisive = Some(ended);
        let outcome = match status {
            ReviewStatus::Answered(response) => self.answer_outcome(response),
            ReviewStatus::Pending | ReviewStatus::Unreachable | ReviewStatus::Closed => {
                ReviewOutcome::Interrupted
            }
        };
        for (_, member) in self.reachable().filter(|(at, _)| *at != ended) {
            member.reviewer.close(&outcome);
        }
    }

    fn answer_outcome(&self, response: &ApprovalResponse) -> ReviewOutcome {
        let answered_by = Some(self.name().to_owned());
        ReviewOutcome::Answered { response: response.clone(), channel: self.channel(), answered_by }
    }
}

impl Reviewer for ReviewerGroup<'_> {
    fn channel(&self) -> AnswerChannel {
        self.decisive_member()
            .map_or(AnswerChannel::Application, |member| member.reviewer.channel())
    }

    fn name(&self) -> &str {
        self.decisive_member().map_or("no reviewer", |member| member.reviewer.name())
    }

    fn can_answer(&self) -> bool {
        self.members.iter().any(|member| member.is_reachable && member.reviewer.can_answer())
    }

    fn open(&mut self, request: &ApprovalRequest) {
        self.decisive = None;
        for member in &mut self.members {
            member.is_reachable = true;
            member.reviewer.open(request);
        }
    }

    fn poll_answer(&mut self, timeout: Duration) -> ReviewStatus {
        let count = u32::try_from(self.reachable().count()).unwrap_or(u32::MAX);
        let Some(share) = timeout.checked_div(count) else { return ReviewStatus::Unreachable };
        let mut ended = None;
        for (at, member) in self.reachable() {
            match member.reviewer.poll_answer(share) {
                ReviewStatus::Pending => {}
                ReviewStatus::Unreachable => member.is_reachable = false,
                status @ (ReviewStatus::Answered(_) | ReviewStatus::Closed) => {
                    ended = Some((at, status));
                    break;
                }
            }
        }
        let Some((at, status)) = ended else {
            let is_reachable = self.members.iter().any(|member| member.is_reachable);
            return if is_reachable { ReviewStatus::Pending } else { ReviewStatus::Unreachable };
        };
        self.close_others(at, &status);
        status
    }

    fn close(&mut self, outcome: &ReviewOutcome) {
        self.reachable().for_each(|(_, member)| member.reviewer.close(outcome));
    }
}

impl fmt::Debug for ReviewerGroup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.members.iter().map(|member| member.reviewer.name());
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::GrantScope;

    use super::*;
    use crate::{
        ReviewRecord, WaitOptions,
        test_user::{Host, User, check, pending},
    };

    const ONCE: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Once);

    /// A reviewer that returns each status once, then stays pending.
    struct Script {
        name: &'static str,
        statuses: Vec<ReviewStatus>,
        closed: Vec<String>,
        has_question: bool,
    }

    impl Script {
        fn new(name: &'static str, mut statuses: Vec<ReviewStatus>) -> Self {
            statuses.reverse();
            Self { name, statuses, closed: Vec::new(), has_question: false }
        }
    }

    impl Reviewer for Script {
        fn channel(&self) -> AnswerChannel {
            AnswerChannel::Terminal
        }

        fn name(&self) -> &str {
            self.name
        }

        fn open(&mut self, _request: &ApprovalRequest) {
            self.has_question = true;
        }

        fn poll_answer(&mut self, timeout: Duration) -> ReviewStatus {
            assert!(self.has_question, "`{}` was polled before it was opened", self.name);
            std::thread::sleep(timeout / 50);
            self.statuses.pop().unwrap_or(ReviewStatus::Pending)
        }

        fn close(&mut self, outcome: &ReviewOutcome) {
            self.closed.push(format!("{outcome:?}"));
        }
    }

    fn ask(reviewers: [&mut Script; 2]) -> ReviewRecord {
        let (user, host) = (User::new(""), Host::default());
        let engine = user.engine();
        let question = pending(check(&engine, &user.operation("touch a"), &host));
        let mut group = ReviewerGroup::new(reviewers.map(|one| one as &mut dyn Reviewer));
        let options =
            WaitOptions { requester: "a test", client: None, timeout: None, is_abandoned: None };
        question.ask_reviewer(&mut group, options, &host)
    }

    #[test]
    fn the_first_answer_applies_and_closes_the_question_for_the_others() {
        let mut slow = Script::new("slow", vec![]);
        let pending = vec![ReviewStatus::Pending, ReviewStatus::Answered(ONCE)];
        let mut fast = Script::new("fast", pending);
        assert_eq!(ask([&mut slow, &mut fast]).response(), ONCE);
        assert_eq!((slow.closed.len(), fast.closed.len()), (1, 0));
        assert!(slow.closed[0].contains("fast"), "{:?}", slow.closed);
    }

    #[test]
    fn an_unreachable_reviewer_is_left_out() {
        let mut gone = Script::new("gone", vec![ReviewStatus::Unreachable]);
        let answers = vec![ReviewStatus::Pending, ReviewStatus::Answered(ONCE)];
        let mut here = Script::new("here", answers);
        assert_eq!(ask([&mut gone, &mut here]).response(), ONCE);
        assert!(gone.closed.is_empty());
        let mut one = Script::new("one", vec![ReviewStatus::Unreachable]);
        let mut other =
            Script::new("other", vec![ReviewStatus::Pending, ReviewStatus::Unreachable]);
        assert_eq!(ask([&mut one, &mut other]).response(), ApprovalResponse::Cancelled);
    }

    #[test]
    fn a_closed_question_is_closed_for_all() {
        let mut closing = Script::new("closing", vec![ReviewStatus::Closed]);
        let mut other = Script::new("other", vec![]);
        let review = ask([&mut closing, &mut other]);
        assert!(matches!(review.outcome(), ReviewOutcome::Interrupted), "{review:?}");
        assert_eq!(other.closed, ["Interrupted"]);
    }

    #[test]
    fn a_group_without_reviewers_cannot_be_reached() {
        let mut group = ReviewerGroup::new([]);
        assert_eq!(group.poll_answer(Duration::ZERO), ReviewStatus::Unreachable);
        assert!(!group.can_answer());
    }
}
