//! File names that one program prints and another program reads.
//!
//! Names are separated by whitespace or by newlines. If the name of a directory ends with a
//! separator, the rest of the path becomes a separate name and a complete path. For example, below
//! `a /` the key `a /root/.ssh/id_rsa` is two words for `xargs cat`. Git stores such names. It also
//! stores symbolic links, and one of them can lead to any file of the machine.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
};

use openoxide_permission::safety_floor::is_secret;
use openoxide_protocol::{AbsPath, Access, OperationFacts};

use crate::{
    git_repository::{UnreadableIndex, index_above},
    step_budget::StepBudget,
};

/// The maximum number of entries that are examined, because a hook must not take long.
const MAX_ENTRIES: usize = 65_536;

/// Makes each access to printed names opaque if parts of the names could name other files.
pub(crate) fn check_piped_paths(facts: &mut OperationFacts, cwd: &AbsPath, steps: &StepBudget) {
    let mut known: Vec<(AbsPath, bool)> = Vec::new();
    for access in &mut facts.accesses {
        let (Access::Read(path) | Access::Edit(path)) = &*access else { continue };
        if !path.has_piped_names {
            continue;
        }
        let looked_up = steps.take_steps(1 + known.len() / 16);
        let stays = match known.iter().find(|(root, _)| *root == path.path) {
            _ if !looked_up => false,
            Some((_, stays)) => *stays,
            None => {
                let stays = has_only_safe_names(&path.path, cwd, steps)
                    && has_only_safe_index_names(&path.path, cwd, steps);
                known.push((path.path.clone(), stays));
                stays
            }
        };
        if !stays {
            let text = format!(
                "file names below {}: parts of them can name other files, links lead elsewhere, or \
                 there are too many",
                path.path
            );
            *access = Access::Opaque { text, span: path.span };
        }
    }
}

/// Returns whether every part of every name below a directory stays in the working directory, and
/// so does the target of every link.
fn has_only_safe_names(root: &AbsPath, cwd: &AbsPath, steps: &StepBudget) -> bool {
    let real = |path: &AbsPath| fs::canonicalize(path.as_str()).unwrap_or_default();
    let bounds = [real(root), real(cwd)];
    let mut seen = 0;
    let mut open = vec![PathBuf::from(root.as_str())];
    while let Some(directory) = open.pop() {
        if !steps.take_directory() {
            return false;
        }
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.filter_map(Result::ok) {
            seen += 1;
            if !steps.take_steps(1) {
                return false;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_symlink())
                && (!steps.take_steps(8) || is_unsafe_link(&entry.path(), &bounds))
            {
                return false;
            }
            if may_name_secret(&entry.file_name(), cwd) {
                return false;
            }
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if seen > MAX_ENTRIES || splits_path(&entry.file_name()) {
                return false;
            }
            open.push(entry.path());
        }
        if seen > MAX_ENTRIES {
            return false;
        }
    }
    true
}

/// Returns whether the same is true of every name in the index of git. Git also prints the names of
/// files that are not in the working tree.
fn has_only_safe_index_names(root: &AbsPath, cwd: &AbsPath, steps: &StepBudget) -> bool {
    let index = match index_above(root) {
        Ok(Some(index)) => index,
        Ok(None) => return true,
        Err(UnreadableIndex) => return false,
    };
    let is_safe = |name: &str| {
        let mut parts = name.rsplit('/').map(OsStr::new);
        parts.next().is_none_or(|file| !may_name_secret(file, cwd))
            && parts.all(|directory| !splits_path(directory) && !may_name_secret(directory, cwd))
    };
    steps.take_steps(index.entries().len() / 16)
        && index.entries().iter().all(|entry| is_safe(&entry.name))
}

/// Returns whether a link leads to an unexpected file: out of these directories, or to a secret
/// file under another name. Installed files and programs contain no secrets.
fn is_unsafe_link(link: &Path, bounds: &[PathBuf]) -> bool {
    let Ok(target) = fs::canonicalize(link) else { return false };
    let installed = ["/usr", "/opt", "/nix/store"].iter().any(|place| target.starts_with(place));
    let program = || {
        fs::metadata(&target)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let secret = || {
        let named = target.to_str().map(AbsPath::new);
        named.is_some_and(|path| path.is_ok_and(|path| is_secret(&path)))
    };
    if bounds.iter().any(|bound| target.starts_with(bound)) {
        return secret();
    }
    !installed && !program()
}

/// Returns whether the part of a path after this directory becomes a complete path, or a path that
/// goes up.
fn splits_path(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let name = name.strip_suffix(b"..").unwrap_or(name);
    name.last().is_some_and(u8::is_ascii_whitespace)
}

/// Returns whether a shell could turn this name into the name of a secret file, by splitting it at
/// whitespace or because it is a pattern.
fn may_name_secret(name: &OsStr, cwd: &AbsPath) -> bool {
    let name = name.to_string_lossy();
    let split = name.contains(char::is_whitespace);
    if !split && !name.contains(['*', '?', '[']) {
        return false;
    }
    name.split_whitespace().any(|piece| {
        // A leading dot is matched only by a dot.
        let wild = piece.contains(['*', '?']) || piece.starts_with('.') && piece.contains('[');
        wild || is_secret(&cwd.join(&piece.replace(['[', ']'], "")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_whose_name_ends_with_whitespace_is_unsafe() {
        for (name, breaks) in [
            ("a/b c/d", false),
            ("a /etc", true),
            ("b/c\n/x", true),
            ("b ../x", true),
            ("a./.. b/x", false),
        ] {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir_all(dir.path().join(name)).unwrap();
            let root = AbsPath::new(dir.path().to_str().unwrap()).unwrap();
            assert_eq!(!has_only_safe_names(&root, &root, &StepBudget::new()), breaks, "{name:?}");
        }
    }

    #[test]
    fn a_name_that_a_shell_turns_into_a_secret_is_unsafe() {
        for (name, breaks) in [
            ("x .env .txt", true),
            ("a id_rsa", true),
            (".en*", true),
            ("x .en? y", true),
            (".[e]nv", true),
            ("id_[r]sa", true),
            ("My Report.txt", false),
            ("[id].tsx", false),
            ("[[...slug]]", false),
        ] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join(name), "").unwrap();
            let root = AbsPath::new(dir.path().to_str().unwrap()).unwrap();
            assert_eq!(!has_only_safe_names(&root, &root, &StepBudget::new()), breaks, "{name:?}");
        }
    }

    #[test]
    fn a_link_that_leads_out_of_the_project_is_unsafe() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        fs::write(&secret, "").unwrap();
        fs::create_dir_all(dir.path().join("project/sub")).unwrap();
        let root = AbsPath::new(dir.path().join("project/sub").to_str().unwrap()).unwrap();
        let cwd = AbsPath::new(dir.path().join("project").to_str().unwrap()).unwrap();
        for (target, stays) in [
            ("../../secret", false),
            ("../..", false),
            (secret.to_str().unwrap(), false),
            ("..", true),
            ("nowhere", true),
            ("/usr", true),
        ] {
            let link = dir.path().join("project/sub/link");
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert_eq!(has_only_safe_names(&root, &cwd, &StepBudget::new()), stays, "{target}");
            fs::remove_file(&link).unwrap();
        }
        // The file is below the directory, but its name leads out of it.
        let (env, link) = (dir.path().join("project/.env"), dir.path().join("project/sub/link"));
        fs::write(&env, "").unwrap();
        std::os::unix::fs::symlink(&env, &link).unwrap();
        assert!(!has_only_safe_names(&root, &cwd, &StepBudget::new()));
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(has_only_safe_names(&root, &cwd, &StepBudget::new()));
    }
}
