//! Directories that a call leaves its shell in. Another call that the agent makes at the same time
//! may run there, although it was decided for another directory.

use std::path::Path;

use openoxide_protocol::{AbsPath, steering_files::all_steering_files};

use crate::project_settings::{is_distrusted_by_any, path_spellings};

/// The names that mark the top directory of a repository or of a working copy.
const REPOSITORIES: [&str; 8] =
    [".git", ".hg", ".svn", ".jj", ".bzr", "_darcs", ".fslckout", "CVS"];

/// Returns whether `directory` has a repository or settings that apply there and not in `from`, and
/// that can make harmless programs run something.
#[must_use]
pub fn has_own_settings(directory: &AbsPath, from: &AbsPath) -> bool {
    let starts = path_spellings(from);
    let is_new = |above: &&Path| !starts.iter().any(|start| start.starts_with(above));
    path_spellings(directory)
        .iter()
        .any(|place| place.ancestors().take_while(is_new).any(has_settings))
}

fn has_settings(directory: &Path) -> bool {
    let has = |name: &str| directory.join(name).symlink_metadata().is_ok();
    REPOSITORIES.iter().any(|name| has(name))
        || has("HEAD") && has("objects") && has("refs")
        || all_steering_files()
            .any(|file| is_distrusted_by_any(file, &directory.join(file.pattern())))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn directories_with_repositories_and_settings_of_their_own_are_found() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for (file, text) in [
            (".git/HEAD", ""),
            ("plain/a.rs", ""),
            ("plain/package.json", "{}"),
            ("other/.git/HEAD", ""),
            ("other/deep/a.rs", ""),
            ("bare/HEAD", ""),
            ("bare/objects/a", ""),
            ("bare/refs/a", ""),
            ("tools/.pnpmfile.cjs", ""),
            ("tools/deep/a.rs", ""),
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink(root.join("other"), root.join("link")).unwrap();
        let at = |name: &str| AbsPath::new(root.join(name).to_str().unwrap()).unwrap();
        for (to, from, expected) in [
            ("plain", ".", false),
            (".", "plain", false),
            ("missing", ".", false),
            ("other", ".", true),
            ("other/deep", ".", true),
            ("other/deep", "other", false),
            ("link/deep", ".", true),
            ("bare", ".", true),
            ("tools/deep", "plain", true),
            ("plain", "tools", false),
        ] {
            assert_eq!(has_own_settings(&at(to), &at(from)), expected, "{from} to {to}");
        }
    }
}
