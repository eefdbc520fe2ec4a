//! Names of files that one program prints and another takes.
//!
//! Names are told apart by blanks, or by newlines. Where a directory's name ends with one, what follows is a name of its own,
//! and a whole path: below `a /` the key `a /root/.ssh/id_rsa` is two words for `xargs cat`. Git keeps such names.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _, path::PathBuf};

use openoxide_protocol::{AbsPath, Access, Facts};

/// Where more lies, it is not looked through: a hook must not take long.
const MOST: usize = 65_536;

/// Makes something that is not understood of each access to printed names, if their pieces could name something elsewhere.
pub(crate) fn check(facts: &mut Facts) {
    let mut known: Vec<(AbsPath, bool)> = Vec::new();
    for access in &mut facts.accesses {
        let (Access::Read(path) | Access::Edit(path)) = &*access else { continue };
        if !path.printed {
            continue;
        }
        let stays = match known.iter().find(|(root, _)| *root == path.path) {
            Some((_, stays)) => *stays,
            None => stays_below(&path.path),
        };
        known.push((path.path.clone(), stays));
        if !stays {
            let text = format!("names below {}, too many or with blanks before a `/`", path.path);
            *access = Access::Opaque { text, span: path.span };
        }
    }
}

/// Says whether every piece of every name below a directory still lies in the working directory.
fn stays_below(root: &AbsPath) -> bool {
    let mut seen = 0;
    let mut open = vec![PathBuf::from(root.as_str())];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.filter_map(Result::ok) {
            seen += 1;
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if seen > MOST || breaks(&entry.file_name()) {
                return false;
            }
            open.push(entry.path());
        }
        if seen > MOST {
            return false;
        }
    }
    true
}

/// Says whether what follows this directory in a path becomes a whole path, or one that goes up.
fn breaks(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let name = name.strip_suffix(b"..").unwrap_or(name);
    name.last().is_some_and(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_whose_name_ends_with_a_blank_breaks_names() {
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
            assert_eq!(!stays_below(&root), breaks, "{name:?}");
        }
    }
}
