//! Answers about hosts in a session: Codex's network approvals (0.169).

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    approval_policy::AskForApproval, policy_amendment::render_network_rule,
    prompt_coalescing::PromptCoalescer,
};
use crate::review_decision::{
    CodexReviewDecision, NetworkPolicyAmendment, NetworkPolicyRuleAction,
};

/// The protocol by which a host is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkProtocol {
    /// HTTP without encryption.
    Http,
    /// HTTPS.
    Https,
    /// SOCKS5 over TCP.
    Socks5Tcp,
    /// SOCKS5 over UDP.
    Socks5Udp,
}

impl NetworkProtocol {
    /// Returns the name of the protocol in rules.
    #[must_use]
    pub const fn rule_name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Socks5Tcp => "socks5_tcp",
            Self::Socks5Udp => "socks5_udp",
        }
    }
}

/// The key under which an answer about a host is stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostApprovalKey {
    environment_id: String,
    host: String,
    protocol: NetworkProtocol,
    port: u16,
}

impl HostApprovalKey {
    /// Returns the key of a host, which is compared without regard to case.
    #[must_use]
    pub fn new(host: &str, protocol: NetworkProtocol, port: u16) -> Self {
        let (environment_id, host) = ("local".to_owned(), host.to_lowercase());
        Self { environment_id, host, protocol, port }
    }
}

/// The decision about a request to reach a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostDecision {
    /// The host may be reached.
    Allowed,
    /// The host may not be reached, and the command ends.
    Denied,
    /// A person is asked.
    Ask,
}

/// The answers that were given in a session. They last as long as the session.
#[derive(Debug, Default)]
pub struct NetworkApprovals {
    decisions: Mutex<SessionHostDecisions>,
    /// The open questions, by turn and host.
    open_prompts: PromptCoalescer<(String, HostApprovalKey), HostDecision>,
}

#[derive(Debug, Default)]
struct SessionHostDecisions {
    allowed: BTreeSet<HostApprovalKey>,
    denied: BTreeSet<HostApprovalKey>,
}

impl NetworkApprovals {
    fn lock_decisions(&self) -> MutexGuard<'_, SessionHostDecisions> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the decision about a host that no rule matches. Denials of this session take
    /// precedence. No question is asked if Codex does not manage the network, or under `never`.
    #[must_use]
    pub fn decide_host(
        &self,
        key: &HostApprovalKey,
        approval: AskForApproval,
        is_managed: bool,
    ) -> HostDecision {
        let said = self.lock_decisions();
        if said.denied.contains(key) {
            return HostDecision::Denied;
        }
        if said.allowed.contains(key) {
            return HostDecision::Allowed;
        }
        match is_managed && approval != AskForApproval::Never {
            true => HostDecision::Ask,
            false => HostDecision::Denied,
        }
    }

    /// Asks about a host in a turn. Further questions about the same host in the turn wait for this
    /// answer. `ask` returns the decision, which it gets from
    /// [`record_answer`](Self::record_answer).
    pub async fn ask_once(
        &self,
        turn: &str,
        key: &HostApprovalKey,
        ask: impl AsyncFnOnce() -> HostDecision,
    ) -> HostDecision {
        self.open_prompts.ask_once(&(turn.to_owned(), key.clone()), ask).await
    }

    /// Records an answer. Returns the decision and the line that is added to `default.rules`. A
    /// permanent rule also applies in this session.
    pub fn record_answer(
        &self,
        key: &HostApprovalKey,
        decision: &CodexReviewDecision,
    ) -> (HostDecision, Option<String>) {
        match decision {
            CodexReviewDecision::Approved => (HostDecision::Allowed, None),
            CodexReviewDecision::ApprovedForSession => {
                self.lock_decisions().allowed.insert(key.clone());
                (HostDecision::Allowed, None)
            }
            CodexReviewDecision::NetworkPolicyAmendment { network_policy_amendment } => {
                self.apply_amendment(key, network_policy_amendment)
            }
            _ => (HostDecision::Denied, None),
        }
    }

    fn apply_amendment(
        &self,
        key: &HostApprovalKey,
        amendment: &NetworkPolicyAmendment,
    ) -> (HostDecision, Option<String>) {
        let line = Some(render_network_rule(amendment, key.protocol.rule_name()));
        let mut said = self.lock_decisions();
        match amendment.action {
            NetworkPolicyRuleAction::Allow => {
                said.denied.remove(key);
                said.allowed.insert(key.clone());
                (HostDecision::Allowed, line)
            }
            NetworkPolicyRuleAction::Deny | NetworkPolicyRuleAction::Other(_) => {
                said.allowed.remove(key);
                said.denied.insert(key.clone());
                (HostDecision::Denied, line)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(host: &str, port: u16) -> HostApprovalKey {
        HostApprovalKey::new(host, NetworkProtocol::Https, port)
    }

    fn amendment(action: NetworkPolicyRuleAction) -> CodexReviewDecision {
        let host = "a.example".to_owned();
        let network_policy_amendment = NetworkPolicyAmendment { host, action };
        CodexReviewDecision::NetworkPolicyAmendment { network_policy_amendment }
    }

    const ASK: AskForApproval = AskForApproval::OnRequest;

    #[test]
    fn an_approval_is_valid_once_for_the_session_or_permanently() {
        let approvals = NetworkApprovals::default();
        let a = key("A.example", 443);
        assert_eq!(approvals.decide_host(&a, ASK, true), HostDecision::Ask);
        assert_eq!(
            approvals.record_answer(&a, &CodexReviewDecision::Approved),
            (HostDecision::Allowed, None)
        );
        assert_eq!(approvals.decide_host(&a, ASK, true), HostDecision::Ask);
        let session = approvals.record_answer(&a, &CodexReviewDecision::ApprovedForSession);
        assert_eq!(session, (HostDecision::Allowed, None));
        assert_eq!(
            approvals.decide_host(&key("a.EXAMPLE", 443), AskForApproval::Never, false),
            HostDecision::Allowed
        );
        // Another port or another protocol was not approved.
        assert_eq!(approvals.decide_host(&key("a.example", 8443), ASK, true), HostDecision::Ask);
        let clear = HostApprovalKey::new("a.example", NetworkProtocol::Http, 443);
        assert_eq!(approvals.decide_host(&clear, ASK, true), HostDecision::Ask);

        let (reach, line) = approvals.record_answer(&a, &amendment(NetworkPolicyRuleAction::Deny));
        let expected = "network_rule(host=\"a.example\", protocol=\"https\", decision=\"deny\", justification=\"Deny https access to a.example\")";
        assert_eq!((reach, line.as_deref()), (HostDecision::Denied, Some(expected)));
        assert_eq!(approvals.decide_host(&a, ASK, true), HostDecision::Denied);
        let (reach, line) = approvals.record_answer(&a, &amendment(NetworkPolicyRuleAction::Allow));
        assert!(reach == HostDecision::Allowed && line.unwrap().contains("decision=\"allow\""));
        assert_eq!(approvals.decide_host(&a, ASK, true), HostDecision::Allowed);
    }

    #[test]
    fn no_question_is_asked_under_never_or_without_a_managed_network() {
        let approvals = NetworkApprovals::default();
        let a = key("a.example", 443);
        assert_eq!(approvals.decide_host(&a, AskForApproval::Never, true), HostDecision::Denied);
        assert_eq!(approvals.decide_host(&a, ASK, false), HostDecision::Denied);
        for no in [CodexReviewDecision::Abort, CodexReviewDecision::TimedOut] {
            assert_eq!(approvals.record_answer(&a, &no), (HostDecision::Denied, None));
        }
        assert_eq!(approvals.decide_host(&a, ASK, true), HostDecision::Ask, "a no counts once");
    }
}
