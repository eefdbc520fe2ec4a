//! Errors of `init`.

use std::{io, path::PathBuf};

use thiserror::Error;

/// The reason that no hook can be installed.
#[derive(Debug, Error)]
pub(crate) enum InitError {
    /// The path of this program is unknown.
    #[error("cannot determine the path of this program: {0}")]
    UnknownProgram(#[source] io::Error),
    /// The path of this program is not UTF-8.
    #[error("the path of this program is not valid UTF-8")]
    ProgramNotUtf8,
    /// The path of Codex's settings is not UTF-8.
    #[error("the path of Codex's settings is not valid UTF-8")]
    SettingsNotUtf8,
    /// No configuration directory is known.
    #[error("no configuration directory is known")]
    NoHome,
    /// No settings of an agent exist.
    #[error("no agent was found")]
    NoAgent,
    /// This program is in a build directory. Contains the directory.
    #[error("this program is in the build directory `{}`: when it is cleaned, the agents block every call", .0.display())]
    BuildDirectory(PathBuf),
    /// A preset needs the sandbox, which does not work on this machine.
    #[error(
        "preset {preset} runs commands in the sandbox, and this machine cannot confine them: {reason}"
    )]
    NoSandbox {
        /// The preset.
        preset: &'static str,
        /// The reason.
        reason: String,
    },
    /// This program cannot be copied.
    #[error("cannot install {}: {error}", path.display())]
    NotInstalled {
        /// The path of the copy.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        error: io::Error,
    },
}

impl InitError {
    /// Returns what to do next, if that is known.
    pub(super) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoHome => Some("set HOME"),
            Self::NoAgent => Some("name one, as in `openoxide init codex`"),
            Self::BuildDirectory(_) => {
                Some("`openoxide init --install` copies it to ~/.local/bin first")
            }
            Self::NoSandbox { .. } => {
                Some("`openoxide sandbox status` shows what is missing; `--preset careful` works")
            }
            Self::NotInstalled { .. }
            | Self::UnknownProgram(_)
            | Self::ProgramNotUtf8
            | Self::SettingsNotUtf8 => None,
        }
    }
}
