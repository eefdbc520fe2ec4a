//! Translation of Claude Code's matchers into OpenOxide's: a list of names, or else a regular
//! expression that may match anywhere in a name (observed).

use openoxide_permission::HookMatcher;

/// Parses a matcher. Returns `None` for an expression that names with `*` cannot express.
pub(super) fn parse_matcher(text: &str) -> Option<HookMatcher> {
    if text.is_empty() || text == "*" {
        return Some(HookMatcher::default());
    }
    let names = if text.chars().all(is_list_character) {
        normalize_list(text)
    } else {
        translate_expression(text)?
    };
    HookMatcher::parse_name_patterns(&names).ok()
}

fn is_list_character(char: char) -> bool {
    char.is_ascii_alphanumeric() || "_ ,|-".contains(char)
}

fn normalize_list(text: &str) -> String {
    let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
    names.collect::<Vec<_>>().join("|")
}

/// Translates an expression of names, `.*`, `^`, `$` and alternatives into names with `*`.
fn translate_expression(text: &str) -> Option<String> {
    let (begins, rest) = strip_optional(text, text.strip_prefix("^("));
    let (ends, rest) = strip_optional(rest, rest.strip_suffix(")$").filter(|_| begins));
    if begins != ends {
        return None;
    }
    let names: Option<Vec<String>> =
        rest.split('|').map(|one| translate_name(one, begins)).collect();
    Some(names?.join("|"))
}

/// Returns whether the prefix or suffix was present, and the remaining text.
const fn strip_optional<'a>(text: &'a str, rest: Option<&'a str>) -> (bool, &'a str) {
    match rest {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

fn translate_name(text: &str, whole: bool) -> Option<String> {
    let (begins, rest) = strip_optional(text, text.strip_prefix('^'));
    let (ends, rest) = strip_optional(rest, rest.strip_suffix('$'));
    let rest = rest.replace(".*", "*").replace(".+", "*");
    let known = |char: char| char.is_ascii_alphanumeric() || "_-*".contains(char);
    // In a regular expression, a `*` without a `.` repeats the character before it.
    if rest.is_empty() || text.replace(".*", "").contains('*') || !rest.chars().all(known) {
        return None;
    }
    let open = |anchored: bool| if anchored || whole { "" } else { "*" };
    Some(format!("{}{rest}{}", open(begins), open(ends)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected value is the result of JavaScript's `new RegExp(matcher).test(tool)`, except
    /// for names in a list, which are compared as a whole.
    #[test]
    fn matchers_match_the_same_tools_as_in_claude_code() {
        let rows = [
            ("", "Bash", true),
            ("*", "Bash", true),
            (".*", "mcp__a__b", true),
            ("Bash", "BashOutput", false),
            ("Edit|Write", "Write", true),
            ("Edit, Write", "Write", true),
            ("Edit||Write", "Edit", true),
            ("Edit||Write", "Bash", false),
            ("mcp__.*", "mcp__a__b", true),
            ("mcp__.*", "Bash", false),
            ("mcp__.*", "xmcp__a", true),
            ("^mcp__.*", "xmcp__a", false),
            ("^Bash$", "BashOutput", false),
            ("^Bash$", "Bash", true),
            ("^Bash", "BashOutput", true),
            ("^Edit|Write$", "TodoWrite", true),
            ("^(Edit|Write)$", "TodoWrite", false),
            ("^(Edit|Write)$", "Write", true),
            ("Notebook.*|Edit", "MultiEdit", true),
            ("mcp__.*__get.*", "mcp__a__get_all", true),
            ("mcp__.*__get.*", "mcp__a__put", false),
        ];
        for (matcher, tool, expected) in rows {
            assert_eq!(parse_matcher(matcher).unwrap().matches(tool), expected, "{matcher} {tool}");
        }
    }

    #[test]
    fn expressions_without_an_equivalent_in_names_are_rejected() {
        for text in
            ["Bash*", "[BE]ash", "(Edit|Write)", "^(a)|(b)$", "Ba.h", r"\w+", "^$", "a(?!b)", "^(x"]
        {
            assert_eq!(parse_matcher(text), None, "{text}");
        }
    }
}
