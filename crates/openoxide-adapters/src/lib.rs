//! Foreign agents' bytes to and from OpenOxide's nouns.
//!
//! One module for each foreign system. This crate translates, and where a foreign policy is meant to the letter, it answers
//! as its program would; it touches no file and asks for what it must know of the disk ([`foreign::Disk`]).
#![forbid(unsafe_code)]

pub mod aider;
pub mod claude_code;
pub mod codex;
pub mod export;
pub mod foreign;
pub mod hook;
mod json_text;
pub mod llm_do;
pub mod modes;
pub mod opencode;
mod patch;
mod quote;
mod script;
pub mod tool;
pub mod wiring;

pub use quote::quote;
