//! The launch context of a command, which resolves its first word to a path.

use super::prefix_rule::AbsolutePathBuf;

/// The directory that a program is started in, and its user's home directory.
#[derive(Clone, Copy, Debug)]
pub struct LaunchContext<'a> {
    /// The absolute path of the directory.
    pub cwd: &'a str,
    /// The home directory, if it is known.
    pub home: Option<&'a str>,
}

impl LaunchContext<'_> {
    /// Returns the path that the first word of a command refers to. Codex does not search `PATH`: a
    /// bare name is a file in the working directory.
    pub(super) fn program_path(&self, program: &str) -> AbsolutePathBuf {
        let from_home =
            program.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        AbsolutePathBuf(match (from_home, self.home) {
            (Some(rest), Some(home)) => normalize_path(&format!("{home}/{rest}")),
            _ if program.starts_with('/') => normalize_path(program),
            _ => normalize_path(&format!("{}/{program}", self.cwd)),
        })
    }
}

/// Returns an absolute path without `.`, `..` and empty components. The file system is not
/// accessed.
pub(super) fn normalize_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Returns the last component of a normal path; `None` for the root.
pub(super) fn basename(path: &str) -> Option<&str> {
    path.rsplit('/').next().filter(|name| !name.is_empty())
}

/// Returns the name of a program that is given as a path; the name of `ls/` is `ls`.
pub(super) fn program_name(program: &str) -> &str {
    std::path::Path::new(program).file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default()
}
