//! Rule files of Codex that are more than plain calls: Starlark, evaluated as Codex does.
//!
//! A rule file is a program, and a project may have written it. So it is evaluated by a program of its own
//! (`openoxide-starlark`), which is bounded in time and memory and can reach nothing but its input and output; and `openoxide`
//! itself, which is started for every call of an agent, does not carry the language.
#![forbid(unsafe_code)]

mod evaluation;
mod evaluation_service;
mod nesting_depth;
mod rule_functions;

pub use evaluation::evaluate_rule_file;
pub use evaluation_service::serve_evaluation;

#[cfg(test)]
mod tests;
