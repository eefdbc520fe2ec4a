//! The error of `sandbox run` when its arguments cannot be used.

use std::{io, path::PathBuf};

use openoxide_engine::SandboxRegistryError;
use openoxide_protocol::PathError;
use thiserror::Error;

use crate::confined_launch::PublishedTwiceError;

/// The reason that no sandbox can be made from the arguments.
#[derive(Debug, Error)]
pub(crate) enum SandboxRunError {
    /// The whole file system would be writable.
    #[error("`/` cannot be writable: the sandbox would have no effect")]
    RootWritable,
    /// A program in the network of this machine publishes its ports itself.
    #[error("`--publish` has no effect with `--net host`: the program listens on this machine")]
    PublishOnHostNetwork,
    /// Two ports would be published at the same port of the host.
    #[error(transparent)]
    PublishedTwice(#[from] PublishedTwiceError),
    /// The real path of a directory cannot be determined.
    #[error("`{}`: {error}", path.display())]
    Unresolved {
        /// The path as it was given.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A path that must be a directory is none.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// A path cannot be made absolute.
    #[error(transparent)]
    NotAbsolute(io::Error),
    /// A path is not UTF-8.
    #[error("`{}` is not UTF-8", .0.display())]
    NotUtf8(PathBuf),
    /// A path is not valid.
    #[error(transparent)]
    Path(#[from] PathError),
    /// There is no location for the registry of sandboxes.
    #[error(transparent)]
    Registry(#[from] SandboxRegistryError),
}
