//! The languages, with the programs that understand them, and what their generator puts together.

use super::{awk::AWK, jq::JQ, sed::SED, sql::SQL};

/// The languages in their order.
pub(crate) const LANGUAGES: [Language; 4] = [AWK, JQ, SED, SQL];

/// One language.
#[derive(Debug)]
pub(crate) struct Language {
    pub(crate) name: &'static str,
    /// The programs that understand it.
    pub(crate) implementations: &'static [Implementation],
    /// How much processor time a program gets: many times what it needs.
    pub(crate) milliseconds: u32,
    /// The name under which the analysis is asked, with the words before the program: one of these.
    pub(crate) commands: &'static [&'static [&'static str]],
    /// The words behind the program.
    pub(crate) files: &'static [&'static str],
    /// Programs of every day.
    pub(crate) everyday: &'static [&'static str],
    /// Programs that run, write or reach, or that once were taken for harmless.
    pub(crate) hostile: &'static [&'static str],
    /// What is put into programs, and what they are made of.
    pub(crate) pieces: &'static [&'static str],
    /// What may be around two programs, at `@@`.
    pub(crate) frames: &'static [&'static str],
}

/// A program that understands a language.
#[derive(Debug)]
pub(crate) struct Implementation {
    /// The name of its file on the search path.
    pub(crate) file: &'static str,
    /// The name by which it is called, and words before all others.
    pub(crate) called: &'static [&'static str],
    /// What must be found before a search begins.
    pub(crate) violations: &'static [Violation],
}

/// Words that do on purpose what the fuzzers look for, and what must be told of them.
pub(crate) type Violation = (&'static [&'static str], &'static str);

/// Returns an implementation.
pub(crate) const fn program(
    file: &'static str,
    called: &'static [&'static str],
    violations: &'static [Violation],
) -> Implementation {
    Implementation { file, called, violations }
}
