//! Changes that Claude Code makes to a script before its shell runs it (observed on 2.1.197).

use openoxide_protocol::{AbsPath, Action};
use openoxide_shell::{AnalysisContext, ScriptProperties};

use super::piped_commands::{PipedCommand, rewrite_piped_command};
use crate::{agent_hook::AgentHookCall, shell_quote::quote_words, tool_action::parse_action};

/// The prefixes of variables that affect the client's shell functions and its own program. Its
/// shell has functions `grep`, `find` and `rg`, which run `"$CLAUDE_CODE_EXECPATH"`. That is a Bun
/// program, and `BUN_OPTIONS` affects it.
const OBEYED: [&str; 3] = ["CLAUDE", "ANTHROPIC", "BUN_"];

/// Returns the script that the client runs in the place of a script with a pipe, and opaque actions
/// for a script that the client changes otherwise, or whose assignments affect
/// programs that the script does not name. `is_exported` returns whether a variable is in the
/// client's environment.
#[must_use]
pub fn find_shell_differences(
    call: &AgentHookCall,
    is_exported: impl Fn(&str) -> bool,
) -> Vec<Action> {
    let Action::Command { script } = parse_action(&call.tool, &call.input) else {
        return Vec::new();
    };
    let mut doubts = Vec::new();
    if is_rewritten(&script) {
        let text = "Claude Code replaces `>nul` with `>/dev/null`, also within quotes".to_owned();
        doubts.push(Action::Opaque { text });
    }
    match rewrite_piped_command(&script) {
        PipedCommand::Unchanged => {}
        PipedCommand::Rewritten(script) => doubts.push(Action::Command { script }),
        PipedCommand::Unknown => {
            let text = "Claude Code may rewrite this command because of its pipe".to_owned();
            doubts.push(Action::Opaque { text });
        }
    }
    let traits =
        ScriptProperties::examine(&script, &AnalysisContext { cwd: &call.cwd, home: None });
    let reaches = |name: &&String| {
        OBEYED.iter().any(|beginning| name.starts_with(beginning))
            || is_exported(name) && !ScriptProperties::is_ordinary_variable(name)
    };
    let text = match &traits.assigned {
        None => Some("the script assigns variables whose names are not known".to_owned()),
        Some(names) => names
            .iter()
            .find(reaches)
            .map(|name| format!("the script assigns `{name}`, which programs see")),
    };
    doubts.extend(text.map(|text| Action::Opaque { text }));
    doubts
}

/// Returns the other directories that a script may leave the client's shell in. Calls that the
/// model makes at the same time run there, although their hooks receive the old directory. Unknown
/// directories are not included.
#[must_use]
pub fn possible_final_directories(call: &AgentHookCall) -> Vec<AbsPath> {
    let Action::Command { script } = parse_action(&call.tool, &call.input) else {
        return Vec::new();
    };
    if !["cd", "pushd", "popd"].iter().any(|name| script.contains(name)) {
        return Vec::new();
    }
    let traits =
        ScriptProperties::examine(&script, &AnalysisContext { cwd: &call.cwd, home: None });
    let mut left_in = traits.last_directories.unwrap_or_default();
    left_in.retain(|directory| *directory != call.cwd);
    left_in
}

/// The directory in which a script leaves the client's shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinalDirectory {
    /// The directory in which it starts.
    Unchanged,
    /// Another directory, if the script can change to it.
    Other(AbsPath),
    /// It depends on the commands of the script, or is not known.
    Unknown,
}

/// Returns the directory in which a script leaves the client's shell. It is only determined for
/// scripts that change the directory with their first command, or not at all.
#[must_use]
pub fn find_final_directory(call: &AgentHookCall) -> FinalDirectory {
    let Action::Command { script } = parse_action(&call.tool, &call.input) else {
        return FinalDirectory::Unknown;
    };
    let words = || script.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let changes = words().filter(|word| ["cd", "pushd", "popd"].contains(word)).count();
    if changes == 0 && !script.contains(['\\', '\'', '"', '$', '`', '*', '?', '[', '{']) {
        return FinalDirectory::Unchanged;
    }
    let traits =
        ScriptProperties::examine(&script, &AnalysisContext { cwd: &call.cwd, home: None });
    let Some(mut left_in) = traits.last_directories else { return FinalDirectory::Unknown };
    left_in.retain(|directory| *directory != call.cwd);
    match left_in.as_slice() {
        [] => FinalDirectory::Unchanged,
        [directory] if changes == 1 && script.trim_start().starts_with("cd ") => {
            FinalDirectory::Other(directory.clone())
        }
        _ => FinalDirectory::Unknown,
    }
}

/// Returns a command of these words that the client passes to its shell unchanged.
#[must_use]
pub fn quote_client_words<W: AsRef<str>>(words: &[W]) -> String {
    // The word is in single quotes if it contains this character. Text in which no name follows it
    // is not replaced.
    quote_words(words).replace('>', r"'\>'")
}

/// Returns whether the client replaces text of the script: `>nul` at the end of a word, in upper or
/// lower case. The client ignores quotes and backslashes. It does not change scripts that contain a
/// `<`, a `$` or a backquote, but this function includes them.
fn is_rewritten(script: &str) -> bool {
    script.match_indices('>').any(|(at, _)| {
        let rest = script.get(at + 1..).unwrap_or_default().trim_start_matches([' ', '\t']);
        let is_nul = rest.get(..3).is_some_and(|name| name.eq_ignore_ascii_case("nul"));
        let ends = |next: char| {
            next.is_whitespace() || next == '\u{feff}' || matches!(next, '|' | '&' | ';' | ')')
        };
        is_nul && rest.get(3..).and_then(|rest| rest.chars().next()).is_none_or(ends)
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use serde_json::json;

    use super::*;
    use crate::agent_hook::parse_payload;

    #[test]
    fn the_directory_in_which_a_script_leaves_the_shell_is_known_or_unknown() {
        let other = |directory| FinalDirectory::Other(AbsPath::new(directory).unwrap());
        for (script, expected) in [
            ("ls", FinalDirectory::Unchanged),
            ("(cd sub && ls)", FinalDirectory::Unchanged),
            ("cd sub && make", other("/p/sub")),
            ("cd /p && make", FinalDirectory::Unchanged),
            ("cd sub; cd /p", FinalDirectory::Unknown),
            ("make && cd sub", FinalDirectory::Unknown),
            ("cd $X && make", FinalDirectory::Unknown),
            ("pushd sub", FinalDirectory::Unknown),
            ("c\\d $X", FinalDirectory::Unknown),
        ] {
            let payload = json!({
                "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": "Bash",
                "tool_input": { "command": script },
            });
            let call = parse_payload(payload.to_string().as_bytes()).unwrap();
            assert_eq!(find_final_directory(&call), expected, "{script}");
        }
    }

    #[test]
    fn the_directories_in_which_a_script_ends_are_found() {
        for (script, expected) in [
            ("cd sub", &["/p/sub"][..]),
            ("cd sub && ls", &["/p/sub"]),
            ("cd /x; cd ../y", &["/x/../y"]),
            ("(cd sub)", &[]),
            ("ls; echo cd", &[]),
            // The second `cd` may fail.
            ("cd sub; cd /p", &["/p/sub"]),
        ] {
            let payload = json!({
                "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": "Bash",
                "tool_input": { "command": script },
            });
            let found =
                possible_final_directories(&parse_payload(payload.to_string().as_bytes()).unwrap());
            let found: Vec<_> = found.iter().map(ToString::to_string).collect();
            for directory in expected {
                let directory = AbsPath::new(directory).unwrap().to_string();
                assert!(found.contains(&directory), "{script}: {found:?}");
            }
            assert_eq!(found.is_empty(), expected.is_empty(), "{script}: {found:?}");
        }
    }

    fn doubts(script: &str) -> usize {
        let payload = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": "Bash",
            "tool_input": { "command": script },
        });
        let call = parse_payload(payload.to_string().as_bytes()).unwrap();
        find_shell_differences(&call, |name| matches!(name, "EXPORTED" | "TERM")).len()
    }

    #[test]
    fn scripts_that_the_client_rewrites_are_doubtful() {
        for script in [
            r"cd x\>nul && git status",
            r"cat x\>nul",
            "cat 'x>nul '",
            "cat \"x > nul;y\"",
            "cat x\\>>NuL;ls",
            "ls 2>nul",
            "ls > \t nul\n",
            "(ls >nul)",
        ] {
            assert_eq!(doubts(script), 1, "{script}");
        }
        for script in
            ["ls >null", "ls >nul.txt", "cat 'x>nul'", "cat nul", "ls 2>/dev/null", "a\u{e9}>n"]
        {
            assert_eq!(doubts(script), 0, "{script}");
        }
    }

    #[test]
    fn variables_that_programs_see_are_doubtful_however_they_are_assigned() {
        for script in [
            "CLAUDE_CODE_EXECPATH=./evil; grep x src/a.rs",
            "CLAUDE_CODE_EXECPATH=./evil; find src",
            "for CLAUDE_CODE_EXECPATH in ./evil; do grep x a; done",
            "read CLAUDE_CODE_EXECPATH < f; grep x a",
            "while read -r CLAUDE_CODE_EXECPATH; do grep x a; done < f",
            "mapfile CLAUDE_CODE_EXECPATH < f; grep x a",
            "printf -v CLAUDE_CODE_EXECPATH ./evil; grep x a",
            "declare CLAUDE_CODE_EXECPATH=./evil; grep x a",
            ": ${CLAUDE_CODE_EXECPATH:=./evil}; grep x a",
            "BUN_OPTIONS=--preload=./evil.js; grep x a",
            "EXPORTED=x; grep x a",
            "ls; (read -r EXPORTED < f; ls)",
            "eval 'EXPORTED=x'; ls",
        ] {
            assert_eq!(doubts(script), 1, "{script}");
        }
        for script in ["x=1; grep $x a", "for f in a b; do cat $f; done", "TERM=dumb; ls"] {
            assert_eq!(doubts(script), 0, "{script}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the real shells are the reference")]
    fn quoted_words_reach_the_shell_unchanged() {
        let words =
            ["d >nul y", "/a/d > nul", "'>nul '", ">nul", "a>>nul;", "\\>\t\tNUL", ">", "\n>nul\n"];
        let command = quote_client_words(&words);
        assert!(!is_rewritten(&command), "{command}");
        assert!(is_rewritten(&quote_words(&words)), "the test can fail");
        let expected = words.map(|word| format!("{word}|")).concat();
        for shell in ["bash", "dash", "sh"] {
            let script = format!("printf '%s|' {command}");
            let output = Command::new(shell).args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{shell}: {command}");
        }
    }
}
