//! Evaluation of Codex rule files that contain more than plain calls: Starlark, evaluated as in
//! Codex.
//!
//! A rule file is a program, and a project may have written it. It is therefore evaluated by a
//! separate program (`openoxide-starlark`), which is limited in time and memory and can access only
//! its input and output. `openoxide` itself is started for every call of an agent and does not
//! contain the language.
#![forbid(unsafe_code)]

mod evaluation;
mod evaluation_service;
mod nesting_depth;
mod rule_functions;

pub use evaluation::evaluate_rule_file;
pub use evaluation_service::serve_evaluation;

#[cfg(test)]
mod tests;
