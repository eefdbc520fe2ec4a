//! Removal of files that git can restore.
//!
//! `git checkout -- FILE` restores a file from the index. So a command that removes only tracked
//! files without changes loses nothing, and its cause states this. Another command of git in the
//! same script can remove the file from the index (`git add -A`), or replace the index.

use std::path::Path;

use openoxide_protocol::{AbsPath, Access, CauseCode, CommandCause, CommandClass, VersionControl};
use openoxide_store::read_regular_file;
use sha2::Digest as _;

use crate::{
    git_repository::{Index, IndexEntry, index_above},
    removal_command::RemovalCommand,
    step_budget::StepBudget,
    version_control::started_version_control,
};

/// The maximum size of a file that is compared with its object.
const MAX_CONTENT_BYTES: u64 = 16 << 20;

const REMOVES_RESTORABLE: CommandCause = CommandCause::Stated {
    code: CauseCode::WritesFiles,
    phrase: "removes files that git can restore",
};

/// Changes the cause of each command that removes only files that git can restore.
pub(crate) fn check(accesses: &mut [Access], cwd: &AbsPath, steps: &StepBudget) {
    let may_become_final = accesses.iter().any(may_change_index);
    let edited: Vec<AbsPath> = accesses.iter().filter_map(edited_path).cloned().collect();
    // Another command of the script may replace the file before.
    let is_edited_once = |path: &AbsPath| edited.iter().filter(|edit| *edit == path).count() == 1;
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        let place = exec.cwd.as_ref().unwrap_or(cwd);
        // Git itself removes only files that the last commit contains.
        let removal = RemovalCommand::parse_git(exec, place)
            .or_else(|| RemovalCommand::parse(exec, place).filter(|_| !may_become_final))
            .filter(|removal| !removal.is_recursive);
        let Some(RemovalCommand { paths: removed, .. }) = removal else { continue };
        let Ok(Some(index)) = index_above(place) else { continue };
        let is_restorable = steps.take_steps(index.len() / 64 + removed.len() * edited.len() / 8)
            && removed.iter().all(|path| is_edited_once(path) && is_unchanged(&index, path));
        if is_restorable {
            exec.cause = Some(REMOVES_RESTORABLE);
        }
    }
}

/// Returns whether a command can start git for more than reading, or is not known.
pub(crate) fn may_change_index(access: &Access) -> bool {
    let Access::Exec(exec) = access else { return matches!(access, Access::Opaque { .. }) };
    let is_known = exec.argv.known_word(0).is_some();
    exec.class != CommandClass::Harmless
        && (!is_known || started_version_control(exec) != VersionControl::None)
}

fn edited_path(access: &Access) -> Option<&AbsPath> {
    if let Access::Edit(path) = access { Some(&path.path) } else { None }
}

/// Returns whether the index contains a file exactly as it is.
fn is_unchanged(index: &Index, path: &AbsPath) -> bool {
    let Some(name) = path.strip_prefix(index.tree()) else { return false };
    let mut entries = index.entries().iter().filter(|entry| entry.name == name);
    match (entries.next(), entries.next()) {
        (Some(entry), None) => {
            !entry.is_assumed && !index.may_differ(entry) && has_content(entry, path)
        }
        _ => false,
    }
}

/// Returns whether the object of an entry has the content of a file. A filter
/// (gitattributes(5)) or the conversion of line ends can store other content.
fn has_content(entry: &IndexEntry, path: &AbsPath) -> bool {
    let Ok(content) = read_regular_file(Path::new(path.as_str()), MAX_CONTENT_BYTES) else {
        return false;
    };
    let header = format!("blob {}\0", content.len());
    let start = |digest: &[u8]| {
        digest.iter().take(4).fold(0, |number: usize, byte| number << 8 | usize::from(*byte))
    };
    let sha1 = sha1::Sha1::new().chain_update(&header).chain_update(&content).finalize();
    let sha256 = sha2::Sha256::new().chain_update(&header).chain_update(&content).finalize();
    [start(&sha1), start(&sha256)].contains(&entry.id_start)
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use openoxide_protocol::Action;

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    /// A repository with the tracked files `a` and `sub/b`, the changed file `changed`, and the
    /// untracked files `new` and `link`, which is a link to `sub`.
    fn repository() -> (tempfile::TempDir, AbsPath) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let script = "git init -q . && mkdir sub && echo 1 > a && echo 2 > sub/b && \
                      echo 3 > changed && touch -d '1 hour ago' a sub/b changed && git add . && \
                      git update-index -q --refresh && echo 4 > changed && touch new && \
                      git add -N new && ln -s sub link";
        let done = Command::new("bash").args(["-c", script]).current_dir(&root).status();
        assert!(done.unwrap().success());
        let place = AbsPath::new(root.to_str().unwrap()).unwrap();
        (dir, place)
    }

    fn is_restorable(cwd: &AbsPath, script: &str) -> bool {
        let action = Action::Command { script: script.to_owned() };
        let facts = collect_action_facts(&action, "Bash", CallLocation { cwd, home: None });
        facts.accesses.iter().any(
            |access| matches!(access, Access::Exec(exec) if exec.cause == Some(REMOVES_RESTORABLE)),
        )
    }

    #[test]
    fn files_that_git_can_restore_are_found() {
        let (_dir, project) = repository();
        for script in [
            "rm a",
            "rm -f a sub/b",
            "/bin/rm -- a",
            "cd sub && rm b",
            "rm ./sub/../a",
            "git status && rm a",
            "rm a && make",
        ] {
            assert!(is_restorable(&project, script), "{script}");
        }
        let git = |words: &[&str]| {
            let done = Command::new("git").args(words).current_dir(project.as_str()).status();
            assert!(done.unwrap().success());
        };
        fs::remove_file(project.join("a").as_str()).unwrap();
        git(&["checkout", "-q", "--", "a"]);
        assert_eq!(fs::read(project.join("a").as_str()).unwrap(), b"1\n");
    }

    #[test]
    fn other_files_are_not_restorable() {
        let (_dir, project) = repository();
        for script in [
            "rm changed",
            "rm a changed",
            "rm new",
            "rm a new",
            "rm missing",
            "rm -r sub",
            "rm -rf a",
            "rm a -r",
            "rm *",
            "rm s*/b",
            "rm $FILE",
            "rm a $FILE",
            "rm link/b",
            "rm link",
            "rm ../a",
            "mv new a; rm a",
            "cp changed a && rm a",
            "cd \"$DIR\" && rm a",
            "rm",
            "./rm a",
            "unlink a",
            "rm() { :; }; rm a",
            "rm a && git add -A",
            "rm a && git -C . add -A",
            "rm a && git commit -am 1",
            "git rm -q --cached a; rm a",
            "rm a && bash -c 'git add .'",
            "rm a && echo . | xargs git add",
            "rm a && find . -name new -exec git add -A {} +",
            "rm a && env git add -A",
            "rm a && $GIT add -A",
            "rm -- a -v",
            "rm -- a --force",
        ] {
            assert!(!is_restorable(&project, script), "{script}");
        }
        fs::write(project.join("a").as_str(), "5\n").unwrap();
        assert!(!is_restorable(&project, "rm a"));
    }

    /// With `--assume-unchanged`, `git rm` removes a file with changes (git 2.47).
    #[test]
    fn git_rm_removes_only_files_that_git_can_restore() {
        let bash = |place: &AbsPath, script: &str| {
            let mut bash = Command::new("bash");
            bash.args(["-c", script]).current_dir(place.as_str()).output().unwrap()
        };
        let committed = || {
            let (dir, project) = repository();
            let script = "git config user.email a@b.c; git config user.name a; git commit -qm 1";
            assert!(bash(&project, script).status.success());
            (dir, project)
        };
        for script in
            ["git rm a", "git rm -q -- a sub/b", "git rm a && git commit -qm 2 && git add -A"]
        {
            let (_dir, project) = committed();
            assert!(is_restorable(&project, script), "{script}");
            assert!(bash(&project, script).status.success(), "{script}");
            let restored =
                bash(&project, "git checkout -q $(git rev-list --max-parents=0 HEAD) -- a");
            assert!(restored.status.success(), "{script}");
        }
        let (_dir, project) = committed();
        for script in [
            "git rm -f a",
            "git rm -r sub",
            "git rm changed",
            "git rm a changed",
            "git rm '*'",
            "git rm ':(top)a'",
            "git rm $FILE",
            "git rm new",
            "git -C sub rm b",
            "echo 5 > a; git rm a",
        ] {
            assert!(!is_restorable(&project, script), "{script}");
        }
        assert!(!bash(&project, "git rm changed").status.success());
        bash(&project, "git update-index --assume-unchanged a; echo 5 > a");
        assert!(!is_restorable(&project, "git rm a"));
        assert!(bash(&project, "git rm a").status.success());
    }

    /// The object of a file that was never committed stays, but nothing names it any more.
    #[test]
    fn git_add_makes_the_removal_of_a_staged_file_final() {
        let (_dir, project) = repository();
        let script = "rm a && git add -A && git checkout -- a";
        let done = Command::new("bash").args(["-c", script]).current_dir(project.as_str()).output();
        assert!(!done.unwrap().status.success());
        assert!(fs::metadata(project.join("a").as_str()).is_err());
    }

    /// A clean filter stores other content than that of the file (gitattributes(5)).
    #[test]
    fn a_file_whose_content_a_filter_changes_is_not_restorable() {
        let (_dir, project) = repository();
        let script = "git config filter.short.clean 'head -c 2' && echo '*.nb filter=short' > .gitattributes && \
                      echo 12345 > x.nb && echo 1 > y.nb && touch -d '1 hour ago' x.nb y.nb && git add . && \
                      git status --porcelain x.nb y.nb";
        let done = Command::new("bash").args(["-c", script]).current_dir(project.as_str()).status();
        assert!(done.unwrap().success());
        assert!(!is_restorable(&project, "rm x.nb"));
        assert!(is_restorable(&project, "rm y.nb"));
    }
}
