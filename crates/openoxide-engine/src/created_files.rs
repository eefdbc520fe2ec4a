//! Removal of files that the same script creates, and of files that do not exist.
//!
//! Removing a file that does not exist when the script begins loses no existing work, unless the
//! script moves another file to this path.

use std::{fs, io::ErrorKind};

use openoxide_protocol::{AbsPath, Access, CauseCode, CommandCause, CommandWord};

use crate::{removal_command::RemovalCommand, restorable_files::may_change_index};

const REMOVES_CREATED: CommandCause = CommandCause::Stated {
    code: CauseCode::WritesFiles,
    phrase: "removes files that did not exist before this script",
};

/// Programs that can give an existing file another name.
const MOVING_PROGRAMS: [&str; 7] = ["mv", "gmv", "rename", "mmv", "rsync", "ln", "exch"];

/// Changes the cause of each `rm` of files that do not exist when the script begins.
pub(crate) fn check(accesses: &mut [Access], cwd: &AbsPath) {
    if accesses.iter().any(|access| may_change_index(access) || may_move_files(access)) {
        return;
    }
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        let place = exec.cwd.as_ref().unwrap_or(cwd);
        let Some(removal) = RemovalCommand::parse(exec, place) else { continue };
        if !removal.is_recursive
            && !removal.has_parent_names
            && removal.paths.iter().all(is_missing)
        {
            exec.cause = Some(REMOVES_CREATED);
        }
    }
}

fn may_move_files(access: &Access) -> bool {
    let Access::Exec(exec) = access else { return false };
    exec.argv.iter().any(|word| match word {
        CommandWord::Known(text) => {
            let name = text.rsplit('/').next().unwrap_or(text);
            MOVING_PROGRAMS.contains(&name)
        }
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => true,
    })
}

/// Returns whether a file certainly does not exist, in a directory that exists and whose path
/// contains no link.
fn is_missing(file: &AbsPath) -> bool {
    let is_absent = |path: &AbsPath| {
        fs::symlink_metadata(path.as_str()).is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    let is_real = |path: &AbsPath| {
        fs::canonicalize(path.as_str()).is_ok_and(|real| real.to_str() == Some(path.as_str()))
    };
    is_absent(file) && file.parent().is_some_and(|above| is_real(&above))
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::Action;

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    fn removes_created(cwd: &AbsPath, script: &str) -> bool {
        let action = Action::Command { script: script.to_owned() };
        let facts = collect_action_facts(&action, "Bash", CallLocation { cwd, home: None });
        facts.accesses.iter().any(
            |access| matches!(access, Access::Exec(exec) if exec.cause == Some(REMOVES_CREATED)),
        )
    }

    #[test]
    fn only_files_that_do_not_exist_before_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::write(root.join("kept"), "1").unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        std::os::unix::fs::symlink("sub", root.join("link")).unwrap();
        let project = AbsPath::new(root.to_str().unwrap()).unwrap();
        for script in [
            "touch new && rm new",
            "rm -f new sub/other",
            "echo 'print(1)' > t.py && python3 t.py; rm t.py",
            "cp kept new && rm -- new",
            "cd sub && rm -f new",
        ] {
            assert!(removes_created(&project, script), "{script}");
        }
        for script in [
            "rm kept",
            "touch new && rm new kept",
            "mv kept new && rm new",
            "/bin/mv kept new; rm new",
            "ln kept new; rm kept new",
            "find . -name kept -exec mv {} new \\;; rm new",
            "echo kept | xargs -I{} mv {} new; rm new",
            "bash -c 'mv kept new'; rm new",
            "git mv kept new; rm new",
            "git stash pop; rm new",
            "git checkout main; rm new",
            "$TOOL kept new; rm new",
            "rm -rf new",
            "rm sub/../new",
            "rm link/new",
            "rm missing/new",
            "cd \"$DIR\" && rm new",
            "rm new*",
        ] {
            assert!(!removes_created(&project, script), "{script}");
        }
    }
}
