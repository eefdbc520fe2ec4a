//! Rules that a script must not lose when another command replaces it.

use openoxide_protocol::Effect;

use super::{rules::ClaudeRule, settings::ClaudeSettings};

/// The tools whose rules also restrict what a program reads and changes.
const FILE_TOOLS: [&str; 5] = ["Read", "Edit", "Write", "MultiEdit", "NotebookEdit"];

impl ClaudeSettings {
    /// Returns whether a rule that asks or denies could apply to a script, or to files that it
    /// accesses. A rule about every tool (`*`) that asks is left out, because it also applies to
    /// what replaces the script.
    ///
    /// A rule about commands could apply if its text occurs in the script. This includes more
    /// scripts than the client compares it with.
    #[must_use]
    pub fn restricts_script(&self, script: &str) -> bool {
        let script = with_single_spaces(script);
        self.rules.iter().any(|rule| could_restrict(rule, &script))
    }
}

fn could_restrict(rule: &ClaudeRule, script: &str) -> bool {
    match (rule.effect, rule.tool.as_str(), &rule.content) {
        (Effect::Allow, ..) | (Effect::Ask, "*", None) => false,
        (Effect::Deny, "*", None) | (_, "Bash", None) => true,
        (_, "Bash", Some(pattern)) => pattern_occurs(pattern, script),
        (_, tool, _) => FILE_TOOLS.contains(&tool),
    }
}

/// Returns whether the parts of a pattern between its wildcards occur in a text in their order, the
/// first one at the beginning of a word.
fn pattern_occurs(pattern: &str, text: &str) -> bool {
    let pattern = with_single_spaces(pattern.strip_suffix(":*").unwrap_or(pattern));
    let mut parts = pattern.split('*').filter(|part| !part.is_empty());
    let Some(first) = parts.next() else { return true };
    let rest: Vec<_> = parts.collect();
    let begins_word = |at: usize| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        pattern.starts_with('*')
            || !before.is_some_and(|letter| letter.is_alphanumeric() || "_-.".contains(letter))
    };
    text.match_indices(first).filter(|(at, _)| begins_word(*at)).any(|(at, found)| {
        let mut remaining = text.get(at + found.len()..).unwrap_or_default();
        rest.iter().all(|part| match remaining.split_once(part) {
            Some((_, after)) => {
                remaining = after;
                true
            }
            None => false,
        })
    })
}

fn with_single_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::AbsPath;
    use serde_json::json;

    use super::*;

    fn restricts(effect: &str, rule: &str, script: &str) -> bool {
        let text = json!({ "permissions": { effect: [rule] } }).to_string();
        let settings = ClaudeSettings::parse(&text, "settings.json", &AbsPath::root()).unwrap();
        settings.restricts_script(script)
    }

    #[test]
    fn a_rule_whose_text_occurs_in_a_script_restricts_it() {
        for (rule, script) in [
            ("Bash", "ls"),
            ("Bash(*)", "ls"),
            ("Bash(cd sub && *)", "cd sub &&  python3 foo.py"),
            ("Bash(cd sub && python3:*)", "cd sub && python3 foo.py"),
            ("Bash(python3 foo.py > x)", "python3 foo.py > x"),
            ("Bash(foo | *)", "foo | bar"),
            ("Bash(* 2>&1)", "foo 2>&1"),
            ("Bash(*secret*)", "python3 foo.py # secret"),
            ("Bash(time:*)", "time foo"),
            ("Bash(rm:*)", "/bin/rm x"),
            ("Read(.env)", "python3 x.py"),
            ("Edit(b)", "python3 x.py"),
        ] {
            assert!(restricts("deny", rule, script), "{rule} {script}");
            assert!(restricts("ask", rule, script), "{rule} {script}");
            assert!(!restricts("allow", rule, script), "{rule} {script}");
        }
        assert!(restricts("deny", "*", "ls") && !restricts("ask", "*", "ls"));
    }

    #[test]
    fn other_rules_do_not_restrict_a_script() {
        for (rule, script) in [
            ("Bash(rm:*)", "npm run format"),
            ("Bash(python3 *)", "python3.11 x"),
            ("Bash(foo * baz)", "foo bar"),
            ("WebFetch(domain:h.test)", "make"),
            ("mcp__a__b", "make"),
        ] {
            assert!(!restricts("deny", rule, script), "{rule} {script}");
        }
    }
}
