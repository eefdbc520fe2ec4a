//! Paths that Claude Code changes, because it normalizes paths to the Unicode form NFC (observed on
//! 2.1.63 and 2.1.112). On Linux, a file can have either spelling as its name.

use openoxide_protocol::Action;

use crate::{agent_hook::AgentHookCall, tool_action::parse_action};

/// Ranges of characters that no normalization changes, and that do not combine with the character
/// before them.
const STABLE: [(char, char); 14] = [
    ('\0', '\u{2ff}'),
    ('\u{388}', '\u{3ff}'),
    ('\u{400}', '\u{482}'),
    ('\u{48a}', '\u{52f}'),
    ('\u{5d0}', '\u{5ea}'),
    ('\u{620}', '\u{64a}'),
    ('\u{e01}', '\u{e30}'),
    ('\u{2010}', '\u{2027}'),
    ('\u{202a}', '\u{205e}'),
    ('\u{2190}', '\u{2328}'),
    ('\u{2500}', '\u{2775}'),
    ('\u{3041}', '\u{3096}'),
    ('\u{30a1}', '\u{30fa}'),
    ('\u{3400}', '\u{d7a3}'),
];

/// Further ranges: full-width forms, and symbols.
const STABLE_SYMBOLS: [(char, char); 2] = [('\u{ff01}', '\u{ffee}'), ('\u{1f300}', '\u{1faff}')];

/// Returns an opaque action if the client may open another file than the one that a call names.
#[must_use]
pub fn unnormalized_path(call: &AgentHookCall) -> Option<Action> {
    let (Action::Read { paths } | Action::Edit { paths }) = parse_action(&call.tool, &call.input)
    else {
        return None;
    };
    // The directory of the session is what it is.
    let named = |path: &String| path.strip_prefix(call.cwd.as_str()).unwrap_or(path).to_owned();
    let odd = paths.iter().map(named).find(|path| !path.chars().all(is_stable))?;
    let text = format!("`{odd}` may be opened under a name with another Unicode normalization");
    Some(Action::Opaque { text })
}

/// Returns whether a character certainly stays as it is.
fn is_stable(letter: char) -> bool {
    STABLE.iter().chain(&STABLE_SYMBOLS).any(|(first, last)| (*first..=*last).contains(&letter))
        && !is_changed(letter)
}

/// Returns whether a character in one of the ranges is replaced, or combines with others.
const fn is_changed(letter: char) -> bool {
    matches!(
        letter,
        '\u{a66f}'..='\u{a67d}'
            | '\u{a69e}'..='\u{a69f}'
            | '\u{a6f0}'..='\u{a6f1}'
            | '\u{a800}'..='\u{abff}'
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent_hook::parse_payload;

    /// The second names differ from the result of JavaScript's `normalize("NFC")`.
    #[test]
    fn names_in_another_normalization_are_opaque() {
        for (tool, field, path, is_odd) in [
            ("Read", "file_path", "/p/caf\u{e9}/f", false),
            ("Read", "file_path", "/p/cafe\u{301}/f", true),
            ("Write", "file_path", "cafe\u{301}", true),
            ("Grep", "path", "cafe\u{301}", true),
            ("Glob", "path", "/x/cafe\u{301}", true),
            ("Read", "file_path", "\u{212b}", true),
            ("Read", "file_path", "\u{1100}\u{1161}", true),
            ("Read", "file_path", "\u{ac00}\u{11a8}", true),
            ("Read", "file_path", "\u{f900}", true),
            (
                "Read",
                "file_path",
                "\u{d55c}\u{ae00} \u{6f22}\u{5b57} \u{43f}\u{440}\u{43e}.md",
                false,
            ),
            ("Read", "file_path", "\u{1f600} \u{2014} \u{3042}.md", false),
            ("Bash", "command", "cat cafe\u{301}", false),
        ] {
            let payload = json!({
                "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p",
                "tool_name": tool, "tool_input": { field: path, "pattern": "x" },
            });
            let call = parse_payload(payload.to_string().as_bytes()).unwrap();
            assert_eq!(unnormalized_path(&call).is_some(), is_odd, "{tool} {path}");
        }
        let payload = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/cafe\u{301}",
            "tool_name": "Read", "tool_input": { "file_path": "/cafe\u{301}/a" },
        });
        let call = parse_payload(payload.to_string().as_bytes()).unwrap();
        assert!(unnormalized_path(&call).is_none());
    }
}
