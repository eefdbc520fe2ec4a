//! The directory of the registry, which each confined run uses in addition to the project.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use openoxide_protocol::AbsPath;
use openoxide_store::UserEnvironment;

use crate::error::SandboxRegistryError;

fn absolute(path: &Path) -> Option<AbsPath> {
    AbsPath::new(path.to_str()?).ok()
}

/// Returns the directory in which a run records the placeholder files that it creates on the host.
///
/// It is in the state directory of the user. If that cannot be used, it is in the directory for
/// temporary files. A directory that others can write to is rejected later (`Registry::open`).
///
/// # Errors
/// Returns an error if neither location can be determined.
pub fn registry_directory(environment: &UserEnvironment) -> Result<AbsPath, SandboxRegistryError> {
    let state = environment.state.as_ref().map(|state| state.join("openoxide"));
    // `Registry::open` creates the directory, for this user only.
    let usable = state.filter(|place| fs::create_dir_all(place).is_ok());
    let place = match usable {
        Some(place) => place.join("sandbox"),
        None => std::env::temp_dir().join(format!("openoxide-{}", owner()?)),
    };
    absolute(&place).ok_or_else(|| SandboxRegistryError::NotUtf8(place.display().to_string()))
}

fn owner() -> Result<u32, SandboxRegistryError> {
    Ok(fs::metadata("/proc/self").map_err(SandboxRegistryError::UnknownOwner)?.uid())
}
