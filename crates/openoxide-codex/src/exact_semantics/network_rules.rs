//! Rules about hosts.

use serde::{Deserialize, Serialize};

use super::{prefix_rule::CodexDecision, rule_errors::RuleCallError};

/// A rule about a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkRule {
    /// The host in lower case, without its port.
    pub host: String,
    /// The decision of the rule.
    pub decision: CodexDecision,
    /// The justification of the rule.
    pub justification: Option<String>,
}

/// The protocols that a rule can name.
pub(crate) const PROTOCOLS: &[&str] =
    &["http", "https", "socks5_tcp", "socks5_udp", "https_connect", "http-connect"];

/// Checks the name of a protocol.
///
/// # Errors
/// Returns an error if Codex has no protocol of this name.
pub(super) fn parse_protocol(name: &str) -> Result<(), RuleCallError> {
    if PROTOCOLS.contains(&name) {
        return Ok(());
    }
    let known = "network_rule protocol must be one of http, https, socks5_tcp, socks5_udp";
    Err(RuleCallError::Rule(format!("{known} (got {name})")))
}

/// Parses the decision of a rule about a host.
///
/// # Errors
/// Returns an error if there is no decision of this name.
pub(super) fn parse_decision(word: &str) -> Result<CodexDecision, RuleCallError> {
    match word {
        "deny" => Ok(CodexDecision::Forbidden),
        _ => CodexDecision::parse(word).ok_or_else(|| RuleCallError::Decision(word.to_owned())),
    }
}

/// Returns a host without its port.
///
/// # Errors
/// Returns an error if the text is not exactly one host.
pub(super) fn normalize_host(text: &str) -> Result<String, RuleCallError> {
    let text = text.trim();
    let wrong = |what: &str| Err(RuleCallError::Rule(format!("network_rule host {what}")));
    if text.is_empty() {
        return wrong("cannot be empty");
    }
    if text.contains("://") || text.contains(['/', '?', '#']) {
        return wrong("must be a hostname or IP literal (without scheme or path)");
    }
    let bare = match text.strip_prefix('[') {
        Some(rest) => parse_bracketed_host(rest, text)?,
        None => strip_port(text),
    };
    let bare = bare.trim_end_matches('.').trim().to_ascii_lowercase();
    match bare.as_str() {
        "" => wrong("cannot be empty"),
        _ if bare.contains('*') => wrong("must be a specific host; wildcards are not allowed"),
        _ if bare.contains(char::is_whitespace) => wrong("cannot contain whitespace"),
        _ => Ok(bare),
    }
}

fn parse_bracketed_host<'t>(rest: &'t str, whole: &str) -> Result<&'t str, RuleCallError> {
    let wrong = |what: String| RuleCallError::Rule(format!("network_rule host {what}"));
    let Some((inside, after)) = rest.split_once(']') else {
        return Err(wrong("has an invalid bracketed IPv6 literal".to_owned()));
    };
    let port = after.strip_prefix(':').is_some_and(is_port);
    if !after.is_empty() && !port {
        return Err(wrong(format!("contains an unsupported suffix: {whole}")));
    }
    Ok(inside)
}

fn strip_port(text: &str) -> &str {
    match text.split_once(':') {
        Some((host, port)) if is_port(port) && !host.is_empty() => host,
        _ => text,
    }
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
