//! The places where configuration names programs in the writable directories. They are found before
//! a run and checked again after it.

use std::path::{Path, PathBuf};

use crate::protected_paths::named_programs::{
    find_module_directories, find_named_directories, find_named_files, find_named_programs,
    find_settings_programs,
};

/// A source that can name programs, with the directories in which these are searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProgramSource {
    /// A command of a configuration. Every file that it names is run, or is read by a program that
    /// is run.
    Command { text: String, bases: Vec<PathBuf> },
    /// A configuration file, or a directory of hooks or settings. Of the files that it names, only
    /// programs and scripts are used.
    Files { path: PathBuf, bases: Vec<PathBuf> },
    /// A settings file of the user, outside of the writable directories.
    UserSettings { path: PathBuf, bases: Vec<PathBuf> },
}

impl ProgramSource {
    /// Returns the existing files that the source names.
    pub(crate) fn find_programs(&self) -> Vec<PathBuf> {
        match self {
            Self::Command { text, bases } => {
                let named = find_named_directories(text, bases);
                let bases = bases.iter().chain(&named).map(PathBuf::as_path).collect::<Vec<_>>();
                find_named_files(text, &bases)
            }
            Self::UserSettings { path, bases } => find_settings_programs(path, &as_paths(bases)),
            Self::Files { path, bases } => find_named_programs(path, &as_paths(bases)),
        }
    }

    /// Returns the directories from which its interpreters load every module that exists.
    pub(crate) fn find_module_directories(&self) -> Vec<PathBuf> {
        match self {
            Self::Command { text, bases } => find_module_directories(text, bases),
            Self::Files { .. } | Self::UserSettings { .. } => Vec::new(),
        }
    }

    /// Returns the program of a command if it is named by a relative path and does not exist. A
    /// file that is created there is run.
    pub(crate) fn find_missing_program(&self) -> Option<PathBuf> {
        let Self::Command { text, bases } = self else { return None };
        let first = text.trim_start_matches('!').split_ascii_whitespace().next()?;
        let relative = first.contains('/') && !first.starts_with(['/', '~', '$', '"', '\'']);
        let path = bases.first()?.join(first.strip_prefix("./").unwrap_or(first));
        let plain = !first.contains("..") && !first.contains("//") && !first.contains(':');
        let missing = path.symlink_metadata().is_err() && path.parent().is_some_and(Path::is_dir);
        (relative && plain && missing).then_some(path)
    }
}

fn as_paths(paths: &[PathBuf]) -> Vec<&Path> {
    paths.iter().map(PathBuf::as_path).collect()
}
