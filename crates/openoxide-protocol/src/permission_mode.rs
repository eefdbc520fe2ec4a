//! Permission modes, which determine how much requires approval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The behaviour if no rule of a person matches.
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
pub enum PermissionMode {
    /// Asks for approval.
    #[default]
    Default,
    /// Allows edits inside the project and asks about the rest.
    AcceptEdits,
    /// Allows commands that stay inside the sandbox, and asks about the rest.
    Sandboxed,
    /// Allows only reads and denies all changes.
    Plan,
    /// Denies everything that would be asked about.
    DontAsk,
    /// Allows everything that would be asked about, except for rules that ask and for circuit
    /// breakers.
    BypassPermissions,
}

impl PermissionMode {
    /// All modes, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::Default,
        Self::AcceptEdits,
        Self::Sandboxed,
        Self::Plan,
        Self::DontAsk,
        Self::BypassPermissions,
    ];

    /// Returns the name that policies and the command line use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "accept_edits",
            Self::Sandboxed => "sandboxed",
            Self::Plan => "plan",
            Self::DontAsk => "dont_ask",
            Self::BypassPermissions => "bypass_permissions",
        }
    }

    /// Returns the name in Claude Code's spelling.
    #[must_use]
    pub const fn as_camel_case(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Sandboxed => "sandboxed",
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
            Self::BypassPermissions => "bypassPermissions",
        }
    }

    /// Parses the name, in OpenOxide's spelling or in that of the agents (`acceptEdits`).
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let plain = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
        let word = plain(word);
        Self::ALL.into_iter().find(|mode| plain(mode.as_str()) == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_in_every_spelling() {
        assert_eq!(PermissionMode::parse("acceptEdits"), Some(PermissionMode::AcceptEdits));
        assert_eq!(PermissionMode::parse("dont-ask"), Some(PermissionMode::DontAsk));
        assert_eq!(PermissionMode::parse("yolo"), None);
    }
}
