//! `git checkout` of a branch or commit.
//!
//! `git checkout WORD` discards the changes of a file of that name. If there is none, it switches to
//! a branch or commit, and git refuses to overwrite changes of files that it does not ignore.

use std::{fs, io::ErrorKind};

use openoxide_protocol::{AbsPath, Access, CauseCode, CommandCause, ExecAccess};

const SWITCHES_BRANCHES: CommandCause =
    CommandCause::Stated { code: CauseCode::WritesFiles, phrase: "switches branches" };

/// Changes the cause of each `git checkout` that can only switch branches.
pub(crate) fn check(accesses: &mut [Access], cwd: &AbsPath) {
    let is_plain = accesses.iter().all(|access| !matches!(access, Access::Opaque { .. }));
    let edited: Vec<AbsPath> = accesses
        .iter()
        .filter_map(|access| if let Access::Edit(path) = access { Some(&path.path) } else { None })
        .cloned()
        .collect();
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        let place = exec.cwd.as_ref().unwrap_or(cwd);
        let Some(file) = named_file(exec, place).filter(|_| is_plain) else { continue };
        // One edit is its own. With others, the script can create the file or a directory above it.
        let is_related = |path: &&AbsPath| {
            path.strip_prefix(&file).is_some() || file.strip_prefix(path).is_some()
        };
        if edited.iter().filter(is_related).count() <= 1 && is_missing(&file) {
            exec.cause = Some(SWITCHES_BRANCHES);
        }
    }
}

/// Returns whether a file certainly does not exist. A file in a directory that cannot be searched
/// may exist.
fn is_missing(file: &AbsPath) -> bool {
    fs::symlink_metadata(file.as_str()).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Returns the file that `git checkout WORD` would overwrite if it exists.
fn named_file(exec: &ExecAccess, place: &AbsPath) -> Option<AbsPath> {
    let discards =
        matches!(exec.cause, Some(CommandCause::Stated { code: CauseCode::DiscardsChanges, .. }));
    let known = |at| exec.argv.known_word(at);
    let is_checkout = known(0) == Some("git") && known(1) == Some("checkout");
    if !discards || !is_checkout || *place == AbsPath::root() {
        return None;
    }
    let word = match (known(2)?, known(3), exec.argv.len()) {
        ("-q" | "--quiet", Some(word), 4) => word,
        (word, None, 3) => word,
        _ => return None,
    };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
    let is_name = word.bytes().all(is_letter)
        && word.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !word.ends_with(['/', '.'])
        && !word.contains("..");
    is_name.then(|| place.join(word))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output};

    use openoxide_protocol::Action;

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    /// A repository with the branches `main` and `other`, the tracked file `file` and the directory
    /// `sub`, both with changes.
    fn repository() -> (tempfile::TempDir, AbsPath) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let place = AbsPath::new(root.to_str().unwrap()).unwrap();
        let done = bash(
            &place,
            "git init -q -b main . && git config user.email a@b.c && git config user.name a && \
             mkdir sub && echo 1 > file && echo 1 > sub/a && git add . && git commit -qm 1 && \
             git checkout -qb other && echo 2 > file && git commit -qam 2 && \
             echo 3 > file && echo 3 > sub/a",
        );
        assert!(done.status.success(), "{done:?}");
        (dir, place)
    }

    fn bash(place: &AbsPath, script: &str) -> Output {
        Command::new("bash").args(["-c", script]).current_dir(place.as_str()).output().unwrap()
    }

    fn only_switches(cwd: &AbsPath, script: &str) -> bool {
        let action = Action::Command { script: script.to_owned() };
        let facts = collect_action_facts(&action, "Bash", CallLocation { cwd, home: None });
        facts.accesses.iter().any(
            |access| matches!(access, Access::Exec(exec) if exec.cause == Some(SWITCHES_BRANCHES)),
        )
    }

    #[test]
    fn git_refuses_to_switch_branches_over_changes() {
        let (_dir, project) = repository();
        for script in ["git checkout main", "git checkout -q main", "cd sub && git checkout main"] {
            assert!(only_switches(&project, script), "{script}");
            assert!(!bash(&project, script).status.success(), "{script}");
            let kept = fs::read(project.join("file").as_str()).unwrap();
            assert_eq!(kept, b"3\n", "{script}");
        }
    }

    #[test]
    fn other_checkouts_discard_changes() {
        let (_dir, project) = repository();
        for script in [
            "git checkout file",
            "git checkout sub",
            "git checkout sub/a",
            "git checkout .",
            "git checkout ./main",
            "git checkout -- main",
            "git checkout -f main",
            "git checkout -fq main",
            "git checkout main file",
            "git checkout main -- file",
            "git checkout main -f",
            "git checkout ':/file'",
            "git checkout '*'",
            "git checkout -",
            "git checkout $BRANCH",
            "git checkout sub/../file",
            "git -C sub checkout a",
            "cd sub && git checkout a",
            "cd \"$DIR\" && git checkout main",
            "touch main; git checkout main",
            "mv file main; git checkout main",
            "mv sub main; git checkout main/a",
            "cp -r sub main && git checkout main/a",
            // A file is not a directory (ENOTDIR).
            "git checkout file/a",
            "source x; git checkout main",
        ] {
            assert!(!only_switches(&project, script), "{script}");
        }
    }
}
