//! The paths of a file sandbox, and what is permitted below each of them.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A directory of a file sandbox, with its settings.
#[derive(Debug)]
pub(crate) struct SandboxPath {
    /// The name in the configuration.
    pub(crate) name: String,
    /// The real path of the directory.
    pub(crate) root: PathBuf,
    /// True if files may be created and changed.
    pub(crate) is_writable: bool,
    /// The permitted suffixes, or `None` if all are permitted.
    pub(crate) suffixes: Option<Vec<String>>,
    /// The maximum size of a file.
    pub(crate) max_file_bytes: Option<u64>,
    /// True if writing needs approval.
    pub(crate) write_approval: bool,
    /// True if reading needs approval.
    pub(crate) read_approval: bool,
}

/// What is permitted for one file. If sandboxes are nested, the strictest settings apply.
#[derive(Debug)]
pub(crate) struct FilePermission<'a> {
    /// The innermost sandbox path that contains the file.
    pub(crate) innermost: &'a SandboxPath,
    /// True if the file may be created and changed.
    pub(crate) is_writable: bool,
    /// The maximum size of the file.
    pub(crate) max_file_bytes: Option<u64>,
    /// True if writing needs approval.
    pub(crate) write_approval: bool,
    /// True if reading needs approval.
    pub(crate) read_approval: bool,
    /// The permitted suffixes, if the name has another one.
    pub(crate) violated_suffixes: Option<&'a [String]>,
}

/// All paths of a file sandbox.
#[derive(Debug)]
pub(crate) struct SandboxPaths(Vec<SandboxPath>);

impl SandboxPath {
    /// Returns a path from its settings, whose root is a real path.
    pub(crate) fn from_json(name: &str, value: &Value) -> Option<Self> {
        let suffixes = value.get("suffixes").and_then(Value::as_array);
        let texts = |all: &Vec<Value>| -> Option<Vec<String>> {
            all.iter().map(|one| Some(one.as_str()?.to_owned())).collect()
        };
        Some(Self {
            name: name.to_owned(),
            root: PathBuf::from(value.get("root")?.as_str()?),
            is_writable: value.get("mode")?.as_str()? == "rw",
            suffixes: match suffixes {
                Some(all) => Some(texts(all)?),
                None => None,
            },
            max_file_bytes: value.get("max_file_bytes").and_then(Value::as_u64),
            write_approval: value.get("write_approval")?.as_bool()?,
            read_approval: value.get("read_approval")?.as_bool()?,
        })
    }

    /// Returns whether the kernel can enforce the permission to write: it knows no suffixes and no
    /// sizes.
    pub(crate) fn is_writable_by_commands(&self) -> bool {
        self.is_writable && self.suffixes.is_none() && self.max_file_bytes.is_none()
    }
}

impl SandboxPaths {
    /// Returns the paths from their settings by name.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let paths = value.as_object()?.iter();
        paths
            .map(|(name, path)| SandboxPath::from_json(name, path))
            .collect::<Option<_>>()
            .map(Self)
    }

    /// Returns all paths.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &SandboxPath> {
        self.0.iter()
    }

    /// Returns what is permitted for a file, or `None` if it is in no sandbox. `real` is a real
    /// path.
    pub(crate) fn find(&self, real: &Path) -> Option<FilePermission<'_>> {
        let all = || self.0.iter().filter(|path| real.starts_with(&path.root));
        let innermost = all().max_by_key(|path| path.root.components().count())?;
        Some(FilePermission {
            innermost,
            is_writable: all().all(|path| path.is_writable),
            max_file_bytes: all().filter_map(|path| path.max_file_bytes).min(),
            write_approval: all().any(|path| path.write_approval),
            read_approval: all().any(|path| path.read_approval),
            violated_suffixes: all()
                .filter_map(|path| path.suffixes.as_deref())
                .find(|suffixes| !has_suffix(real, suffixes)),
        })
    }

    /// Returns the names, for messages.
    pub(crate) fn names(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|path| format!("`{}`", path.name)).collect();
        names.join(", ")
    }
}

/// Returns whether a name ends with one of the suffixes, as Python's `Path.suffix` defines it: the
/// last dot of the name and what follows it, if something precedes it.
fn has_suffix(path: &Path, suffixes: &[String]) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let suffix = name.rsplit_once('.').filter(|(stem, _)| !stem.trim_start_matches('.').is_empty());
    let Some((_, suffix)) = suffix.filter(|(_, suffix)| !suffix.is_empty()) else { return false };
    suffixes.iter().any(|one| one.strip_prefix('.') == Some(suffix))
}
