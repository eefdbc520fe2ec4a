//! The commands that need no approval if the sandbox confines them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The commands that need no approval if the sandbox confines them, in descending order of
/// strictness.
///
/// It applies to commands that no rule decides. The safety floor and rules that ask or deny take
/// precedence.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SandboxAutoAllow {
    /// None.
    #[default]
    Off,
    /// Commands whose effects stay inside the project: those that run its code or change its
    /// files, and unknown programs.
    Project,
    /// All commands that name no host and no file outside that they would change, including those
    /// that the analysis does not understand.
    All,
}

impl SandboxAutoAllow {
    /// Returns the name of the setting in a policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Project => "project",
            Self::All => "all",
        }
    }
}
