//! The targets of links in unreadable directories. Dotfile managers keep the real files in another
//! directory.

use std::path::Path;

use openoxide_protocol::{AbsPath, SandboxRestrictions};

use crate::protected_paths::resolved_path::resolve_with_missing;

/// Directories of programs. No link to them leads to a secret.
const PROGRAM_DIRECTORIES: &[&str] = &[
    "/bin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
];
/// Directories with file systems of containers. A link in them is relative to another root.
const CONTAINER_DIRECTORIES: &[&str] = &["/var"];

/// Returns the path that must not be read because a link in an unreadable directory leads to it.
/// Paths that a program needs are left out: its working and writable directories, and the directory
/// of the link.
pub(super) fn hidden_target(
    link: &Path,
    profile: &SandboxRestrictions,
    cwd: &AbsPath,
) -> Option<AbsPath> {
    if CONTAINER_DIRECTORIES.iter().any(|place| link.starts_with(place)) {
        return None;
    }
    let target = resolve_with_missing(&AbsPath::new(link.to_str()?).ok()?)?;
    let place = Path::new(target.as_str());
    let is_missing = place.symlink_metadata().is_err();
    let is_program = PROGRAM_DIRECTORIES.iter().any(|directory| place.starts_with(directory));
    let is_needed = link.starts_with(place)
        || profile.writable.iter().chain([cwd]).any(|path| path.strip_prefix(&target).is_some());
    // A placeholder on the host would obstruct programs outside.
    let is_created = is_missing && profile.may_write(&target);
    (profile.may_read(&target) && !is_program && !is_needed && !is_created).then_some(target)
}
