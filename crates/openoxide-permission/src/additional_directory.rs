//! Additional directories: directories that a policy adds to the project.
//!
//! They are read as plain paths, as in a shell, and not as patterns. This crate does not access the
//! file system, so callers resolve symbolic links and check both the written and the resolved path
//! with [`forbidden_root_reason`].

use openoxide_protocol::AbsPath;

use crate::{
    layer::LayerKind,
    rule::PathAnchors,
    safety_floor::{contains_secrets, is_secret},
};

/// A directory that a policy file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdditionalDirectory {
    /// The layer of its file.
    pub layer: LayerKind,
    /// The file that names it.
    pub file: String,
    /// The line of the entry, counted from 1.
    pub line: u32,
    /// The directory as it is written in the file.
    pub text: String,
    /// The absolute path; symbolic links are not resolved.
    pub path: AbsPath,
}

impl AdditionalDirectory {
    /// Returns the directory in a form that means the same in every policy file.
    #[must_use]
    pub fn portable_text(&self) -> &str {
        let fixed = self.text.starts_with(['/', '~']);
        if fixed { &self.text } else { self.path.as_str() }
    }
}

/// The reason why a text is not valid as a directory or as a path to restrict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyPathError {
    /// The text is empty, too long or not a path.
    #[error("`{0}` is not a valid path")]
    Invalid(String),
    /// The path begins with `~`, and the home directory is not known.
    #[error("cannot expand `~`: HOME is not set")]
    UnknownHome,
    /// The directory can never be part of a project.
    #[error("`{text}` cannot be an additional directory: {why}")]
    ForbiddenRoot {
        /// The text of the policy file.
        text: String,
        /// The reason, from [`forbidden_root_reason`].
        why: &'static str,
    },
    /// The path to restrict is the root of the file system.
    #[error("`{0}` is the whole disk")]
    WholeDisk(String),
    /// The text is a glob pattern, but a directory is expected.
    #[error("`{0}` is a glob pattern, which is not allowed here; list each directory")]
    DirectoryPattern(String),
    /// The text is a glob pattern, but a path to restrict is expected.
    #[error("`{0}` is a glob pattern, which is not allowed here; list each path")]
    PathPattern(String),
}

/// The maximum length of a path (`PATH_MAX`).
const MAX_PATH_LENGTH: usize = 4096;

/// Directories in which the system exposes its own state, such as the environment of every process.
const SYSTEM_DIRECTORIES: &[&str] = &["/proc", "/sys", "/dev"];

/// Parses a directory: an absolute path, a path that begins with `~/`, or a path relative to
/// `anchors.base`.
///
/// # Errors
/// Returns the reason why the text is not a valid directory or is not permitted as an additional
/// directory.
pub fn parse_directory(text: &str, anchors: PathAnchors<'_>) -> Result<AbsPath, PolicyPathError> {
    let path = resolve_path(text, anchors)?;
    match forbidden_root_reason(&path, anchors.home) {
        Some(why) => Err(PolicyPathError::ForbiddenRoot { text: text.to_owned(), why }),
        None if text.contains(['*', '?', '[']) => {
            Err(PolicyPathError::DirectoryPattern(text.to_owned()))
        }
        None => Ok(path),
    }
}

/// Parses the path of a file or directory to restrict, written like the path for
/// [`parse_directory`]. Every path except the root of the file system is accepted.
///
/// # Errors
/// Returns the reason why the text is not a valid path to restrict.
pub fn parse_protected_path(
    text: &str,
    anchors: PathAnchors<'_>,
) -> Result<AbsPath, PolicyPathError> {
    let path = resolve_path(text, anchors)?;
    if path.parent().is_none() {
        return Err(PolicyPathError::WholeDisk(text.to_owned()));
    }
    match text.contains(['*', '?', '[']) {
        true => Err(PolicyPathError::PathPattern(text.to_owned())),
        false => Ok(path),
    }
}

fn resolve_path(text: &str, anchors: PathAnchors<'_>) -> Result<AbsPath, PolicyPathError> {
    let path = match text.strip_prefix('~') {
        _ if text.is_empty() || text.contains('\0') || text.len() > MAX_PATH_LENGTH => None,
        None => Some(anchors.base.join(text)),
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = anchors.home.ok_or(PolicyPathError::UnknownHome)?;
            Some(home.join(rest.trim_start_matches('/')))
        }
        Some(_) => None,
    };
    path.ok_or_else(|| PolicyPathError::Invalid(text.to_owned()))
}

/// Returns the reason why a directory can never be part of the project under any policy, or `None`
/// if it can. Such a directory would make more files accessible than its author intends.
#[must_use]
pub fn forbidden_root_reason(path: &AbsPath, home: Option<&AbsPath>) -> Option<&'static str> {
    let at = |place: &str| path.as_str() == place;
    let below =
        |place: &&str| AbsPath::new(place).is_ok_and(|place| path.strip_prefix(&place).is_some());
    let holds = |inner: &AbsPath| inner.strip_prefix(path).is_some();
    match () {
        () if at("/") => Some("it is the whole disk"),
        () if home == Some(path) => Some("it is your home directory"),
        () if home.is_some_and(holds) => Some("it contains your home directory"),
        () if at("/etc") || SYSTEM_DIRECTORIES.iter().any(below) => {
            Some("it belongs to the system")
        }
        () if is_secret(path) => Some("it contains credentials"),
        () if contains_secrets(path) => Some("it contains credentials; name a directory inside it"),
        () if path.as_str().split('/').any(|name| name.eq_ignore_ascii_case(".openoxide")) => {
            Some("it contains policies")
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).unwrap()
    }

    fn read(text: &str) -> Result<AbsPath, PolicyPathError> {
        let (home, base) = (path("/home/ann"), path("/home/ann/src/project"));
        parse_directory(text, PathAnchors { home: Some(&home), base: &base })
    }

    #[test]
    fn a_directory_is_a_path_as_in_a_shell() {
        for (text, expected) in [
            ("../shared-lib", "/home/ann/src/shared-lib"),
            ("~/notes/", "/home/ann/notes"),
            ("~//notes", "/home/ann/notes"),
            ("/srv/data", "/srv/data"),
            ("./x/../y", "/home/ann/src/project/y"),
            ("..", "/home/ann/src"),
            ("~/.cargo/registry", "/home/ann/.cargo/registry"),
            ("../opencode", "/home/ann/src/opencode"),
        ] {
            assert_eq!(read(text), Ok(path(expected)), "{text}");
        }
    }

    #[test]
    fn a_directory_that_would_open_too_much_is_refused() {
        for text in [
            "",
            "a\0b",
            "~",
            "~/",
            "~root",
            "~bob/x",
            "/",
            "//",
            "/home",
            "/home/ann",
            "../..",
            "../../..",
            "../../../..",
            "~/.ssh",
            "~/.ssh/keys",
            "~/.aws",
            "~/.config",
            "~/.config/gh",
            "~/.local",
            "~/.docker",
            "~/.claude",
            "~/.GnuPG",
            "/etc",
            "/proc",
            "/proc/self",
            "/sys",
            "/dev/shm",
            ".openoxide",
            "../other/.openoxide",
            "../*",
            "../lib?",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        let base = path("/w");
        assert!(parse_directory("~/x", PathAnchors { home: None, base: &base }).is_err());
    }

    #[test]
    fn a_refused_directory_has_a_reason() {
        let home = path("/home/ann");
        for (text, expected) in [
            ("/", Some("it is the whole disk")),
            ("/home/ann", Some("it is your home directory")),
            ("/home", Some("it contains your home directory")),
            ("/etc", Some("it belongs to the system")),
            ("/etc/x", None),
            ("/proc/self", Some("it belongs to the system")),
            ("/home/ann/.ssh", Some("it contains credentials")),
            ("/home/ann/.config", Some("it contains credentials; name a directory inside it")),
            ("/w/.OpenOxide/x", Some("it contains policies")),
            ("/w", None),
        ] {
            assert_eq!(forbidden_root_reason(&path(text), Some(&home)), expected, "{text}");
        }
        assert_eq!(forbidden_root_reason(&path("/home/ann"), None), None);
    }

    #[test]
    fn a_path_has_a_longest_length() {
        let text = |length: usize| format!("/{}", "a".repeat(length - 1));
        assert_eq!(read(&text(4096)), Ok(path(&text(4096))));
        let error = read(&text(4097)).unwrap_err().to_string();
        assert!(error.ends_with("` is not a valid path"), "{error}");
    }

    #[test]
    fn a_place_may_be_anything_but_the_whole_disk_and_a_pattern() {
        let (home, base) = (path("/h"), path("/w"));
        let read =
            |text| parse_protected_path(text, PathAnchors { home: Some(&home), base: &base });
        assert_eq!(read("a"), Ok(path("/w/a")));
        assert_eq!(read("~/.ssh"), Ok(path("/h/.ssh")));
        assert_eq!(read("/etc"), Ok(path("/etc")));
        assert_eq!(read("/").unwrap_err().to_string(), "`/` is the whole disk");
        for pattern in ["/a*", "/a?", "/[a]"] {
            let message =
                format!("`{pattern}` is a glob pattern, which is not allowed here; list each path");
            assert_eq!(read(pattern).unwrap_err().to_string(), message);
        }
        assert_eq!(read("").unwrap_err().to_string(), "`` is not a valid path");
    }

    #[test]
    fn the_portable_text_of_a_directory_is_valid_in_any_file() {
        for (text, expected) in [("/a", "/a"), ("~/a", "~/a"), ("../a", "/w/a"), ("a", "/w/a")] {
            let (layer, file) = (LayerKind::User, String::new());
            let directory = AdditionalDirectory {
                layer,
                file,
                line: 1,
                text: text.to_owned(),
                path: path("/w/a"),
            };
            assert_eq!(directory.portable_text(), expected);
        }
    }
}
