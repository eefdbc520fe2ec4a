//! Commands of git that change the index or the branch, and no file.
//!
//! The previous position of a branch is in the reflog, and the files stay as they are. With other
//! options, the same commands discard changes (`git reset --hard`, `git restore FILE`).

use openoxide_protocol::{Access, CauseCode, CommandCause, CommandWords};

const CHANGES_INDEX: CommandCause = CommandCause::Stated {
    code: CauseCode::ChangesHistory,
    phrase: "changes the index or the branch, and no file",
};

/// Changes the cause of each command of git that changes no file.
pub(crate) fn check(accesses: &mut [Access]) {
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        let discards = matches!(
            exec.cause,
            Some(CommandCause::Stated { code: CauseCode::DiscardsChanges, .. })
        );
        if discards && keeps_files(exec.normalized_argv.as_ref().unwrap_or(&exec.argv)) {
            exec.cause = Some(CHANGES_INDEX);
        }
    }
}

fn keeps_files(words: &CommandWords) -> bool {
    let all: Option<Vec<&str>> = words.known_words(0).collect();
    match all.as_deref() {
        Some(["git", "reset", rest @ ..]) => {
            are_options(rest, &["--soft", "--mixed", "-q", "--quiet"])
        }
        Some(["git", "restore", rest @ ..]) => {
            let is_staged = |word: &&str| matches!(*word, "--staged" | "-S");
            rest.iter().take_while(|word| **word != "--").any(is_staged)
                && are_options(rest, &["--staged", "-S", "-q", "--quiet"])
        }
        _ => false,
    }
}

/// Returns whether each option before `--` is one of these. Git accepts options after operands.
fn are_options(words: &[&str], known: &[&str]) -> bool {
    let mut options = words.iter().take_while(|word| **word != "--");
    options.all(|word| !word.starts_with('-') || known.contains(word))
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use openoxide_protocol::{AbsPath, Action};

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    /// A repository with two commits, a staged change of `a` and a later change of it.
    fn repository() -> (tempfile::TempDir, AbsPath) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let place = AbsPath::new(root.to_str().unwrap()).unwrap();
        bash(
            &place,
            "git init -q -b main . && git config user.email a@b.c && git config user.name a && \
             echo 1 > a && git add . && git commit -qm 1 && echo 2 > a && git commit -qam 2 && \
             echo 3 > a && git add a && echo 4 > a",
        );
        (dir, place)
    }

    fn bash(place: &AbsPath, script: &str) {
        let done = Command::new("bash").args(["-c", script]).current_dir(place.as_str()).output();
        drop(done.unwrap());
    }

    fn keeps_files(cwd: &AbsPath, script: &str) -> bool {
        let action = Action::Command { script: script.to_owned() };
        let facts = collect_action_facts(&action, "Bash", CallLocation { cwd, home: None });
        facts
            .accesses
            .iter()
            .any(|access| matches!(access, Access::Exec(exec) if exec.cause == Some(CHANGES_INDEX)))
    }

    #[test]
    fn files_stay_as_they_are() {
        for script in [
            "git reset",
            "git reset -q",
            "git reset HEAD~1",
            "git reset --soft HEAD~1",
            "git reset --mixed HEAD~1",
            "git reset HEAD a",
            "git reset -- a",
            "git -C . reset HEAD~1",
            "git restore --staged a",
            "git restore -S -q -- a",
        ] {
            let (_dir, project) = repository();
            assert!(keeps_files(&project, script), "{script}");
            bash(&project, script);
            assert_eq!(fs::read(project.join("a").as_str()).unwrap(), b"4\n", "{script}");
        }
    }

    #[test]
    fn other_options_discard_changes() {
        for script in [
            "git reset --hard",
            "git reset --hard HEAD~1",
            "git reset HEAD~1 --hard",
            "git reset --soft --hard HEAD~1",
            "git reset --har",
            "git restore a",
            "git restore --staged --worktree a",
            "git restore a -S -W",
            "git restore -SW a",
            "git restore --worktree --staged a",
        ] {
            let (_dir, project) = repository();
            assert!(!keeps_files(&project, script), "{script}");
            bash(&project, script);
            assert_ne!(fs::read(project.join("a").as_str()).unwrap(), b"4\n", "{script}");
        }
        let (_dir, project) = repository();
        for script in [
            "git restore -- --staged",
            "git reset --merge",
            "git reset --keep HEAD~1",
            "git reset -p",
            "git reset $OPTIONS",
            "git restore --staged $FILES",
            "git checkout a",
            "git stash drop",
            "hub reset",
            "./git reset",
        ] {
            assert!(!keeps_files(&project, script), "{script}");
        }
    }
}
