//! Absolute paths, as text.

use std::{borrow::Cow, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A path that is absolute and lexically normal: it begins with `/`, has no empty, `.` or `..`
/// component, does not end in `/` (except for the root itself), and does not contain a NUL.
///
/// A lexically normal path may contain symbolic links, and a link before a `..` can lead to another
/// location. Callers that need the real path query the file system and keep both forms
/// ([`crate::PathAccess`]).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct AbsPath(String); // INVARIANT: in the form that `normalize` returns.

/// An error for a text that is not an [`AbsPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// The text does not begin with `/`.
    NotAbsolute,
    /// The text contains a NUL, which is not valid in a path of any file system.
    Nul,
}

impl AbsPath {
    /// Returns the normal form of an absolute path.
    ///
    /// # Errors
    /// Returns an error if `text` is not an absolute path or contains a NUL.
    pub fn new(text: &str) -> Result<Self, PathError> {
        match text {
            _ if text.contains('\0') => Err(PathError::Nul),
            _ if text.starts_with('/') => Ok(Self(normalize("", text))),
            _ => Err(PathError::NotAbsolute),
        }
    }

    /// Returns `/`.
    #[must_use]
    pub fn root() -> Self {
        Self("/".to_owned())
    }

    /// Returns the path that `relative` refers to in this directory. An absolute `relative` is
    /// returned in its normal form. A NUL ends the name, as it does for the kernel.
    #[must_use]
    pub fn join(&self, relative: &str) -> Self {
        let relative = relative.split('\0').next().unwrap_or_default();
        if relative.starts_with('/') {
            return Self(normalize("", relative));
        }
        Self(normalize(self.0.trim_end_matches('/'), relative))
    }

    /// Returns the path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the parent directory, or `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (head, name) = self.0.rsplit_once('/')?;
        match (head, name) {
            (_, "") => None,
            ("", _) => Some(Self::root()),
            (head, _) => Some(Self(head.to_owned())),
        }
    }

    /// Returns the last component, or `None` for the root.
    #[must_use]
    pub fn file_name(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(_, name)| name).filter(|name| !name.is_empty())
    }

    /// Returns the rest of this path after `base`, without a leading `/`. The rest is empty if both
    /// paths are equal. Returns `None` if this path is not at or below `base`. Whole components are
    /// compared: `/ab` is not below `/a`.
    #[must_use]
    pub fn strip_prefix<'a>(&'a self, base: &Self) -> Option<&'a str> {
        let rest = self.0.strip_prefix(base.0.trim_end_matches('/'))?;
        match rest.strip_prefix('/') {
            Some(rest) => Some(rest),
            None => rest.is_empty().then_some(""),
        }
    }
}

/// Joins `base` (normal, without a trailing `/`) and `rest`, resolving `.` and `..` lexically.
fn normalize(base: &str, rest: &str) -> String {
    let mut path = String::with_capacity(base.len() + rest.len() + 1);
    path.push_str(base);
    for component in rest.split('/') {
        match component {
            "" | "." => {}
            ".." => path.truncate(path.rfind('/').unwrap_or(0)),
            name => {
                path.push('/');
                path.push_str(name);
            }
        }
    }
    if path.is_empty() {
        path.push('/');
    }
    path
}

impl fmt::Display for AbsPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NotAbsolute => "the path does not begin with `/`",
            Self::Nul => "the path contains a NUL byte",
        })
    }
}

impl std::error::Error for PathError {}

impl<'de> Deserialize<'de> for AbsPath {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(from)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, relative: &str) -> String {
        AbsPath::new(base).unwrap().join(relative).to_string()
    }

    #[test]
    fn joins_by_the_letters() {
        assert_eq!(joined("/a/b", "c"), "/a/b/c");
        assert_eq!(joined("/a/b", "../c/./d//"), "/a/c/d");
        assert_eq!(joined("/a", "../../.."), "/");
        assert_eq!(joined("/", "x"), "/x");
        assert_eq!(joined("/a", "/b"), "/b");
        assert_eq!(joined("/a", ""), "/a");
        assert_eq!(joined("/a", "b\0c"), "/a/b");
    }

    #[test]
    fn paths_that_are_not_absolute_are_refused() {
        assert_eq!(AbsPath::new("a/b"), Err(PathError::NotAbsolute));
        assert_eq!(AbsPath::new(""), Err(PathError::NotAbsolute));
        assert_eq!(AbsPath::new("/a\0"), Err(PathError::Nul));
        assert!(serde_json::from_str::<AbsPath>("\"a\"").is_err());
        assert_eq!(serde_json::from_str::<AbsPath>("\"/a/../b\"").unwrap().as_str(), "/b");
    }

    #[test]
    fn below_compares_whole_components() {
        let path = |text| AbsPath::new(text).unwrap();
        assert_eq!(path("/a/b/c").strip_prefix(&path("/a")), Some("b/c"));
        assert_eq!(path("/a").strip_prefix(&path("/a")), Some(""));
        assert_eq!(path("/ab").strip_prefix(&path("/a")), None);
        assert_eq!(path("/ab").strip_prefix(&AbsPath::root()), Some("ab"));
        assert_eq!(path("/").strip_prefix(&path("/a")), None);
    }

    #[test]
    fn parents_end_at_the_root() {
        assert_eq!(AbsPath::new("/a/b").unwrap().parent().unwrap().as_str(), "/a");
        assert_eq!(AbsPath::new("/a").unwrap().parent(), Some(AbsPath::root()));
        assert_eq!(AbsPath::root().parent(), None);
        assert_eq!(AbsPath::root().file_name(), None);
    }
}
