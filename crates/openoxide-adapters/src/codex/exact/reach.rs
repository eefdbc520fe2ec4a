//! What was said of hosts in a session: Codex's network approvals (reference of 0.169, §7.2).

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    amend::network_line,
    approval::AskForApproval,
    review::{NetworkAction, NetworkAmendment, ReviewDecision},
    together::Questions,
};

/// How a host is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkProtocol {
    /// HTTP, in the clear.
    Http,
    /// HTTPS.
    Https,
    /// SOCKS5, TCP.
    Socks5Tcp,
    /// SOCKS5, UDP.
    Socks5Udp,
}

impl NetworkProtocol {
    /// Returns the name in rules.
    #[must_use]
    pub const fn in_rules(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Socks5Tcp => "socks5_tcp",
            Self::Socks5Udp => "socks5_udp",
        }
    }
}

/// What an answer is remembered under.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostKey {
    environment_id: String,
    host: String,
    protocol: NetworkProtocol,
    port: u16,
}

impl HostKey {
    /// Returns the key of a host, whose letters count without their case.
    #[must_use]
    pub fn of(host: &str, protocol: NetworkProtocol, port: u16) -> Self {
        let (environment_id, host) = ("local".to_owned(), host.to_lowercase());
        Self { environment_id, host, protocol, port }
    }
}

/// What becomes of a wish to reach a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It is reached.
    Allowed,
    /// It is not, and the command ends.
    Denied,
    /// A person is asked.
    Asked,
}

/// What was answered so far. It lives as long as the session.
#[derive(Debug, Default)]
pub struct NetworkApprovals {
    said: Mutex<Said>,
    /// By the turn, and the host.
    open: Questions<(String, HostKey), Reach>,
}

#[derive(Debug, Default)]
struct Said {
    allowed: BTreeSet<HostKey>,
    denied: BTreeSet<HostKey>,
}

impl NetworkApprovals {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what becomes of a wish that no rule speaks of: what was denied in this session first. Nobody is asked where Codex does not
    /// manage the network, nor under `never`.
    #[must_use]
    pub fn reach(&self, key: &HostKey, approval: AskForApproval, is_managed: bool) -> Reach {
        let said = self.said();
        if said.denied.contains(key) {
            return Reach::Denied;
        }
        if said.allowed.contains(key) {
            return Reach::Allowed;
        }
        match is_managed && approval != AskForApproval::Never {
            true => Reach::Asked,
            false => Reach::Denied,
        }
    }

    /// Asks about a host in a turn; whoever asks for the same meanwhile waits for this answer. `ask` returns what becomes of it, which it
    /// has from [`answered`](Self::answered).
    pub async fn ask_once(
        &self,
        turn: &str,
        key: &HostKey,
        ask: impl AsyncFnOnce() -> Reach,
    ) -> Reach {
        self.open.ask(&(turn.to_owned(), key.clone()), ask).await
    }

    /// Takes an answer: what becomes of the wish, and the line that `default.rules` gets. A rule for good counts in this session, too.
    pub fn answered(&self, key: &HostKey, decision: &ReviewDecision) -> (Reach, Option<String>) {
        match decision {
            ReviewDecision::Approved => (Reach::Allowed, None),
            ReviewDecision::ApprovedForSession => {
                self.said().allowed.insert(key.clone());
                (Reach::Allowed, None)
            }
            ReviewDecision::NetworkPolicyAmendment { network_policy_amendment } => {
                self.amended(key, network_policy_amendment)
            }
            _ => (Reach::Denied, None),
        }
    }

    fn amended(&self, key: &HostKey, amendment: &NetworkAmendment) -> (Reach, Option<String>) {
        let line = Some(network_line(amendment, key.protocol.in_rules()));
        let mut said = self.said();
        match amendment.action {
            NetworkAction::Allow => {
                said.denied.remove(key);
                said.allowed.insert(key.clone());
                (Reach::Allowed, line)
            }
            NetworkAction::Deny => {
                said.allowed.remove(key);
                said.denied.insert(key.clone());
                (Reach::Denied, line)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(host: &str, port: u16) -> HostKey {
        HostKey::of(host, NetworkProtocol::Https, port)
    }

    fn amendment(action: NetworkAction) -> ReviewDecision {
        let host = "a.example".to_owned();
        let network_policy_amendment = NetworkAmendment { host, action };
        ReviewDecision::NetworkPolicyAmendment { network_policy_amendment }
    }

    const ASK: AskForApproval = AskForApproval::OnRequest;

    #[test]
    fn a_yes_counts_once_for_the_session_or_for_good() {
        let approvals = NetworkApprovals::default();
        let a = key("A.example", 443);
        assert_eq!(approvals.reach(&a, ASK, true), Reach::Asked);
        assert_eq!(approvals.answered(&a, &ReviewDecision::Approved), (Reach::Allowed, None));
        assert_eq!(approvals.reach(&a, ASK, true), Reach::Asked);
        let session = approvals.answered(&a, &ReviewDecision::ApprovedForSession);
        assert_eq!(session, (Reach::Allowed, None));
        assert_eq!(
            approvals.reach(&key("a.EXAMPLE", 443), AskForApproval::Never, false),
            Reach::Allowed
        );
        // Another port, and another protocol, were not said yes to.
        assert_eq!(approvals.reach(&key("a.example", 8443), ASK, true), Reach::Asked);
        let clear = HostKey::of("a.example", NetworkProtocol::Http, 443);
        assert_eq!(approvals.reach(&clear, ASK, true), Reach::Asked);

        let (reach, line) = approvals.answered(&a, &amendment(NetworkAction::Deny));
        let expected = "network_rule(host=\"a.example\", protocol=\"https\", decision=\"deny\", justification=\"Deny https access to a.example\")";
        assert_eq!((reach, line.as_deref()), (Reach::Denied, Some(expected)));
        assert_eq!(approvals.reach(&a, ASK, true), Reach::Denied);
        let (reach, line) = approvals.answered(&a, &amendment(NetworkAction::Allow));
        assert!(reach == Reach::Allowed && line.unwrap().contains("decision=\"allow\""));
        assert_eq!(approvals.reach(&a, ASK, true), Reach::Allowed);
    }

    #[test]
    fn nobody_is_asked_under_never_or_without_a_managed_network() {
        let approvals = NetworkApprovals::default();
        let a = key("a.example", 443);
        assert_eq!(approvals.reach(&a, AskForApproval::Never, true), Reach::Denied);
        assert_eq!(approvals.reach(&a, ASK, false), Reach::Denied);
        for no in [ReviewDecision::Abort, ReviewDecision::TimedOut] {
            assert_eq!(approvals.answered(&a, &no), (Reach::Denied, None));
        }
        assert_eq!(approvals.reach(&a, ASK, true), Reach::Asked, "a no counts once");
    }
}
