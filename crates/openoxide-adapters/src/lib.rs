//! Translation between the formats of other agents and OpenOxide's types.
//!
//! There is one module for each agent or format. Some modules also reproduce exactly how the other
//! program evaluates its policy. This crate accesses no files. It asks for what it must know about
//! the disk ([`policy_translation::DiskLookup`]).
#![forbid(unsafe_code)]

pub mod agent_hook;
pub mod aider;
pub mod claude_code;
mod json_text;
pub mod llm_do;
pub mod mode_tables;
pub mod opencode;
pub mod parsed_script;
pub mod patch_files;
pub mod policy_export;
pub mod policy_translation;
mod search_filter;
mod shell_quote;
pub mod tool_action;
pub mod tool_input_error;
pub mod wiring;

pub use search_filter::is_plain_filter;
pub use shell_quote::quote_words;
