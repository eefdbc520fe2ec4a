//! The tools that a hook is asked about: names, as in Claude Code's matchers.

/// The names of one tool in Claude Code. The second is the current one.
const TASK_TOOL_ALIASES: [&str; 2] = ["Task", "Agent"];

/// A matcher for the tools that a hook is asked about.
///
/// Names are compared case-insensitively. Otherwise a hook would never run, and restrict nothing,
/// if an agent writes `bash`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookMatcher {
    /// The names, in which `*` matches any text. An empty list matches every tool.
    names: Vec<String>,
}

/// The reason why a text is not a matcher.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookMatcherError {
    /// A separator has no name before or after it.
    #[error("expected a tool name next to `|`")]
    EmptyName,
    /// A name contains characters that are not valid in tool names.
    #[error("`{0}` is not a valid tool name")]
    InvalidName(String),
}

impl HookMatcher {
    /// Parses a matcher: names separated by `|` or `,`, with `*` in a name for any text. `*` as the
    /// only name or an empty text matches every tool.
    ///
    /// # Errors
    /// Returns an error if the text contains anything else, such as a regular expression.
    pub fn parse_name_patterns(text: &str) -> Result<Self, HookMatcherError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let names: Vec<String> =
            text.split(['|', ',']).map(|name| name.trim().to_owned()).collect();
        match names.iter().find(|name| name.is_empty() || !name.chars().all(is_name_char)) {
            Some(name) if name.is_empty() => Err(HookMatcherError::EmptyName),
            Some(name) => Err(HookMatcherError::InvalidName(name.clone())),
            None => Ok(Self { names }),
        }
    }

    /// Returns whether the hook is asked about this tool.
    #[must_use]
    pub fn matches(&self, tool: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| matches_name(name, tool))
    }
}

impl std::fmt::Display for HookMatcher {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.names.is_empty() {
            out.write_str("*")
        } else {
            out.write_str(&self.names.join("|"))
        }
    }
}

fn is_name_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | ' ' | '*')
}

fn matches_name(name: &str, tool: &str) -> bool {
    let (name, tool) = (name.to_ascii_lowercase(), tool.to_ascii_lowercase());
    let same = |word: &str| TASK_TOOL_ALIASES.iter().any(|one| one.eq_ignore_ascii_case(word));
    matches_wildcard(&name, &tool) || same(&name) && same(&tool)
}

/// Returns whether the text contains the pieces between the stars in order.
fn matches_wildcard(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*') {
        let Some((_, behind)) = left.split_once(piece) else { return false };
        left = behind;
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_names_tools_as_claude_codes_do() {
        let rows = [
            ("", "Bash", true),
            ("*", "mcp__a__b", true),
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("Bash", "Ba", false),
            ("Edit|Write", "Write", true),
            ("Edit | Write", "Edit", true),
            ("Edit,Write", "Write", true),
            ("Edit|Write", "NotebookEdit", false),
            ("bash", "Bash", true),
            ("Task", "Agent", true),
            ("Agent", "task", true),
            ("Task", "TaskOutput", false),
            ("mcp__github__*", "mcp__github__get", true),
            ("mcp__github__*", "mcp__gitlab__get", false),
            ("*__get", "mcp__x__get", true),
            ("mcp__*__get*", "mcp__x__get_all", true),
            ("mcp__*__get", "mcp__x__put", false),
            ("a*a", "a", false),
            ("Notebook*", "NotebookEdit", true),
        ];
        for (matcher, tool, expected) in rows {
            assert_eq!(
                HookMatcher::parse_name_patterns(matcher).unwrap().matches(tool),
                expected,
                "{matcher} {tool}"
            );
        }
    }

    #[test]
    fn a_regular_expression_is_an_error() {
        for text in ["mcp__.*", "^Bash$", "Edit||Write", "|", "(Edit)"] {
            assert!(HookMatcher::parse_name_patterns(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_invalid_matcher_is_reported() {
        assert_eq!(
            HookMatcher::parse_name_patterns("Edit||Write").unwrap_err().to_string(),
            "expected a tool name next to `|`"
        );
        assert_eq!(
            HookMatcher::parse_name_patterns("Edit|(x)").unwrap_err().to_string(),
            "`(x)` is not a valid tool name"
        );
    }

    #[test]
    fn a_matcher_is_written_as_it_is_read() {
        for (text, expected) in
            [("", "*"), (" ", "*"), ("*", "*"), ("Edit, Write|a*", "Edit|Write|a*")]
        {
            let matcher = HookMatcher::parse_name_patterns(text).unwrap();
            assert_eq!(matcher.to_string(), expected);
            assert!(
                HookMatcher::parse_name_patterns(&matcher.to_string()).unwrap().matches("Edit")
            );
        }
    }
}
