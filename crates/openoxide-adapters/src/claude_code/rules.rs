//! Rules of Claude Code: `Tool` and `Tool(content)`, with exactly its way to compare them.

use openoxide_protocol::{AbsPath, Effect};

use crate::policy_translation::RuleOrigin;

/// One rule of Claude Code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaudeRule {
    pub(crate) effect: Effect,
    pub(crate) text: String,
    pub(crate) tool: String,
    /// The text between the parentheses, or `None` for the whole tool.
    pub(crate) content: Option<String>,
    pub(crate) origin: RuleOrigin,
    /// The directory that a leading `/` in the rule's path refers to.
    pub(crate) base_directory: AbsPath,
}

impl ClaudeRule {
    /// Parses a rule. Returns `None` if the client would skip it. Names and contents are not
    /// trimmed.
    pub(crate) fn parse(
        text: &str,
        effect: Effect,
        origin: RuleOrigin,
        base: &AbsPath,
    ) -> Option<Self> {
        let (tool, content) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')')?)),
        };
        let name = |c: char| c.is_ascii_alphanumeric() || "_-*.:".contains(c);
        let glob = tool.contains('*');
        let odd = tool.is_empty() || !tool.chars().all(name) || (glob && content.is_some());
        if odd
            || (glob && effect == Effect::Allow && !names_one_server(tool))
            || content == Some("")
        {
            return None;
        }
        let content = content.filter(|content| *content != "*" || tool.starts_with("mcp__"));
        // Agents were previously called tasks.
        let tool = if tool == "Task" { "Agent" } else { tool }.to_owned();
        let content = content.map(str::to_owned);
        let (text, base) = (text.to_owned(), base.clone());
        Some(Self { effect, text, tool, content, origin, base_directory: base })
    }

    /// Returns whether the rule is about a whole tool.
    pub(crate) fn covers_tool(&self, tool: &str) -> bool {
        let server = self.tool.starts_with("mcp__") && !self.tool.contains('*');
        let of_server =
            server && tool.strip_prefix(&self.tool).is_some_and(|rest| rest.starts_with("__"));
        self.content.is_none() && (matches_glob(&self.tool, tool) || of_server)
    }

    /// Returns the content of a rule about this tool.
    pub(crate) fn content_for(&self, tool: &str) -> Option<&str> {
        self.content.as_deref().filter(|_| self.tool == tool)
    }

    pub(crate) fn to_rule_ref(&self) -> String {
        format!("{} {}", self.effect.as_str(), self.text)
    }
}

/// Returns whether a tool name names exactly one server. An allow rule with a wildcard is valid
/// only after such a name.
fn names_one_server(tool: &str) -> bool {
    let server = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    server.is_some_and(|(server, _)| !server.is_empty() && !server.contains('*'))
}

/// Returns whether a pattern matches a text. `*` matches any text.
pub(crate) fn matches_glob(pattern: &str, text: &str) -> bool {
    let pieces: Vec<&str> = pattern.split('*').collect();
    let [first, middle @ .., last] = pieces.as_slice() else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for piece in middle {
        let Some((_, after)) = rest.split_once(piece) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// Returns whether a rule about commands matches the text of a command: literally, up to a final
/// `*`, or with `*` anywhere. `\*` is not a wildcard but the two literal characters.
pub(crate) fn matches_command(content: &str, exact: &str, words: &str) -> bool {
    const STAR: &str = "\u{1}";
    let escaped = content.replace("\\*", STAR);
    let words = words.replace("\\*", STAR);
    let prefix = escaped.strip_suffix(":*").or_else(|| escaped.strip_suffix(" *"));
    if let Some(prefix) = prefix.filter(|prefix| !prefix.contains('*')) {
        let rest = words.strip_prefix(prefix);
        return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    }
    if escaped.contains('*') { matches_glob(&escaped, &words) } else { content == exact }
}

/// Returns the parameter and its pattern of a rule such as `run_in_background:true`.
pub(crate) fn parse_parameter(content: &str) -> Option<(&str, &str)> {
    const PRIMARY: &[&str] = &["command", "file_path", "path", "notebook_path", "url", "domain"];
    let (name, value) = content.split_once(':')?;
    let (name, value) = (name.trim(), value.trim());
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (plain && !name.is_empty() && !PRIMARY.contains(&name)).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, effect: Effect) -> Option<ClaudeRule> {
        ClaudeRule::parse(text, effect, RuleOrigin::default(), &AbsPath::root())
    }

    // The table of rule forms that was observed on 2.1.330.
    #[test]
    fn rules_that_the_client_skips_are_not_parsed() {
        for text in [
            "Bash()",
            "Bash(unclosed",
            "(x)",
            "",
            "Bash(a)b",
            "Bash (x)",
            " Bash(x)",
            "B*",
            "mcp__*",
        ] {
            assert_eq!(read(text, Effect::Allow), None, "{text}");
        }
        assert!(read("mcp__*", Effect::Deny).is_some());
        assert!(read("mcp__s__get_*", Effect::Allow).is_some());
        assert_eq!(read("Bash(*)", Effect::Allow).unwrap().content, None);
    }

    #[test]
    fn commands_are_compared_as_texts() {
        for (rule, yes, no) in [
            ("ls *", ["ls", "ls -la"], ["lsof", "lsx"]),
            ("ls*", ["ls", "lsof"], ["l", "xls"]),
            (
                "npm run test:*",
                ["npm run test", "npm run test x"],
                ["npm run test:unit", "npm run tests"],
            ),
            ("git:* push", ["git: push", "git:x push"], ["git push", "git add push"]),
            (
                "git * main",
                ["git checkout main", "git push origin main"],
                ["git main", "git push main:main"],
            ),
            ("* --help *", ["cargo --help x", "bash --help x"], ["cargo --help", "--help"]),
            (r"echo \*", [r"echo \*", r"echo \*"], ["echo *", "echo x"]),
        ] {
            assert!(yes.iter().all(|text| matches_command(rule, text, text)), "{rule}");
            assert!(!no.iter().any(|text| matches_command(rule, text, text)), "{rule}");
        }
    }
}
