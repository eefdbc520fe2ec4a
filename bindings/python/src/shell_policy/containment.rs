//! The condition of a rule with `sandbox_paths`: all paths of the command lie in the sandboxes.
//!
//! The analysis knows the paths of many programs, but not of all. Therefore every word of a command
//! is treated as a path unless it is an option. A command without paths works in its directory.

use std::path::Path;

use openoxide_protocol::{AbsPath, Access, CommandWord, ExecAccess, OperationFacts, PathAccess};

use crate::real_path::real_path;

/// Where the paths of a command lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Containment {
    /// All paths lie in the sandboxes.
    Inside,
    /// A path of the only command lies elsewhere.
    Outside,
    /// A path is unknown, or it is unknown to which command it belongs.
    Unknown,
}

/// A check of the paths of a command.
pub(super) struct PathCheck<'a> {
    cwd: &'a AbsPath,
    /// The words of the rule. They are no paths.
    pattern: Vec<&'a str>,
    roots: &'a [&'a Path],
}

impl<'a> PathCheck<'a> {
    pub(super) fn new(cwd: &'a AbsPath, pattern: &'a str, roots: &'a [&'a Path]) -> Self {
        Self { cwd, pattern: pattern.split_whitespace().collect(), roots }
    }

    /// Returns where the paths of a command lie.
    pub(super) fn check(&self, facts: &OperationFacts) -> Containment {
        if facts.accesses.iter().all(|access| self.is_inside(access)) {
            return Containment::Inside;
        }
        let mut commands = facts.accesses.iter().filter_map(as_command);
        let is_one = commands.next().is_some_and(|command| command.argv.is_known())
            && commands.next().is_none();
        let is_opaque = |access: &Access| matches!(access, Access::Opaque { .. });
        if is_one && !facts.accesses.iter().any(is_opaque) {
            Containment::Outside
        } else {
            Containment::Unknown
        }
    }

    fn is_inside(&self, access: &Access) -> bool {
        match access {
            Access::Exec(command) => self.is_command_inside(command),
            Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) => {
                self.is_access_inside(path)
            }
            Access::Fetch { .. } => true,
            Access::Socket(_)
            | Access::CallTool { .. }
            | Access::Delegate { .. }
            | Access::Repetition { .. }
            | Access::Opaque { .. } => false,
        }
    }

    fn is_access_inside(&self, access: &PathAccess) -> bool {
        let path = access.resolved.as_ref().unwrap_or(&access.path).as_str();
        let fixed = if access.is_pattern { fixed_directory(path) } else { path };
        self.contains(Path::new(fixed))
    }

    fn is_command_inside(&self, command: &ExecAccess) -> bool {
        let cwd = command.cwd.as_ref().unwrap_or(self.cwd);
        if cwd == &AbsPath::root() && command.cwd.is_some() {
            return false; // The directory is unknown.
        }
        let mut has_path = false;
        for word in command.argv.iter().skip(self.fixed_words(command)) {
            let CommandWord::Known(word) = word else { return false };
            for part in path_parts(word, cwd) {
                has_path = true;
                if !self.contains(Path::new(cwd.join(part).as_str()))
                    || !self.contains(&Path::new(cwd.as_str()).join(part))
                {
                    return false;
                }
            }
        }
        has_path || self.contains(Path::new(cwd.as_str()))
    }

    /// Returns the number of leading words that are no paths: the program, or the words of the
    /// rule.
    fn fixed_words(&self, command: &ExecAccess) -> usize {
        let words = self.pattern.iter().enumerate();
        let same = |(index, word): (usize, &&str)| command.argv.known_word(index) == Some(*word);
        if words.clone().skip(1).all(same) { self.pattern.len().max(1) } else { 1 }
    }

    fn contains(&self, path: &Path) -> bool {
        real_path(path).is_ok_and(|real| self.roots.iter().any(|root| real.starts_with(root)))
    }
}

/// Returns the directory above the first component with a wildcard.
fn fixed_directory(pattern: &str) -> &str {
    let wildcard = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    let fixed = pattern.get(..wildcard).unwrap_or_default();
    fixed.rsplit_once('/').map_or("/", |(directory, _)| directory)
}

const fn as_command(access: &Access) -> Option<&ExecAccess> {
    match access {
        Access::Exec(command) => Some(command),
        _ => None,
    }
}

/// Returns the parts of a word that may be paths. A word is a path unless it is an option. A value
/// in an option or after `=`, `:`, `,` or `@` is one if it looks like a path or exists.
fn path_parts<'a>(word: &'a str, cwd: &AbsPath) -> Vec<&'a str> {
    let looks_like_path = |part: &str| {
        part.contains('/')
            || part == ".."
            || std::fs::symlink_metadata(cwd.join(part).as_str()).is_ok()
    };
    let (is_option, value) = match word.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start_matches('-')),
        None => (false, word),
    };
    let inner = value.split(['=', ':', ',', '@']).filter(|part| !part.is_empty());
    let mut parts: Vec<_> = inner.filter(|part| looks_like_path(part)).collect();
    if is_option {
        // A value may follow the letter of an option directly.
        let attached = value.char_indices().nth(1).and_then(|(at, _)| value.get(at..));
        parts.extend(attached.filter(|part| looks_like_path(part)));
    } else {
        parts.push(word);
    }
    parts
}
