//! Parsing of the text between the parentheses of a rule into programs of [`crate::glob`].

pub mod command;
pub mod host;
pub mod path;
pub mod socket;
pub mod tool;

use crate::glob::Glob;

/// A parsed pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedPattern {
    /// The program.
    pub glob: Glob,
    /// True if the pattern contains no wildcard.
    pub is_literal: bool,
}
