//! The directories of `OpenOxide`'s own files.

use std::{fs::DirBuilder, os::unix::fs::DirBuilderExt as _};

use openoxide_protocol::AbsPath;
use openoxide_store::UserEnvironment;

/// Creates the missing directories of `OpenOxide`'s own files in writable directories, so that they
/// can be hidden there from the start. Elsewhere a missing directory stays hidden without that.
pub fn create_own_directories<'a>(
    environment: &UserEnvironment,
    writable: impl IntoIterator<Item = &'a AbsPath>,
) {
    let writable: Vec<_> = writable.into_iter().collect();
    let is_within = |path: &AbsPath| writable.iter().any(|root| path.strip_prefix(root).is_some());
    for path in environment.openoxide_directories().into_iter().filter(is_within) {
        // One that cannot be created here is not created by this user outside either.
        drop(DirBuilder::new().recursive(true).mode(0o700).create(path.as_str()));
    }
}
