//! One rule: what it matches and what it asks for.

use std::ops::Range;

use openoxide_protocol::{AbsPath, Effect};

use crate::glob::Manner;

/// The kind of subject that a pattern is matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Space {
    /// Commands: words, each followed by NUL.
    Exec,
    /// Paths that are read, from the root: components, each followed by `/`.
    Read,
    /// Paths that are read, from the working directory.
    ReadHere,
    /// Paths that are changed, from the root.
    Edit,
    /// Paths that are changed, from the working directory.
    EditHere,
    /// Hosts: labels from the right, each followed by `.`.
    Fetch,
    /// Names of tools, followed by NUL.
    Tool,
    /// Types of subagents, followed by NUL.
    Delegate,
    /// Tools that are repeated, followed by NUL.
    DoomLoop,
    /// Paths outside the project, from the root.
    External,
    /// Paths outside the project, from the working directory (never matched: what lies there is inside).
    ExternalHere,
}

impl Space {
    /// Returns what a rule about all of it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exec => "Bash",
            Self::Read | Self::ReadHere => "Read",
            Self::Edit | Self::EditHere => "Edit",
            Self::Fetch => "WebFetch",
            Self::Tool => "*",
            Self::Delegate => "Task",
            Self::DoomLoop => "DoomLoop",
            Self::External | Self::ExternalHere => "ExternalDirectory",
        }
    }

    /// Every space, in order.
    pub const ALL: [Self; 11] = [
        Self::Exec,
        Self::Read,
        Self::ReadHere,
        Self::Edit,
        Self::EditHere,
        Self::Fetch,
        Self::Tool,
        Self::Delegate,
        Self::DoomLoop,
        Self::External,
        Self::ExternalHere,
    ];

    /// Returns how subjects of this space are cut, and whether the letters' case is looked through.
    ///
    /// Rules that ask or deny match paths in either case, because some file systems do (CVE-2025-59944); rules that
    /// allow match the very letters.
    #[must_use]
    pub const fn manner(self, effect: Effect) -> Manner {
        Manner {
            separator: self.separator(),
            fold: self.is_path() && !matches!(effect, Effect::Allow),
        }
    }

    /// Returns the byte that follows each part.
    #[must_use]
    pub const fn separator(self) -> u8 {
        match self {
            Self::Exec | Self::Tool | Self::Delegate | Self::DoomLoop => 0,
            Self::Fetch => b'.',
            Self::Read
            | Self::ReadHere
            | Self::Edit
            | Self::EditHere
            | Self::External
            | Self::ExternalHere => b'/',
        }
    }

    /// Says whether its subjects are paths.
    #[must_use]
    pub const fn is_path(self) -> bool {
        self.separator() == b'/'
    }
}

/// One alternative of a rule: a program for one kind of subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// What it is matched against.
    pub space: Space,
    /// The program (see [`crate::glob`]).
    pub code: Vec<u8>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What it asks for.
    pub effect: Effect,
    /// What its author wrote, in the short form: `Bash(git push *)`.
    pub text: String,
    /// It matches when one of these does.
    pub patterns: Vec<Pattern>,
    /// Whether it names one thing and no wildcard.
    pub exact: bool,
    /// Whether it is about every path, because it names none: `Edit`, `Read`, `*`.
    pub bare: bool,
    /// Whether it asks, and nothing but a person's yes answers it: no mode, no hook and no grant.
    pub human: bool,
    /// The line that it stands on, from 1; 0 when it stands in no file.
    pub line: u32,
    /// Why its author wants it.
    pub reason: Option<String>,
}

/// What the anchors of path patterns stand for.
#[derive(Clone, Copy, Debug)]
pub struct Anchors<'a> {
    /// `~`.
    pub home: Option<&'a AbsPath>,
    /// `/`: the project for its own files, otherwise the directory of the file that the rule stands in.
    pub base: &'a AbsPath,
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// What is wrong: lower case, the user's words in backticks, no full stop.
    pub message: String,
    /// What was probably meant.
    pub help: Option<String>,
    /// Where in the rule's text.
    pub at: Range<usize>,
}

impl RuleError {
    pub(crate) fn new(message: impl Into<String>, at: Range<usize>) -> Self {
        Self { message: message.into(), help: None, at }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    pub(crate) fn shifted(mut self, by: usize) -> Self {
        self.at = self.at.start + by..self.at.end + by;
        self
    }
}

impl std::fmt::Display for RuleError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for RuleError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_its_message() {
        let error = RuleError::new("it is wrong", 2..5).help("mend it").shifted(3);
        assert_eq!(error.to_string(), "it is wrong");
        assert_eq!((error.help.as_deref(), error.at), (Some("mend it"), 5..8));
    }

    #[test]
    fn each_kind_of_subject_has_its_separator_and_its_name() {
        for (space, name, separator) in [
            (Space::Exec, "Bash", 0),
            (Space::Read, "Read", b'/'),
            (Space::ReadHere, "Read", b'/'),
            (Space::Edit, "Edit", b'/'),
            (Space::EditHere, "Edit", b'/'),
            (Space::Fetch, "WebFetch", b'.'),
            (Space::Tool, "*", 0),
            (Space::Delegate, "Task", 0),
            (Space::DoomLoop, "DoomLoop", 0),
            (Space::External, "ExternalDirectory", b'/'),
            (Space::ExternalHere, "ExternalDirectory", b'/'),
        ] {
            assert_eq!((space.name(), space.separator()), (name, separator));
            let paths = separator == b'/';
            assert_eq!(space.is_path(), paths);
            for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
                let fold = paths && effect != Effect::Allow;
                assert_eq!(space.manner(effect), Manner { separator, fold });
            }
        }
        assert!(Space::ALL.into_iter().enumerate().all(|(at, space)| space as usize == at));
    }
}
