//! A rule: its patterns and its effect.

use std::ops::Range;

use openoxide_protocol::{AbsPath, Effect};

use crate::glob::MatchOptions;

/// The kind of subject that a pattern is matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SubjectKind {
    /// Commands: words, each followed by NUL.
    Exec,
    /// Paths that are read, relative to the root: components, each followed by `/`.
    Read,
    /// Paths that are read, relative to the working directory.
    ReadFromCwd,
    /// Paths that are changed, relative to the root.
    Edit,
    /// Paths that are changed, relative to the working directory.
    EditFromCwd,
    /// Hosts: labels from the right, each followed by `.`.
    Fetch,
    /// Tool names, followed by NUL.
    Tool,
    /// Types of subagents, followed by NUL.
    Delegate,
    /// Names of repeated tools, followed by NUL.
    DoomLoop,
    /// Paths outside the project, relative to the root.
    External,
    /// Paths outside the project, relative to the working directory. Never matched, because these
    /// paths are inside the project.
    ExternalFromCwd,
    /// Unix sockets: the components of a real path, each followed by `/`, or a name that begins with
    /// NUL (see [`crate::pattern::socket`]).
    Socket,
}

impl SubjectKind {
    /// Returns the name of the rule that matches every subject of this kind.
    #[must_use]
    pub const fn rule_name(self) -> &'static str {
        match self {
            Self::Exec => "Bash",
            Self::Read | Self::ReadFromCwd => "Read",
            Self::Edit | Self::EditFromCwd => "Edit",
            Self::Fetch => "WebFetch",
            Self::Tool => "*",
            Self::Delegate => "Task",
            Self::DoomLoop => "DoomLoop",
            Self::External | Self::ExternalFromCwd => "ExternalDirectory",
            Self::Socket => "Socket",
        }
    }

    /// All kinds, in order.
    pub const ALL: [Self; 12] = [
        Self::Exec,
        Self::Read,
        Self::ReadFromCwd,
        Self::Edit,
        Self::EditFromCwd,
        Self::Fetch,
        Self::Tool,
        Self::Delegate,
        Self::DoomLoop,
        Self::External,
        Self::ExternalFromCwd,
        Self::Socket,
    ];

    /// Returns how subjects of this kind are separated, and whether their case is ignored.
    ///
    /// Rules that ask or deny ignore the case of paths, because some file systems do
    /// (CVE-2025-59944). Rules that allow are case-sensitive.
    #[must_use]
    pub const fn match_options(self, effect: Effect) -> MatchOptions {
        MatchOptions {
            separator: self.separator(),
            ignores_case: self.is_path() && !matches!(effect, Effect::Allow),
        }
    }

    /// Returns the byte that follows each part.
    #[must_use]
    pub const fn separator(self) -> u8 {
        match self {
            Self::Exec | Self::Tool | Self::Delegate | Self::DoomLoop => 0,
            Self::Fetch => b'.',
            Self::Read
            | Self::ReadFromCwd
            | Self::Edit
            | Self::EditFromCwd
            | Self::External
            | Self::ExternalFromCwd
            | Self::Socket => b'/',
        }
    }

    /// Returns whether the subjects are paths.
    #[must_use]
    pub const fn is_path(self) -> bool {
        self.separator() == b'/'
    }
}

/// One pattern of a rule: a program for one kind of subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The kind of subject that the program matches.
    pub kind: SubjectKind,
    /// The program (see [`crate::glob`]).
    pub program: Vec<u8>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The effect of the rule.
    pub effect: Effect,
    /// The rule as its author wrote it, in the short form: `Bash(git push *)`.
    pub text: String,
    /// The patterns of the rule. It matches if one of them matches.
    pub patterns: Vec<Pattern>,
    /// True if the rule names exactly one thing, without a wildcard.
    pub is_literal: bool,
    /// True if the rule matches every path, because it names none: `Edit`, `Read`, `*`.
    pub matches_everything: bool,
    /// True if the rule asks and only a person's approval answers it, not a mode, hook or grant.
    pub requires_human: bool,
    /// The line of the rule, counted from 1, or 0 if the rule is not in a file.
    pub line: u32,
    /// The reason that the author gave.
    pub reason: Option<String>,
}

/// The directories that the anchors of path patterns refer to.
#[derive(Clone, Copy, Debug)]
pub struct PathAnchors<'a> {
    /// The home directory, to which `~` refers.
    pub home: Option<&'a AbsPath>,
    /// The directory to which `/` refers: the project for its own policy files, otherwise the
    /// directory of the file that contains the rule.
    pub base: &'a AbsPath,
}

/// The error for a text that is not a valid rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The description of the error: lower case, the user's words in backticks, no full stop.
    pub message: String,
    /// The suggested correction.
    pub help: Option<String>,
    /// The byte range of the error in the rule's text.
    pub range: Range<usize>,
}

impl RuleError {
    pub(crate) fn new(message: impl Into<String>, range: Range<usize>) -> Self {
        Self { message: message.into(), help: None, range }
    }

    pub(crate) fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    pub(crate) fn with_offset(mut self, by: usize) -> Self {
        self.range = self.range.start + by..self.range.end + by;
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
    fn an_error_displays_its_message() {
        let error = RuleError::new("it is wrong", 2..5).with_help("mend it").with_offset(3);
        assert_eq!(error.to_string(), "it is wrong");
        assert_eq!((error.help.as_deref(), error.range), (Some("mend it"), 5..8));
    }

    #[test]
    fn each_kind_of_subject_has_its_separator_and_its_name() {
        for (space, name, separator) in [
            (SubjectKind::Exec, "Bash", 0),
            (SubjectKind::Read, "Read", b'/'),
            (SubjectKind::ReadFromCwd, "Read", b'/'),
            (SubjectKind::Edit, "Edit", b'/'),
            (SubjectKind::EditFromCwd, "Edit", b'/'),
            (SubjectKind::Fetch, "WebFetch", b'.'),
            (SubjectKind::Tool, "*", 0),
            (SubjectKind::Delegate, "Task", 0),
            (SubjectKind::DoomLoop, "DoomLoop", 0),
            (SubjectKind::External, "ExternalDirectory", b'/'),
            (SubjectKind::ExternalFromCwd, "ExternalDirectory", b'/'),
            (SubjectKind::Socket, "Socket", b'/'),
        ] {
            assert_eq!((space.rule_name(), space.separator()), (name, separator));
            let paths = separator == b'/';
            assert_eq!(space.is_path(), paths);
            for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
                let fold = paths && effect != Effect::Allow;
                assert_eq!(
                    space.match_options(effect),
                    MatchOptions { separator, ignores_case: fold }
                );
            }
        }
        assert!(SubjectKind::ALL.into_iter().enumerate().all(|(at, space)| space as usize == at));
    }
}
