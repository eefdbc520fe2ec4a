//! Codex's rule files (`*.rules`) as a layer, and to the letter (`exact`).
//!
//! A rule names the first words of a command; of all that match, the most restrictive decides. The language is Starlark's:
//! plain calls of the three functions are read here, and for all else the language itself is asked (`exact::Language`), which is a
//! crate of its own. Facts: Codex 0.169.

pub mod app_server;
pub mod approval_review;
mod evaluated_rules;
pub mod exact_semantics;
pub mod hook;
mod plain_rules;
mod rule_calls;
mod rule_file_export;
mod rule_file_layer;
mod rule_lexer;
mod script_patches;
mod shells;
mod string_literals;
pub mod wiring;

pub use rule_file_export::render_rule_file;
pub use rule_file_layer::translate_rule_file;
pub use script_patches::find_patched_files;
pub use shells::shell_doubt;

#[cfg(test)]
mod tests;
