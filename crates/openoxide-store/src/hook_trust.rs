//! The setting under which a project's hook is trusted: its table, and the content of the project's
//! own files that its command names.
//!
//! Anyone who can write a script that a hook runs controls the hook. A changed script therefore
//! requires trust again, in the same way as a changed table. Files that such a script loads are not
//! examined.

use openoxide_permission::{Hook, HookCommand, LayerKind};
use openoxide_protocol::AbsPath;
use sha2::{Digest as _, Sha256};

use crate::{file_access::read_regular_file, trust_store::relative_name};

/// The maximum size of a script.
const MAX_SCRIPT_BYTES: u64 = 16 << 20;

/// The variables with which hooks refer to the project's directory.
const PROJECT_VARIABLES: [&str; 2] = ["${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"];

/// Returns the description of the hook as a permissive setting, in one line. A hook runs a program,
/// so it is always permissive. `checkouts` are the project, and its main checkout if it is a
/// worktree. Files are named relative to the project, so that the description is the same in each
/// of its worktrees.
pub(crate) fn describe_setting(hook: &Hook, project: &AbsPath, checkouts: &[&AbsPath]) -> String {
    let file = relative_name(&hook.file, checkouts);
    let (event, seconds) = (hook.event.as_str(), hook.timeout.as_secs());
    // A hook that could not be read as narrowly as it is written allows nothing. Otherwise it could
    // allow every call that it is asked about.
    let narrow = hook.layer == LayerKind::Cli && !hook.may_allow;
    let only = if narrow { ", to ask and deny alone" } else { "" };
    let run = format!("{file}: hook {event} {}, {seconds} s{only}: {}", hook.matcher, hook.command);
    let named = find_command_files(&hook.command, project);
    let name = |path: &AbsPath| path.strip_prefix(project).unwrap_or_default().to_owned();
    named.iter().fold(run, |run, path| format!("{run} [{} {}]", name(path), describe_content(path)))
}

/// Returns the files inside the project that a command mentions anywhere in its text.
fn find_command_files(command: &HookCommand, project: &AbsPath) -> Vec<AbsPath> {
    let words: Vec<String> = match command {
        HookCommand::Program(words) => {
            words.iter().map(|word| expand_project_variable(word, project)).collect()
        }
        HookCommand::Shell(script) => {
            let named = expand_project_variable(&script.replace(['"', '\''], ""), project);
            let ends = |char: char| char.is_whitespace() || ";|&<>()`=".contains(char);
            named.split(ends).map(str::to_owned).collect()
        }
    };
    let paths = words.iter().filter(|word| !word.is_empty()).map(|word| project.join(word));
    let inside = |path: &AbsPath| path.strip_prefix(project).is_some();
    paths.filter(|path| inside(path) && std::path::Path::new(path.as_str()).is_file()).collect()
}

/// Returns whether a command names the files that it runs literally. It has no expansions and does
/// not change the directory.
pub(crate) fn has_literal_paths(command: &HookCommand) -> bool {
    let ends = |char: char| char.is_whitespace() || ";|&<>()'\"".contains(char);
    let (text, shell) = match command {
        HookCommand::Program(words) => (words.join(" "), false),
        HookCommand::Shell(script) => (script.clone(), true),
    };
    let text = strip_project_variable(&text);
    // `sh -c '…'` parses quoted text again. Otherwise, text in single quotes is literal.
    let again = text.split(ends).any(|word| word.starts_with('-') && word.ends_with('c'));
    let open: String = match (shell, again) {
        (false, false) => return !text.contains('$'),
        (true, false) => text.split('\'').step_by(2).collect::<Vec<_>>().join("'"),
        (_, true) => text,
    };
    let goes = |word: &str| matches!(word, "cd" | "pushd" | "popd" | "." | "source" | "eval");
    !open.contains(['$', '`', '*', '?', '[', '~', '\\', '{']) && !open.split(ends).any(goes)
}

fn strip_project_variable(text: &str) -> String {
    PROJECT_VARIABLES.iter().fold(text.to_owned(), |text, name| text.replace(name, ""))
}

fn expand_project_variable(text: &str, project: &AbsPath) -> String {
    PROJECT_VARIABLES
        .iter()
        .fold(text.to_owned(), |text, name| text.replace(name, project.as_str()))
}

fn describe_content(path: &AbsPath) -> String {
    match read_regular_file(std::path::Path::new(path.as_str()), MAX_SCRIPT_BYTES) {
        Ok(bytes) => {
            let sum: String =
                Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            format!("sha256 {sum}")
        }
        Err(error) => format!("not read: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, time::Duration};

    use openoxide_permission::{HookEvent, HookMatcher};

    use super::*;

    fn hook(command: HookCommand, project: &AbsPath) -> Hook {
        Hook {
            layer: LayerKind::Project,
            file: format!("{project}/.openoxide/policy.toml"),
            line: 1,
            event: HookEvent::PreToolUse,
            matcher: HookMatcher::default(),
            command,
            timeout: Duration::from_secs(5),
            may_allow: true,
            respects_ask_rules: false,
            project: None,
            is_trusted: true,
        }
    }

    #[test]
    fn the_trusted_setting_of_a_hook_includes_the_scripts_that_it_names() {
        let dir = tempfile::tempdir().unwrap();
        let project = AbsPath::new(dir.path().to_str().unwrap()).unwrap();
        let script = Path::new(project.as_str()).join("guard.sh");
        let shell = |text: &str| HookCommand::Shell(text.to_owned());
        fs::write(&script, "").unwrap();
        // printf '' | sha256sum
        let sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let expected = format!(
            ".openoxide/policy.toml: hook pre_tool_use *, 5 s: \"./guard.sh\" [guard.sh sha256 {sum}]",
        );
        let setting = |hook: &Hook, project: &AbsPath| describe_setting(hook, project, &[project]);
        assert_eq!(setting(&hook(shell("./guard.sh"), &project), &project), expected);
        let program =
            |script: &str| HookCommand::Program(vec!["bash".to_owned(), script.to_owned()]);
        for command in [
            program("guard.sh"),
            program("${CLAUDE_PROJECT_DIR}/guard.sh"),
            shell("cd /; \"$CLAUDE_PROJECT_DIR\"/guard.sh --all"),
            shell("exec<'guard.sh'"),
            shell("python3 ${CLAUDE_PROJECT_DIR}/guard.sh"),
            shell(script.to_str().unwrap()),
        ] {
            let hook = hook(command, &project);
            fs::write(&script, "exit 0").unwrap();
            let before = setting(&hook, &project);
            fs::write(&script, "exit 2").unwrap();
            assert_ne!(setting(&hook, &project), before, "{before}");
        }
        assert!(!setting(&hook(shell("/bin/true x"), &project), &project).contains("sha256"));
    }
}
