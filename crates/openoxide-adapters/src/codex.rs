//! Codex's rule files (`*.rules`) as a layer, and to the letter (`exact`).
//!
//! A rule names the first words of a command; of all that match, the most restrictive decides. The language is Starlark's:
//! plain calls of the three functions are read here, and for all else the language itself is asked (`exact::Language`), which is a
//! crate of its own. Facts: Codex 0.169.

mod calls;
mod evaluated;
pub mod exact;
pub mod hook;
mod in_script;
mod layer;
mod lexer;
pub mod review;
mod rules;
mod shells;
mod text;
pub mod wire;
pub mod wiring;
mod write;

pub use in_script::patched;
pub use layer::translate;
pub use shells::shell_doubt;
pub use write::write;

#[cfg(test)]
mod tests;
