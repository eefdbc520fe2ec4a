//! The places of layers: one directory for each project, with one directory for each private
//! directory.

use std::{
    ffi::OsString,
    fs::DirBuilder,
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;

use crate::staging::remove_tree;

/// The maximum length of a file name (`NAME_MAX`).
const MAX_NAME_BYTES: usize = 255;

/// Returns the directory that stores the layers of a project, next to the registry, or `None` if
/// the name of the project is too long. The layers are locked and created by the run.
#[must_use]
pub fn project_layer_directory(registry: &AbsPath, project: &AbsPath) -> Option<AbsPath> {
    let root = layer_root(Path::new(registry.as_str()));
    AbsPath::new(root.join(escape(project)?).to_str()?).ok()
}

/// Returns the directory of the layers of all projects. It is next to the registry, not in it,
/// because every file of the registry is an entry.
pub(super) fn layer_root(registry: &Path) -> PathBuf {
    let mut root = OsString::from(registry);
    root.push("-caches");
    root.into()
}

/// Converts a path to one file name.
fn escape(path: &AbsPath) -> Option<String> {
    let name = path.as_str().replace('%', "%25").replace('/', "%2F");
    (name.len() <= MAX_NAME_BYTES).then_some(name)
}

/// Converts the name of a project's directory back to the path of the project.
pub(super) fn unescape(name: &str) -> Option<PathBuf> {
    let path = name.replace("%2F", "/").replace("%25", "%");
    path.starts_with('/').then(|| path.into())
}

/// The directories of one layer.
#[derive(Debug)]
pub(crate) struct LayerPaths {
    pub(crate) upper: PathBuf,
    pub(crate) work: PathBuf,
}

impl LayerPaths {
    /// Returns the layer over a directory, in the layer directory of a project, or `None` if its
    /// name is too long.
    pub(crate) fn new(layers: &Path, directory: &AbsPath) -> Option<Self> {
        let layer = layers.join(escape(directory)?);
        Some(Self { upper: layer.join("upper"), work: layer.join("work") })
    }

    /// Creates the directories. A work directory that another overlay has used is replaced: the
    /// kernel marks it, because the overlay is mounted as `volatile`, and refuses it then.
    pub(crate) fn create(&self) -> io::Result<()> {
        match remove_tree(&self.work) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut private = DirBuilder::new();
        private.recursive(true).mode(0o700);
        private.create(&self.upper).and_then(|()| private.create(&self.work))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_projects_have_different_names() {
        let names = ["/a/b", "/a%2Fb", "/a%b", "/a"].map(|path| AbsPath::new(path).unwrap());
        for path in &names {
            let name = escape(path).unwrap();
            assert!(!name.contains('/'), "{name}");
            assert_eq!(unescape(&name).unwrap(), Path::new(path.as_str()));
        }
        let long = AbsPath::new(&format!("/{}", "x".repeat(300))).unwrap();
        assert_eq!(escape(&long), None);
        assert_eq!(unescape(".removed"), None);
    }
}
