//! Bash's grammar: from text to a tree, or to the place where this reader gave up.
//!
//! The reader is stricter than bash. It accepts nothing that it would have to guess about: where two readings are
//! possible, or where bash's own reading depends on its version or options, it stops with a `Fault`, and the walk
//! makes the script opaque.

mod arithmetic;
mod bytes;
mod command;
mod compound;
mod condition;
mod cursor;
mod dollar;
mod heredoc;
mod operand;
mod plain;
mod quote;
mod redirect;
mod simple;
pub(crate) mod tree;
mod word;

pub(crate) use bytes::is_name;
pub(crate) use cursor::{MAX_DEPTH, parse};
pub(crate) use plain::plain_words;
