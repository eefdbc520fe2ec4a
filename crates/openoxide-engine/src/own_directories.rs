//! The directories of `OpenOxide`'s own files.

use std::{fs::DirBuilder, os::unix::fs::DirBuilderExt as _};

use openoxide_store::UserEnvironment;

/// Creates the state directory if it is missing, so that a run can hide it from the start. It will
/// contain the key that signs grants.
pub fn create_state_directory(environment: &UserEnvironment) {
    let state = environment.state.as_ref().map(|state| state.join("openoxide"));
    // If it cannot be created here, this user cannot create it during the run either.
    drop(state.map(|path| DirBuilder::new().recursive(true).mode(0o700).create(path)));
}
