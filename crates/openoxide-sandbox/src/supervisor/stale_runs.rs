//! Removal of everything that killed runs have left on the disk.

use std::io;

use crate::{protected_paths::PlaceholderRegistry, staging};

/// Removes the staged changes and the placeholders of runs that were killed.
///
/// # Errors
/// Returns an error if the registry or the directory of staged changes cannot be read.
pub(super) fn remove_stale(registry: &PlaceholderRegistry) -> io::Result<()> {
    staging::remove_stale(registry.path())?;
    registry.remove_stale()
}
