//! Patterns for tool names: `mcp__github__get_*`, `mcp__github`, `TodoWrite`.

use super::ParsedPattern;
use crate::{glob::Glob, rule::RuleError};

/// Parses the name of a tool or of a subagent, in which `*` matches any characters.
///
/// # Errors
/// Returns an error for an empty name, or for characters that no such name contains.
pub fn parse(text: &str) -> Result<ParsedPattern, RuleError> {
    if text.is_empty() {
        return Err(RuleError::new("the name is empty", 0..0));
    }
    let strange = |c: char| !(c.is_alphanumeric() || "_-.:/*@".contains(c));
    if let Some((at, found)) = text.char_indices().find(|(_, c)| strange(*c)) {
        let message = format!("`{}` is not allowed in a name", found.escape_default());
        return Err(RuleError::new(message, at..at + found.len_utf8()));
    }
    let mut glob = Glob::new();
    for (index, piece) in text.split('*').enumerate() {
        if index > 0 {
            glob.push_any();
        }
        glob.push_literal(piece.as_bytes());
    }
    if !text.ends_with('*') {
        glob.push_literal(&[0]);
    }
    Ok(ParsedPattern { glob, is_literal: !text.contains('*') })
}

/// Returns the pattern for every tool of a server if `text` is the name of a server without a tool:
/// `mcp__github`.
#[must_use]
pub fn parse_server(text: &str) -> Option<ParsedPattern> {
    let server = text.strip_prefix("mcp__")?;
    if server.is_empty() || server.contains("__") || server.contains('*') {
        return None;
    }
    parse(&format!("{text}__*")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{glob, rule::SubjectKind};
    use openoxide_protocol::Effect;

    fn matches(pattern: &ParsedPattern, name: &str) -> bool {
        let subject = format!("{name}\0");
        let code = pattern.glob.clone().finish();
        glob::matches(&code, subject.as_bytes(), SubjectKind::Tool.match_options(Effect::Allow))
    }

    #[test]
    fn names_match_whole() {
        assert!(matches(&parse("mcp__github__get_*").unwrap(), "mcp__github__get_issue"));
        assert!(!matches(&parse("mcp__github__get_*").unwrap(), "mcp__github__delete"));
        assert!(matches(&parse("TodoWrite").unwrap(), "TodoWrite"));
        assert!(!matches(&parse("TodoWrite").unwrap(), "TodoWriteX"));
        assert!(matches(&parse_server("mcp__github").unwrap(), "mcp__github__x"));
        assert!(!matches(&parse_server("mcp__github").unwrap(), "mcp__githubx__x"));
        assert_eq!(parse_server("mcp__github__x"), None);
    }
}
