//! The formats of policy files, and the policy files that a person names.
//!
//! OpenOxide reads its own policy files and those of other programs. This crate detects the format
//! of a file and connects each format with its reader. The readers themselves are in the crates
//! `openoxide-adapters`, `openoxide-codex` and `openoxide-store`.
#![forbid(unsafe_code)]

mod error;
mod named_policy;
mod policy_program;
mod starlark_process;
mod worktree;

pub use error::NamedPolicyError;
pub use named_policy::named_policy_source;
pub use policy_program::{PolicyProgram, settings_base_directory, to_policy_problems};
pub use starlark_process::evaluate_rule_file;
pub use worktree::find_worktree;
