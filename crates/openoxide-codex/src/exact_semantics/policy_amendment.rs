//! Rules that a permanent approval adds: the line in `default.rules`, and the live policy.

use std::{
    fmt::Display,
    sync::{Arc, PoisonError, RwLock},
};

use thiserror::Error;

use super::{
    banned_prefixes::is_banned_prefix,
    exec_policy::ExecPolicy,
    launch_context::LaunchContext,
    prefix_rule::{CodexDecision, PrefixRule},
};
use crate::review_decision::{NetworkPolicyAmendment, NetworkPolicyRuleAction};

/// The path, relative to Codex's home, of the file that Codex adds rules to.
pub const DEFAULT_RULES: &str = "rules/default.rules";

/// The error for a rule without words, which Codex does not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("prefix rule requires at least one token")]
pub struct EmptyPrefixError;

/// The reason for which a permanent approval may not add a rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AmendmentError {
    /// The rule is not the one that was proposed.
    #[error("it is not the rule that was proposed")]
    NotProposed,
    /// The rule would allow everything. Contains its words.
    #[error("`{0}` would allow everything")]
    AllowsEverything(String),
}

/// Returns the line, without its line feed, that allows commands with this prefix.
///
/// # Errors
/// Returns an error if the prefix is empty.
pub fn render_prefix_rule(prefix: &[String]) -> Result<String, EmptyPrefixError> {
    if prefix.is_empty() {
        return Err(EmptyPrefixError);
    }
    let words: Vec<String> =
        prefix.iter().map(|word| serde_json::Value::from(word.as_str()).to_string()).collect();
    Ok(format!("prefix_rule(pattern=[{}], decision=\"allow\")", words.join(", ")))
}

/// Returns the line with a rule about a host and a protocol (`http`, `https`, `socks5_tcp`,
/// `socks5_udp`).
#[must_use]
pub fn render_network_rule(amendment: &NetworkPolicyAmendment, protocol: &str) -> String {
    let (decision, verb) = match amendment.action {
        NetworkPolicyRuleAction::Allow => ("allow", "Allow"),
        NetworkPolicyRuleAction::Deny | NetworkPolicyRuleAction::Other(_) => ("deny", "Deny"),
    };
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let (host, shown) = (&amendment.host, protocol.replace("socks5_", "socks5 "));
    let why = text(&format!("{verb} {shown} access to {host}"));
    format!(
        "network_rule(host={}, protocol={}, decision=\"{decision}\", justification={why})",
        text(host),
        text(protocol)
    )
}

/// Checks that a permanent approval may add this rule: the rule is the one that was proposed, and
/// it does not allow everything. Codex itself writes any rule that its client sends.
///
/// # Errors
/// Returns the reason why the rule is not valid.
pub fn is_valid_amendment(prefix: &[String], proposed: &[String]) -> Result<(), AmendmentError> {
    if prefix != proposed {
        return Err(AmendmentError::NotProposed);
    }
    if is_banned_prefix(prefix) {
        return Err(AmendmentError::AllowsEverything(prefix.join(" ")));
    }
    Ok(())
}

/// The policy of a session. A snapshot does not change when rules are added.
#[derive(Debug, Default)]
pub struct SessionPolicy {
    current: RwLock<Arc<ExecPolicy>>,
}

impl SessionPolicy {
    /// Creates a policy with these rules.
    #[must_use]
    pub fn new(policy: ExecPolicy) -> Self {
        Self { current: RwLock::new(Arc::new(policy)) }
    }

    /// Returns the current rules.
    #[must_use]
    pub fn snapshot(&self) -> Arc<ExecPolicy> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a rule that allows commands with this prefix, unless rules already allow the prefix
    /// itself.
    pub fn allow_prefix(&self, prefix: &[String], place: &LaunchContext<'_>) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let found = current.matching_rules(prefix, place);
        let strictest = found.iter().map(|found| found.decision).max();
        if let (true, Some(rule)) =
            (strictest != Some(CodexDecision::Allow), PrefixRule::new_allow(prefix))
        {
            let mut next = ExecPolicy::clone(&current);
            next.rules.add(rule);
            *current = Arc::new(next);
        }
    }
}

/// Applies a permanent approval: `write` adds the line to the file, and then the rule is added to
/// the live policy.
///
/// The approval stays valid if the rule cannot be added. In that case a warning with Codex's
/// message is returned.
pub fn apply_amendment<E: Display>(
    live: &SessionPolicy,
    prefix: &[String],
    place: &LaunchContext<'_>,
    write: impl FnOnce(&str) -> Result<(), E>,
) -> Option<String> {
    let warning = |error: &dyn Display| format!("Failed to apply execpolicy amendment: {error}");
    match render_prefix_rule(prefix) {
        Ok(line) => match write(&line) {
            Ok(()) => {
                live.allow_prefix(prefix, place);
                None
            }
            Err(error) => Some(warning(&error)),
        },
        Err(error) => Some(warning(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: LaunchContext<'_> = LaunchContext { cwd: "/w", home: None };

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    // The format of the lines was observed on 0.169.
    #[test]
    fn lines_are_written_as_codex_writes_them() {
        let line = render_prefix_rule(&["echo".to_owned(), "é\t\"\\\n".to_owned(), String::new()])
            .unwrap();
        assert_eq!(line, r#"prefix_rule(pattern=["echo", "é\t\"\\\n", ""], decision="allow")"#);
        let empty = render_prefix_rule(&[]).unwrap_err().to_string();
        assert_eq!(empty, "prefix rule requires at least one token");
        let amendment = NetworkPolicyAmendment {
            host: "codex-network-test.invalid".into(),
            action: NetworkPolicyRuleAction::Deny,
        };
        let expected = "network_rule(host=\"codex-network-test.invalid\", protocol=\"http\", decision=\"deny\", \
            justification=\"Deny http access to codex-network-test.invalid\")";
        assert_eq!(render_network_rule(&amendment, "http"), expected);
    }

    #[test]
    fn a_snapshot_does_not_change() {
        let live = SessionPolicy::default();
        let before = live.snapshot();
        assert_eq!(
            apply_amendment(&live, &words("git push"), &PLACE, |_| Ok::<_, String>(())),
            None
        );
        let push = words("git push origin");
        assert!(before.matching_rules(&push, &PLACE).is_empty());
        assert_eq!(live.snapshot().matching_rules(&push, &PLACE).len(), 1);
        // A rule is not added if other rules already allow the prefix.
        assert_eq!(apply_amendment(&live, &push, &PLACE, |_| Ok::<_, String>(())), None);
        assert_eq!(live.snapshot().matching_rules(&push, &PLACE).len(), 1);
    }

    #[test]
    fn a_failed_write_is_a_warning_and_changes_nothing() {
        let live = SessionPolicy::default();
        let warning = apply_amendment(&live, &words("ls"), &PLACE, |_| Err("disk full".to_owned()));
        assert_eq!(warning.as_deref(), Some("Failed to apply execpolicy amendment: disk full"));
        assert!(live.snapshot().matching_rules(&words("ls"), &PLACE).is_empty());
    }

    #[test]
    fn only_proposed_rules_that_do_not_allow_everything_are_valid() {
        assert_eq!(is_valid_amendment(&words("npm test"), &words("npm test")), Ok(()));
        assert!(is_valid_amendment(&words("npm"), &words("npm test")).is_err());
        assert!(
            is_valid_amendment(&words("python3 -c"), &words("python3 -c"))
                .unwrap_err()
                .to_string()
                .contains("everything")
        );
    }
}
