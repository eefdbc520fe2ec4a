//! A hostile project, and a home with many rules.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::{repositories, slow_files::SlowFiles};

/// The number of files in the large directory.
const FILES: usize = 5_000;
/// The number of levels of the deep tree.
const LEVELS: usize = 400;
/// The number of links in a row, and of directories next to each other.
const MANY: usize = 2_000;
/// The number of rules.
const RULES: usize = 3_000;

/// The project and the home.
pub(super) struct World {
    // Unmounted before its directory is removed.
    _slow_files: SlowFiles,
    folder: tempfile::TempDir,
}

impl World {
    pub(super) fn new() -> Result<Self, String> {
        let failed = |error: io::Error| format!("cannot make the hostile project: {error}");
        let folder = tempfile::tempdir().map_err(failed)?;
        fill(folder.path()).map_err(failed)?;
        let slow_files = SlowFiles::mount(&folder.path().join("p/slow"))?;
        Ok(Self { _slow_files: slow_files, folder })
    }

    /// Returns the home directory.
    pub(super) fn home(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the project.
    pub(super) fn project(&self) -> PathBuf {
        self.folder.path().join("p")
    }

    /// Returns the directory of the policy.
    pub(super) fn config(&self) -> PathBuf {
        self.folder.path().join("config")
    }
}

fn fill(root: &Path) -> io::Result<()> {
    for name in ["p/.git", "p/many", "p/links", "p/wide", "p/slow", "config/openoxide"] {
        fs::create_dir_all(root.join(name))?;
    }
    for number in 0..FILES {
        fs::write(root.join(format!("p/many/{}{number}", "a".repeat(200))), "")?;
    }
    let deep = (0..LEVELS).fold(root.join("p/deep"), |path, _| path.join("d"));
    fs::create_dir_all(deep)?;
    for number in 0..MANY {
        let link = root.join(format!("p/links/{number}"));
        symlink(format!("../links/{}", number + 1), link)?;
        fs::create_dir(root.join(format!("p/wide/{number}")))?;
    }
    repositories::make(&root.join("p/git"))?;
    let rules: String =
        (0..RULES).map(|number| format!("    \"Bash(tool{number} * --flag *x*)\",\n")).collect();
    let allowed = "\"Bash(cat *)\", \"Bash(git *)\", \"Edit(src/**)\"";
    let policy = format!("[permissions]\ndeny = [\n{rules}]\nallow = [{allowed}]\n");
    fs::write(root.join("config/openoxide/policy.toml"), policy)
}
