//! The placeholders that a run needs on the host.

use std::{collections::BTreeMap, io, path::Path};

use rustix::fs::{Access, access};

use crate::{
    interface::{LaunchConfig, PrivateDirectory},
    protected_paths::{GuardKind, PlaceholderKind, ProtectedPaths},
};

/// Returns the paths at which a run needs placeholders, or keeps those of other runs: guarded paths,
/// and missing private directories, which need a mount point. A staged run creates its guarded
/// paths inside only.
pub(super) fn host_placeholders(launch: &LaunchConfig, guarded: &ProtectedPaths) -> ProtectedPaths {
    let guards = match launch.staging_directory {
        Some(_) => BTreeMap::new(),
        None => guarded.guards.clone(),
    };
    let mut placed = ProtectedPaths { guards, ..ProtectedPaths::default() };
    let outer = launch.private_directories.iter().filter(|one| is_outermost(launch, one));
    for directory in outer {
        let path = Path::new(directory.path.as_str());
        if let Some(guard) = mount_point_guard(path) {
            placed.guards.entry(path.to_owned()).or_insert(guard);
        }
    }
    placed
}

/// Returns whether no other private directory contains this one.
fn is_outermost(launch: &LaunchConfig, directory: &PrivateDirectory) -> bool {
    launch
        .private_directories
        .iter()
        .all(|other| other == directory || directory.path.strip_prefix(&other.path).is_none())
}

/// Returns how a directory is registered. It is not, if it can be neither found nor created.
fn mount_point_guard(path: &Path) -> Option<GuardKind> {
    match path.symlink_metadata() {
        Ok(found) => found.is_dir().then_some(GuardKind::Present),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let writable = access(path.parent()?, Access::WRITE_OK | Access::EXEC_OK).is_ok();
            writable.then_some(GuardKind::Missing(PlaceholderKind::Directory))
        }
        Err(_) => None,
    }
}
