//! The errors of this crate.

use std::{io, path::PathBuf};

use thiserror::Error;

/// The reason that a policy file that a person named cannot be used.
#[derive(Debug, Error)]
pub enum NamedPolicyError {
    /// The name of the file does not indicate its format.
    #[error("`{}`: unknown policy format", .0.display())]
    UnknownFormat(PathBuf),
    /// The path cannot be made absolute.
    #[error("`{}`: {error}", path.display())]
    NotAbsolute {
        /// The path as it was given.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
}
