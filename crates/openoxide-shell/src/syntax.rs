//! The parser for bash's grammar. It produces a syntax tree, or the position at which it gave up.
//!
//! The parser is stricter than bash. It accepts nothing that it would have to guess about. If there
//! are two possible readings, or if bash's own reading depends on its version or options, it stops
//! with a `Fault`, and the walk makes the script opaque.

mod arithmetic;
pub(crate) mod brace_expansion;
mod byte_classes;
mod command_lists;
mod common_operands;
mod compound_commands;
mod conditional_expressions;
mod dollar_expansions;
mod here_documents;
mod parser_cursor;
mod plain_scripts;
mod quoting;
mod redirections;
mod simple_commands;
pub(crate) mod syntax_tree;
mod words;

pub(crate) use byte_classes::is_name;
pub(crate) use parser_cursor::{MAX_DEPTH, parse_script};
pub(crate) use plain_scripts::split_plain_words;
