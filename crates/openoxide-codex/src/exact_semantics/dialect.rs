//! The versions of Codex whose decisions are reproduced exactly.

use std::str::FromStr;

use thiserror::Error;

/// A version of Codex, which also represents the neighbouring versions that decide in the same way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodexDialect {
    /// Version 0.145, the last one with a list of safe commands.
    V0145,
    /// Version 0.169, which has no list of safe commands and requires the words of scripts to be
    /// literal.
    #[default]
    V0169,
}

/// The error for an unknown version. Contains its name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown dialect `{0}`: write `0.169` or `0.145`")]
pub struct UnknownDialectError(String);

impl FromStr for CodexDialect {
    type Err = UnknownDialectError;

    fn from_str(name: &str) -> Result<Self, UnknownDialectError> {
        match name.strip_prefix("codex-").unwrap_or(name) {
            "0.145" => Ok(Self::V0145),
            "0.169" => Ok(Self::V0169),
            _ => Err(UnknownDialectError(name.to_owned())),
        }
    }
}
