//! One request: the policy answers it, or else the person, or it is left.

use openoxide_adapters::codex::{
    review::{Answer, Offers, Scene, wanted},
    wire::Request,
};
use openoxide_engine::{GateVerdict, InterruptedError, audit_violation, new_session_id};
use openoxide_permission::{Refusal, Step};
use openoxide_protocol::{ApprovalRequest, ApprovalResponse};

use super::{
    Dealt, Reviewer, Stop,
    judge::{Case, open},
    lines::{Said, elsewhere, grounds, left, named, say},
    prompt::End,
};
use crate::{report, review::Signals};

impl Reviewer<'_> {
    /// Judges a request, and has it answered.
    pub(super) fn deal(&mut self, request: &Request) -> Result<Dealt, Stop> {
        let asked = &request.asked;
        let Some(project) = self.threads.cwd(asked.thread()).cloned() else {
            return Ok(left(asked.call(), "unknown conversation"));
        };
        let changes = self.changes.of(asked);
        let begun = self.calls.of(asked.thread());
        let scene = Scene { cwd: &project, changes, begun: &begun, session: new_session_id() };
        let wanted = match wanted(asked, &scene) {
            Ok(wanted) => wanted,
            Err(why) => return Ok(left(asked.call(), why)),
        };
        let name = named(&wanted);
        // Hooks listen for signals themselves.
        drop(self.signals.take());
        let engine = open(self.args, &project);
        let case = engine.as_ref().map(|engine| Case::open(engine, wanted));
        self.signals = Some(Signals::listen());
        match case {
            Ok(Ok(case)) => self.decide(request, &case, &name),
            Ok(Err(InterruptedError)) => Err(Stop::Interrupted),
            Err(why) => Ok(left(&name, &why.to_string())),
        }
    }

    /// Has the policy or the person answer. What has to be written down and cannot be is asked again: then nothing but a person's yes to
    /// that very question counts.
    fn decide(&mut self, request: &Request, case: &Case<'_>, name: &str) -> Result<Dealt, Stop> {
        if let Some(closed) = case.closed() {
            report::recorded(case.write_closed(closed));
            let no = Answer::no(&request.asked);
            return self.answer(request, &no, &format!("declined: {name}: {closed}"));
        }
        let mut doubt: Option<String> = None;
        loop {
            let said = match self.said(request, case, name, case.judge(doubt.as_deref()))? {
                Ok(said) => said,
                Err(dealt) => return Ok(dealt),
            };
            self.listen()?;
            if self.resolved.contains(&request.id) {
                return Ok(elsewhere(name));
            }
            let person = said.asked.as_ref().map(|asked| (asked, &said.answer));
            let written = case.write(&said.decision, person);
            let unheld = audit_violation(&said.decision, &written).filter(|_| said.yes);
            match unheld {
                Some(why) if doubt.is_none() => doubt = Some(why),
                _ => {
                    report::recorded(written);
                    return self.answer(request, &said.answer, &said.line);
                }
            }
        }
    }

    /// Returns the answer of the policy, or else the person's; or what else became of the request.
    fn said(
        &mut self,
        request: &Request,
        case: &Case<'_>,
        name: &str,
        verdict: GateVerdict,
    ) -> Result<Result<Said, Dealt>, Stop> {
        match (&verdict.step, Answer::yes(&request.asked)) {
            (Step::Proceed(permit), Some(yes)) => {
                let decision = permit.decision().clone();
                let line = format!("accepted by the policy: {name}: {}", grounds(&decision));
                Ok(Ok(Said { answer: yes, decision, asked: None, yes: true, line }))
            }
            (Step::Refuse(Refusal::Denied(decision)), _) => {
                Ok(Ok(Said::denied(request, decision.as_ref().clone(), name)))
            }
            (Step::Ask(approval), _) => {
                let approval = approval.as_ref().clone();
                self.person(request, case, name, verdict, approval)
            }
            (Step::Proceed(_), None) => {
                Ok(Err(left(name, "Codex offers no plain approval for it")))
            }
            (Step::Refuse(_), _) => Ok(Err(left(name, "nothing was decided"))),
        }
    }

    fn person(
        &mut self,
        request: &Request,
        case: &Case<'_>,
        name: &str,
        verdict: GateVerdict,
        approval: ApprovalRequest,
    ) -> Result<Result<Said, Dealt>, Stop> {
        if !self.at_terminal {
            return Ok(Err(left(name, &approval.decision.reason)));
        }
        let offers = Offers::of(&request.asked, case.facts());
        for withheld in &offers.withheld {
            report::note(&format!("Codex would also save {withheld}, which is not offered here"));
        }
        if offers.list.is_empty() {
            return Ok(Err(left(name, "Codex offers no answer that is known here")));
        }
        let answer = match self.ask(&request.id, &approval, &offers)? {
            End::Said(answer) => answer,
            End::Elsewhere => return Ok(Err(elsewhere(name))),
            End::Unasked(error) => return Ok(Err(left(name, &error.to_string()))),
        };
        let yes = matches!(answer.response(), ApprovalResponse::Approved { .. });
        if yes && !case.permits(verdict, &approval, &answer) {
            return Ok(Err(left(name, "the gate gives no permit for it")));
        }
        if let Some(decision) = case.denied_meanwhile().filter(|_| yes) {
            return Ok(Ok(Said::denied(request, decision, name)));
        }
        let line = format!("{} by you: {name}", if yes { "accepted" } else { "declined" });
        let decision = approval.decision.clone();
        Ok(Ok(Said { answer, decision, asked: Some(approval), yes, line }))
    }

    fn answer(&mut self, request: &Request, answer: &Answer, line: &str) -> Result<Dealt, Stop> {
        self.server.send(&answer.line(&request.id)).map_err(Stop::Lost)?;
        self.answered.insert(request.id.clone());
        say(line);
        Ok(Dealt::Here)
    }
}
