//! The state that is certain at one point of the script.

use openoxide_protocol::AbsPath;

use super::{value_text::is_arithmetic_number, working_directories::CwdSet};
use crate::programs::WordSource;

/// The certain state at one point.
#[derive(Clone, Debug, Default)]
pub(super) struct WalkState {
    pub(super) working_directories: CwdSet,
    pub(super) variables: KnownVariables,
    /// Whether the shell has exited. Commands after this point do not run.
    pub(super) has_exited: bool,
}

/// The variables whose values are certain.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownVariables(Vec<(String, KnownValue)>);

/// The certain facts about a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KnownValue {
    /// A known text.
    Text(String),
    /// A number.
    Number,
    /// Digits and blanks that the script has assigned, or an empty value.
    Digits,
    /// The name of one of these files.
    Files(WordSource),
    /// Text that the script has assigned, instead of the value that the script was started with.
    Own,
}

impl WalkState {
    /// Records that the working directory is one of `directories` from here on. The script starts
    /// in `start`.
    pub(super) fn enter_directories(&mut self, directories: Vec<AbsPath>, start: &AbsPath) {
        self.working_directories.set_directories(directories, start);
        self.variables.forget_printed_files();
    }

    /// Records that the working directory is unknown from here on.
    pub(super) fn forget_working_directory(&mut self) {
        self.working_directories.set_unknown();
        self.variables.forget_printed_files();
    }

    /// Keeps the facts that are certain in both states.
    pub(super) fn merge_branch(&mut self, other: Self) {
        if other.has_exited {
            return;
        }
        if self.has_exited {
            *self = other;
            return;
        }
        self.working_directories.merge_branch(other.working_directories);
        self.variables.merge_branch(&other.variables);
    }
}

impl KnownValue {
    /// Returns whether the script assigned this value and arithmetic evaluates it to itself.
    pub(super) fn is_numeric(&self) -> bool {
        match self {
            Self::Text(text) => is_arithmetic_number(text),
            Self::Number | Self::Digits => true,
            Self::Files(_) | Self::Own => false,
        }
    }
}

impl KnownVariables {
    pub(super) fn get(&self, name: &str) -> Option<&KnownValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(super) fn set(&mut self, name: &str, value: KnownValue) {
        self.forget(name);
        self.0.push((name.to_owned(), value));
    }

    pub(super) fn forget(&mut self, name: &str) {
        self.0.retain(|(key, _)| key != name);
    }

    /// Drops names of files that a program has printed. In another directory, they name different
    /// files.
    fn forget_printed_files(&mut self) {
        self.retain(
            |_, value| !matches!(value, KnownValue::Files(paths) if !paths.is_listed_in_script()),
        );
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Reduces a value to the fact that it is numeric, or forgets it.
    pub(super) fn weaken(&mut self, name: &str) {
        if self.get(name).is_some_and(KnownValue::is_numeric) {
            self.set(name, KnownValue::Digits);
        } else {
            self.forget(name);
        }
    }

    /// Keeps the values of some names. Of the others, it keeps only the fact that they are numeric,
    /// for the names that `stay_numeric`.
    pub(super) fn retain_or_weaken(
        &mut self,
        keep: impl Fn(&str) -> bool,
        stay_numeric: impl Fn(&str) -> bool,
    ) {
        self.0.retain_mut(|(name, value)| {
            if keep(name) {
                return true;
            }
            let numeric = value.is_numeric() && stay_numeric(name);
            if numeric {
                *value = KnownValue::Digits;
            }
            numeric
        });
    }

    /// Reduces all values to the fact that they are numeric, for the names that `stay_numeric`.
    /// Forgets the others.
    pub(super) fn weaken_all(&mut self, stay_numeric: impl Fn(&str) -> bool) {
        self.retain_or_weaken(|_| false, stay_numeric);
    }

    /// Keeps the facts that are certain in both states.
    fn merge_branch(&mut self, other: &Self) {
        self.0.retain_mut(|(name, value)| match other.get(name) {
            Some(same) if same == value => true,
            Some(another) if another.is_numeric() && value.is_numeric() => {
                *value = KnownValue::Digits;
                true
            }
            _ => false,
        });
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&str, &KnownValue) -> bool) {
        self.0.retain(|(name, value)| keep(name, value));
    }
}
