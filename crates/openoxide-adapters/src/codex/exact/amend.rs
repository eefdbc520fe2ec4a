//! Rules that a yes for good adds: the line in `default.rules`, and the live policy.

use std::sync::{Arc, PoisonError, RwLock};

use super::{
    banned::is_banned,
    place::Place,
    policy::Policy,
    review::{NetworkAction, NetworkAmendment},
    rule::{Decision, PrefixRule},
};

/// The file that Codex adds rules to, below its folder.
pub const DEFAULT_RULES: &str = "rules/default.rules";

/// Returns the line that allows what begins with these words, without its end.
///
/// # Errors
/// When there are no words.
pub fn prefix_line(prefix: &[String]) -> Result<String, String> {
    if prefix.is_empty() {
        return Err("prefix rule requires at least one token".to_owned());
    }
    let words: Vec<String> =
        prefix.iter().map(|word| serde_json::Value::from(word.as_str()).to_string()).collect();
    Ok(format!("prefix_rule(pattern=[{}], decision=\"allow\")", words.join(", ")))
}

/// Returns the line about a host that is reached by a protocol (`http`, `https`, `socks5_tcp`, `socks5_udp`).
#[must_use]
pub fn network_line(amendment: &NetworkAmendment, protocol: &str) -> String {
    let (decision, verb) = match amendment.action {
        NetworkAction::Allow => ("allow", "Allow"),
        NetworkAction::Deny => ("deny", "Deny"),
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

/// Says whether a yes for good may add this rule: it is the one that was proposed, and it does not allow everything. Codex itself
/// writes whatever its client answers.
///
/// # Errors
/// With what is wrong with it.
pub fn validated(prefix: &[String], proposed: &[String]) -> Result<(), String> {
    if prefix != proposed {
        return Err("it is not the rule that was proposed".to_owned());
    }
    if is_banned(prefix) {
        return Err(format!("`{}` would allow everything", prefix.join(" ")));
    }
    Ok(())
}

/// The policy of a session. Who reads it keeps what was read, whatever is added meanwhile.
#[derive(Debug, Default)]
pub struct LivePolicy {
    current: RwLock<Arc<Policy>>,
}

impl LivePolicy {
    /// Starts with these rules.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self { current: RwLock::new(Arc::new(policy)) }
    }

    /// Returns the rules of now.
    #[must_use]
    pub fn current(&self) -> Arc<Policy> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a rule that allows what begins with these words, unless rules allow just that already.
    pub fn allow(&self, prefix: &[String], place: &Place<'_>) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let found = current.matches(prefix, place);
        let strictest = found.iter().map(|found| found.decision).max();
        if let (true, Some(rule)) =
            (strictest != Some(Decision::Allow), PrefixRule::allowing(prefix))
        {
            let mut next = Policy::clone(&current);
            next.rules.add(rule);
            *current = Arc::new(next);
        }
    }
}

/// Does what a yes for good asks for: `write` adds the line to the file, and then the live policy has it.
///
/// A rule that cannot be added takes no yes back: what is returned is a warning, in Codex's words.
pub fn apply(
    live: &LivePolicy,
    prefix: &[String],
    place: &Place<'_>,
    write: impl FnOnce(&str) -> Result<(), String>,
) -> Option<String> {
    match prefix_line(prefix).and_then(|line| write(&line)) {
        Ok(()) => {
            live.allow(prefix, place);
            None
        }
        Err(error) => Some(format!("Failed to apply execpolicy amendment: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'_> = Place { cwd: "/w", home: None };

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    // The forms were observed on 0.169.
    #[test]
    fn lines_are_written_as_codex_writes_them() {
        let line =
            prefix_line(&["echo".to_owned(), "é\t\"\\\n".to_owned(), String::new()]).unwrap();
        assert_eq!(line, r#"prefix_rule(pattern=["echo", "é\t\"\\\n", ""], decision="allow")"#);
        assert_eq!(prefix_line(&[]).unwrap_err(), "prefix rule requires at least one token");
        let amendment = NetworkAmendment {
            host: "codex-network-test.invalid".into(),
            action: NetworkAction::Deny,
        };
        let expected = "network_rule(host=\"codex-network-test.invalid\", protocol=\"http\", decision=\"deny\", \
            justification=\"Deny http access to codex-network-test.invalid\")";
        assert_eq!(network_line(&amendment, "http"), expected);
    }

    #[test]
    fn a_reader_keeps_what_it_has_read() {
        let live = LivePolicy::default();
        let before = live.current();
        assert_eq!(apply(&live, &words("git push"), &PLACE, |_| Ok(())), None);
        let push = words("git push origin");
        assert!(before.matches(&push, &PLACE).is_empty());
        assert_eq!(live.current().matches(&push, &PLACE).len(), 1);
        // What rules allow already is not added again.
        assert_eq!(apply(&live, &push, &PLACE, |_| Ok(())), None);
        assert_eq!(live.current().matches(&push, &PLACE).len(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_a_warning_and_changes_nothing() {
        let live = LivePolicy::default();
        let warning = apply(&live, &words("ls"), &PLACE, |_| Err("disk full".to_owned()));
        assert_eq!(warning.as_deref(), Some("Failed to apply execpolicy amendment: disk full"));
        assert!(live.current().matches(&words("ls"), &PLACE).is_empty());
    }

    #[test]
    fn ours_adds_what_was_proposed_and_nothing_that_allows_everything() {
        assert_eq!(validated(&words("npm test"), &words("npm test")), Ok(()));
        assert!(validated(&words("npm"), &words("npm test")).is_err());
        assert!(
            validated(&words("python3 -c"), &words("python3 -c"))
                .unwrap_err()
                .contains("everything")
        );
    }
}
