//! Codex: its rule files, hooks, approval requests and exact decisions.
//!
//! A rule file (`*.rules`) is translated into a layer or evaluated exactly as Codex does
//! ([`exact_semantics`]). [`app_server`] contains the messages of its app server, and
//! [`approval_review`] translates the approval requests. [`app_server_client`] connects to
//! a server. It is the only module that does I/O.
//!
//! A rule names the first words of a command. If several rules match, the most restrictive one
//! decides. The language is Starlark. Plain calls of the three functions are parsed here.
//! Everything else is evaluated by the language itself (`exact_semantics::RuleFileEvaluator`),
//! which is in a separate crate. Facts: Codex 0.169.
#![forbid(unsafe_code)]

pub mod app_server;
pub mod app_server_client;
pub mod approval_review;
pub mod exact_semantics;
pub mod file_change;
pub mod hook;
pub mod mode_table;
mod plain_rules;
pub mod review_decision;
mod rule_arguments;
mod rule_calls;
mod rule_file_export;
mod rule_file_layer;
mod rule_file_reader;
mod rule_lexer;
mod sandbox_exit;
mod script_patches;
mod shells;
mod string_literals;
pub mod wiring;

pub use rule_file_export::render_rule_file;
pub use rule_file_layer::translate_rule_file;
pub use sandbox_exit::may_leave_sandbox;
pub use script_patches::find_patched_files;
pub use shells::find_shell_difference;

#[cfg(test)]
mod tests;
