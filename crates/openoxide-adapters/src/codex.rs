//! Codex's rule files (`*.rules`), as far as they are plain calls, as a layer.
//!
//! A rule names the first words of a command; of all that match, the most restrictive decides. The language is Starlark's;
//! what is not a plain call of the three functions is an error, and never guessed at. Facts: Codex 0.169.

mod calls;
pub mod hook;
mod layer;
mod lexer;
mod rules;
mod text;
pub mod wire;
mod write;

pub use layer::translate;
pub use write::write;

#[cfg(test)]
mod tests;
