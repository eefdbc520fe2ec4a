//! The files that a script may have edited when one of its commands starts.
//!
//! Whether a command is read-only depends on files, such as the repository that git finds or the
//! settings that a tool reads. The disk shows their state before the script. Files that the script
//! edits, or may edit, have to be added.

use std::path::{Path, PathBuf};

use openoxide_protocol::{
    AbsPath, Access, CommandClass, CommandWords, ExecAccess, PathAccess, Span,
    steering_files::{SteeringFile, all_steering_files},
};
use openoxide_shell::ScriptSequence;

/// The edits of a script, with the part of the script that makes each.
#[derive(Debug, Default)]
pub(crate) struct ScriptEdits {
    sequence: ScriptSequence,
    paths: Vec<(usize, Span, AbsPath)>,
    /// The parts that start an unknown program, with its words. It may edit any file.
    unknown_programs: Vec<(usize, Span, CommandWords)>,
}

/// The files that may have been edited before one command starts.
#[derive(Debug)]
pub(crate) enum PriorEdits<'a> {
    /// These paths and everything below them.
    Paths(Vec<&'a AbsPath>),
    /// Any file.
    Anything,
}

impl ScriptEdits {
    /// Collects the edits among the accesses of a script.
    pub(crate) fn collect(script: &str, accesses: &[Access]) -> Self {
        let edits_or_runs = |access: &&Access| matches!(access, Access::Exec(_) | Access::Edit(_));
        // A single command cannot edit anything before itself.
        if accesses.iter().filter(edits_or_runs).count() < 2 {
            return Self::default();
        }
        let mut edits = Self { sequence: ScriptSequence::from_script(script), ..Self::default() };
        accesses.iter().for_each(|access| edits.add_edits(access));
        edits
    }

    fn add_edits(&mut self, access: &Access) {
        match access {
            Access::Edit(path) => {
                let part = self.sequence.part_index_at(path.span);
                self.paths.extend(edited_paths(path).map(|edited| (part, path.span, edited)));
            }
            Access::Exec(exec) if exec.class == CommandClass::Unknown => {
                let part = self.sequence.part_index_at(exec.span);
                self.unknown_programs.push((part, exec.span, exec.argv.clone()));
            }
            Access::Exec(_)
            | Access::Read(_)
            | Access::Fetch { .. }
            | Access::Socket(_)
            | Access::CallTool { .. }
            | Access::Delegate { .. }
            | Access::Repetition { .. }
            | Access::ExternalDirectory(_)
            | Access::Opaque { .. } => {}
        }
    }

    /// Returns the files that may have been edited when this command starts.
    pub(crate) fn edits_before(&self, exec: &ExecAccess) -> PriorEdits<'_> {
        self.before_without(exec, None)
    }

    /// Like [`Self::edits_before`], without the edits of the command itself.
    pub(crate) fn before_by_others(&self, exec: &ExecAccess) -> PriorEdits<'_> {
        self.before_without(exec, Some(exec.span))
    }

    fn before_without(&self, exec: &ExecAccess, own: Option<Span>) -> PriorEdits<'_> {
        let part = match exec.span {
            span if span == Span::default() => usize::MAX,
            span => self.sequence.part_index_at(span),
        };
        let counts = |started_in: usize, span: Span| started_in <= part && own != Some(span);
        let is_before = |(started_in, span, argv): &(usize, Span, CommandWords)| {
            counts(*started_in, *span) && !carries_command(&exec.argv, argv)
        };
        if self.unknown_programs.iter().any(is_before) {
            return PriorEdits::Anything;
        }
        let earlier = self.paths.iter().filter(|(edited_in, span, _)| counts(*edited_in, *span));
        PriorEdits::Paths(earlier.map(|(_, _, path)| path).collect())
    }
}

/// Returns whether a command is a wrapper that starts the other command. The other command is
/// checked separately.
fn carries_command(wrapper: &CommandWords, carried: &CommandWords) -> bool {
    // Each word ends with a NUL.
    let before = wrapper.as_bytes().strip_suffix(carried.as_bytes());
    before.is_some_and(|before| before.ends_with(&[0]))
}

/// Returns the paths that an edit may change. A shell pattern is replaced by the directory that it
/// searches.
fn edited_paths(path: &PathAccess) -> impl Iterator<Item = AbsPath> {
    let is_pattern = path.is_pattern;
    path.paths().map(move |spelling| match spelling.as_str().find(['*', '?', '[']) {
        Some(wild) if is_pattern => {
            let fixed = spelling.as_str().get(..wild).unwrap_or("/");
            let directory = fixed.rsplit_once('/').map_or("/", |(directory, _)| directory);
            AbsPath::root().join(directory)
        }
        _ => spelling.clone(),
    })
}

impl PriorEdits<'_> {
    /// Returns whether no file can have been edited.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Paths(paths) if paths.is_empty())
    }

    /// Returns whether this path can have been created, changed or replaced: it was edited, or it
    /// is above or below an edited path.
    pub(crate) fn may_change(&self, path: &Path) -> bool {
        match self {
            Self::Anything => true,
            Self::Paths(edited) => {
                let plain = path.to_str().filter(|text| is_plain_path(text));
                edited.iter().any(|edited| match plain {
                    Some(path) => {
                        is_within(path, edited.as_str()) || is_within(edited.as_str(), path)
                    }
                    None => {
                        let edited = Path::new(edited.as_str());
                        path.starts_with(edited) || edited.starts_with(path)
                    }
                })
            }
        }
    }

    /// Returns whether a file of this name was edited. It may be found in place of a program.
    pub(crate) fn may_replace(&self, program: &str) -> bool {
        let is_named = |edited: &&AbsPath| edited.file_name() == Some(program);
        matches!(self, Self::Paths(edited) if edited.iter().any(is_named))
    }

    /// Returns whether a steering file of this program can have been edited, if the program works
    /// in one of these directories.
    pub(crate) fn may_steer(&self, program: &str, places: &[PathBuf]) -> bool {
        let mut files = all_steering_files().filter(|file| file.applies_to(program));
        match self {
            Self::Anything => files.next().is_some(),
            Self::Paths(edited) if edited.is_empty() => false,
            Self::Paths(edited) => {
                let files: Vec<&SteeringFile> = files.collect();
                !files.is_empty()
                    && edited.iter().any(|edited| may_be_steering_file(&files, edited, places))
            }
        }
    }
}

/// Returns whether a path has one spelling, so that it can be compared as text. Comparing components
/// takes ten times as long, and a script can have thousands of edits and commands.
fn is_plain_path(path: &str) -> bool {
    !path.contains("//") && !path.contains("/./") && !path.ends_with(['/', '.'])
}

/// Returns whether a path is the other one or below it.
fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || directory.ends_with('/'))
}

/// Returns whether an edited path is one of these steering files, or a directory that can contain
/// one for a program in one of these directories.
fn may_be_steering_file(files: &[&SteeringFile], edited: &AbsPath, places: &[PathBuf]) -> bool {
    let path = Path::new(edited.as_str());
    if places.iter().any(|place| place.starts_with(path)) {
        return true;
    }
    // The edited path as it is seen from each directory above the program.
    let seen = places.iter().flat_map(|place| place.ancestors());
    let seen: Vec<&Path> = seen.filter_map(|above| path.strip_prefix(above).ok()).collect();
    files.iter().any(|file| {
        let pattern = Path::new(file.pattern());
        file.matches(edited)
            || !file.has_wildcard()
                && (seen.iter().any(|seen| pattern.starts_with(seen))
                    || pattern.is_absolute() && pattern.starts_with(path))
    })
}

#[cfg(test)]
mod tests;
