//! Foreign agents' bytes to and from OpenOxide's nouns.
//!
//! One module for each foreign system. This crate translates, and where a foreign policy is meant to the letter, it answers
//! as its program would; it touches no file and asks for what it must know of the disk ([`policy_translation::DiskLookup`]).
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
mod shell_quote;
pub mod tool_action;
pub mod tool_input_error;
pub mod wiring;

pub use shell_quote::quote_words;
