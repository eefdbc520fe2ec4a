//! Handling of one request: it is answered by the policy or the person, or left to other clients.

use openoxide_codex::{
    app_server::ServerRequest,
    app_server_client::{
        AppServerClient, ClientEvent, RequestDisposition, RequestReviewer, ReviewStop,
    },
    approval_review::{CodexAnswer, CodexAnswerOptions},
};
use openoxide_engine::{GateVerdict, InterruptedError, audit_violation_reason, new_session_id};
use openoxide_permission::{GateOutcome, OperationRefusal};
use openoxide_protocol::{ApprovalRequest, ApprovalResponse};

use super::{
    review_case::{ReviewCase, open_engine},
    review_lines::{
        DecidedAnswer, display_name, format_reason, print_line, report_answered_elsewhere,
        report_event, report_left_to_others,
    },
    review_prompt::PromptEnd,
    reviewer::CodexReviewer,
};
use crate::{signal_watch::SignalWatch, user_messages};

impl RequestReviewer for CodexReviewer<'_> {
    /// Evaluates a request, and has it answered.
    fn review(
        &mut self,
        client: &mut AppServerClient,
        request: &ServerRequest,
    ) -> Result<RequestDisposition, ReviewStop> {
        let asked = &request.params;
        let (wanted, project) = match client.parse_request(asked, new_session_id()) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(report_left_to_others(asked.call_name(), why)),
        };
        let name = display_name(&wanted);
        // Hooks have their own watch for signals.
        drop(self.signals.take());
        let engine = open_engine(self.args, &project);
        let case = engine.as_ref().map(|engine| ReviewCase::prepare(engine, wanted));
        self.signals = Some(SignalWatch::start());
        match case {
            Ok(Ok(case)) => self.decide_request(client, request, &case, &name),
            Ok(Err(InterruptedError)) => Err(ReviewStop::Interrupted),
            Err(why) => Ok(report_left_to_others(&name, &why.to_string())),
        }
    }

    fn report(&mut self, event: &ClientEvent) {
        report_event(event);
    }

    fn is_interrupted(&self) -> bool {
        self.signals.as_ref().is_some_and(SignalWatch::is_interrupted)
    }
}

impl CodexReviewer<'_> {
    /// Decides a request by the policy or the person, and answers it. If a required audit record
    /// cannot be written, the request is asked again, and only a person's explicit approval
    /// applies.
    fn decide_request(
        &mut self,
        client: &mut AppServerClient,
        request: &ServerRequest,
        case: &ReviewCase<'_>,
        name: &str,
    ) -> Result<RequestDisposition, ReviewStop> {
        if let Some(closed) = case.managed_policy_error() {
            user_messages::warn_if_unrecorded(case.record_policy_error(closed));
            let no = CodexAnswer::new_decline(&request.params);
            return send_answer(client, request, &no, &format!("declined: {name}: {closed}"));
        }
        let mut doubt: Option<String> = None;
        loop {
            let said = match self.answer_from_verdict(
                client,
                request,
                case,
                name,
                case.check_gate(doubt.as_deref()),
            )? {
                Ok(said) => said,
                Err(dealt) => return Ok(dealt),
            };
            client.poll(self)?;
            if client.is_answered_elsewhere(&request.id) {
                return Ok(report_answered_elsewhere(name));
            }
            let person = said.approval_request.as_ref().map(|asked| (asked, &said.answer));
            let written = case.record_decision(&said.decision, person);
            let unheld =
                audit_violation_reason(&said.decision, &written).filter(|_| said.is_approval);
            match unheld {
                Some(why) if doubt.is_none() => doubt = Some(why),
                _ => {
                    user_messages::warn_if_unrecorded(written);
                    return send_answer(client, request, &said.answer, &said.line);
                }
            }
        }
    }

    /// Returns the answer of the policy or the person, or the reason for which there is none.
    fn answer_from_verdict(
        &mut self,
        client: &mut AppServerClient,
        request: &ServerRequest,
        case: &ReviewCase<'_>,
        name: &str,
        verdict: GateVerdict,
    ) -> Result<Result<DecidedAnswer, RequestDisposition>, ReviewStop> {
        match (&verdict.outcome, CodexAnswer::find_once_approval(&request.params)) {
            (GateOutcome::Proceed(permit), Some(yes)) => {
                let decision = permit.decision().clone();
                let line = format!("accepted by the policy: {name}: {}", format_reason(&decision));
                Ok(Ok(DecidedAnswer {
                    answer: yes,
                    decision,
                    approval_request: None,
                    is_approval: true,
                    line,
                }))
            }
            (GateOutcome::Refuse(OperationRefusal::Denied(decision)), _) => {
                Ok(Ok(DecidedAnswer::from_denial(request, decision.as_ref().clone(), name)))
            }
            (GateOutcome::Ask(approval), _) => {
                let approval = approval.as_ref().clone();
                self.answer_from_person(client, request, case, name, verdict, approval)
            }
            (GateOutcome::Proceed(_), None) => {
                Ok(Err(report_left_to_others(name, "Codex offers no plain approval for it")))
            }
            (GateOutcome::Refuse(_), _) => {
                Ok(Err(report_left_to_others(name, "nothing was decided")))
            }
        }
    }

    fn answer_from_person(
        &mut self,
        client: &mut AppServerClient,
        request: &ServerRequest,
        case: &ReviewCase<'_>,
        name: &str,
        verdict: GateVerdict,
        approval: ApprovalRequest,
    ) -> Result<Result<DecidedAnswer, RequestDisposition>, ReviewStop> {
        if !self.at_terminal {
            return Ok(Err(report_left_to_others(name, &approval.decision.reason)));
        }
        let offers = CodexAnswerOptions::new(&request.params, case.facts());
        for withheld in &offers.withheld {
            user_messages::print_note(&format!(
                "Codex would also save {withheld}, which is not offered here"
            ));
        }
        if offers.options.is_empty() {
            return Ok(Err(report_left_to_others(
                name,
                "Codex offers no answer that is known here",
            )));
        }
        let answer = match self.ask_person(client, &request.id, &approval, &offers)? {
            PromptEnd::Chosen(answer) => answer,
            PromptEnd::AnsweredElsewhere => return Ok(Err(report_answered_elsewhere(name))),
            PromptEnd::Unavailable(error) => {
                return Ok(Err(report_left_to_others(name, &error.to_string())));
            }
        };
        let yes = matches!(answer.to_approval_response(), ApprovalResponse::Approved { .. });
        if yes && !case.apply_answer(verdict, &approval, &answer) {
            return Ok(Err(report_left_to_others(name, "the gate gives no permit for it")));
        }
        if let Some(decision) = case.current_denial().filter(|_| yes) {
            return Ok(Ok(DecidedAnswer::from_denial(request, decision, name)));
        }
        let line = format!("{} by you: {name}", if yes { "accepted" } else { "declined" });
        let decision = approval.decision.clone();
        Ok(Ok(DecidedAnswer {
            answer,
            decision,
            approval_request: Some(approval),
            is_approval: yes,
            line,
        }))
    }
}

fn send_answer(
    client: &mut AppServerClient,
    request: &ServerRequest,
    answer: &CodexAnswer,
    line: &str,
) -> Result<RequestDisposition, ReviewStop> {
    client.send_answer(&request.id, answer)?;
    print_line(line);
    Ok(RequestDisposition::AnsweredHere)
}
