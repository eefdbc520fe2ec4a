//! The languages, with their implementations and the parts of generated programs.

use super::{awk::AWK, jq::JQ, sed::SED, sql::SQL};

/// The languages in their order.
pub(crate) const LANGUAGES: [Language; 4] = [AWK, JQ, SED, SQL];

/// One language.
#[derive(Debug)]
pub(crate) struct Language {
    pub(crate) name: &'static str,
    /// The implementations.
    pub(crate) implementations: &'static [Implementation],
    /// The limit of processor time, many times the usual value.
    pub(crate) milliseconds: u32,
    /// The name under which the analysis is asked, with the words before the program: one of these.
    pub(crate) commands: &'static [&'static [&'static str]],
    /// The words after the program.
    pub(crate) files: &'static [&'static str],
    /// Common programs.
    pub(crate) everyday: &'static [&'static str],
    /// Programs that run, write or connect, or that were once found harmless by mistake.
    pub(crate) hostile: &'static [&'static str],
    /// The parts that programs are made of, and that are inserted into programs.
    pub(crate) pieces: &'static [&'static str],
    /// Texts that can surround two programs, which replace `@@`.
    pub(crate) frames: &'static [&'static str],
}

/// A program that understands a language.
#[derive(Debug)]
pub(crate) struct Implementation {
    /// The name of its file on the search path.
    pub(crate) file: &'static str,
    /// The name under which it is started, and words that come before all others.
    pub(crate) called: &'static [&'static str],
    /// The violations that must be found before a search begins.
    pub(crate) violations: &'static [Violation],
}

/// Words that cause a violation on purpose, and the beginning of the report that they must cause.
pub(crate) type Violation = (&'static [&'static str], &'static str);

/// Returns an implementation.
pub(crate) const fn program(
    file: &'static str,
    called: &'static [&'static str],
    violations: &'static [Violation],
) -> Implementation {
    Implementation { file, called, violations }
}
