//! Patches in scripts. Codex applies them itself, or runs its own program of that name (observed on
//! 0.169).
//!
//! `exact_semantics` determines exactly what Codex treats as a patch. It uses a grammar whose time
//! is quadratic for some scripts, and Codex continues without a hook that takes too long. Therefore
//! only the text is checked here: more scripts are treated as patches, and anything other than a
//! plain `cd` makes the call opaque.

use openoxide_protocol::Action;

use openoxide_adapters::{agent_hook::AgentHookCall, patch_files, tool_action::parse_action};

/// The names of Codex's program that applies patches.
const APPLY_PATCH_NAMES: [&str; 2] = ["apply_patch", "applypatch"];

/// Returns the files that a patch in a script changes. The script analysis does not find them,
/// because it treats `apply_patch` as any other program. The script itself is checked as well.
#[must_use]
pub fn find_patched_files(call: &AgentHookCall) -> Option<Action> {
    let Action::Command { script } = parse_action(&call.tool, &call.input) else { return None };
    let first = APPLY_PATCH_NAMES.iter().filter_map(|name| script.find(name)).min()?;
    let begins = script.contains("*** Begin Patch");
    let known = || {
        Some((
            patch_files::collect_changed_files(&script)?,
            find_cd_directory(script.get(..first)?)?,
        ))
    };
    let Some((files, directory)) = begins.then(known)? else {
        let text = "what a patch in a script changes is not known".to_owned();
        return Some(Action::Opaque { text });
    };
    let at = |file: String| match directory {
        _ if file.starts_with('/') => file,
        "" if file.starts_with('~') => format!("./{file}"),
        "" => file,
        directory => format!("{directory}/{file}"),
    };
    Some(Action::Edit { paths: files.into_iter().map(at).collect() })
}

/// Returns the directory that a script changes to before it calls the program, or an empty string
/// if it does not change the directory. Returns `None` unless the directory is a plain literal.
fn find_cd_directory(before: &str) -> Option<&str> {
    let before = before.trim();
    if before.is_empty() {
        return Some(before);
    }
    let word = before.strip_prefix("cd")?.strip_suffix("&&")?;
    let word = word.starts_with([' ', '\t']).then(|| word.trim())?;
    let quoted =
        ['\'', '"'].iter().find_map(|&quote| word.strip_prefix(quote)?.strip_suffix(quote));
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    let inner = |c: char| plain(c) || c == ' ';
    let known = quoted.map_or_else(|| word.chars().all(plain), |text| text.chars().all(inner));
    let path = quoted.unwrap_or(word);
    (known && !path.is_empty() && !path.starts_with('-')).then_some(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use openoxide_adapters::agent_hook::parse_payload;

    const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+b\n*** Delete File: /c\n*** End Patch";

    fn found(script: &str) -> Option<Action> {
        let payload = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": "Bash",
            "tool_input": { "command": script },
        });
        find_patched_files(&parse_payload(payload.to_string().as_bytes()).unwrap())
    }

    fn edits(script: &str) -> Vec<String> {
        match found(script) {
            Some(Action::Edit { paths }) => paths,
            other => panic!("{script}: {other:?}"),
        }
    }

    #[test]
    fn files_count_from_the_directory_that_is_gone_to() {
        for (before, first) in [
            ("", "a"),
            ("  \n", "a"),
            ("cd sub && ", "sub/a"),
            ("cd  'a b'&&\n", "a b/a"),
            ("cd \"/x\" && ", "/x/a"),
            ("cd .. && ", "../a"),
        ] {
            for name in APPLY_PATCH_NAMES {
                let script = format!("{before}{name} <<'E'\n{PATCH}\nE; rm x");
                assert_eq!(edits(&script), [first, "/c"], "{script}");
            }
        }
        let home = "apply_patch <<E\n*** Begin Patch\n*** Add File: ~/a\n*** End Patch\nE";
        assert_eq!(edits(home), ["./~/a"]);
    }

    // Everything that Codex 0.169 treats as a patch must be recognized as a patch or be opaque.
    #[test]
    fn everything_that_codex_treats_as_a_patch_is_found() {
        let recorded = include_str!("../../../corpus/codex/patches.ndjson");
        let rows =
            recorded.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
        let mut count = 0;
        for row in rows.filter(|row| row["changes"].is_array()) {
            let Some(script) = row["call"]["cmd"].as_str() else { continue };
            let here = |path: &str| path.strip_prefix("/w/p/").unwrap_or(path).to_owned();
            match found(script) {
                Some(Action::Opaque { .. }) => {}
                Some(Action::Edit { paths }) => {
                    let paths: Vec<_> = paths.iter().map(|path| here(path)).collect();
                    for change in row["changes"].as_array().unwrap() {
                        let file = here(change[0].as_str().unwrap());
                        assert!(paths.contains(&file), "{script}: {file} is not of {paths:?}");
                    }
                }
                other => panic!("{script}: {other:?}"),
            }
            count += 1;
        }
        assert!(count > 50, "{count}");
    }

    #[test]
    fn where_the_directory_is_not_plain_nothing_is_known() {
        for before in [
            "cd $x && ",
            "cd ~ && ",
            "cd a\\b && ",
            "cd - && ",
            "cd \"$x\" && ",
            "cd a; ",
            "cd a b && ",
            "x=1 ",
            "> f ",
            "cd a && cd b && ",
            "echo apply && ",
            "cd '' && ",
            "cda && ",
        ] {
            let script = format!("{before}apply_patch <<'E'\n{PATCH}\nE");
            assert!(matches!(found(&script), Some(Action::Opaque { .. })), "{script}");
        }
        let quoted = format!("apply_patch '{PATCH}'");
        assert!(matches!(found(&quoted), Some(Action::Opaque { .. })));
        assert_eq!(found("grep apply_patch x"), None);
        assert_eq!(found("cat <<'E'\n*** Begin Patch\n*** Add File: a\n*** End Patch\nE"), None);
    }
}
