//! Foreign agents' bytes to and from OpenOxide's nouns.
//!
//! One module for each foreign system. This crate translates; it reads no file and decides nothing.
#![forbid(unsafe_code)]

pub mod claude_code;
mod patch;
mod quote;
pub mod tool;

pub use quote::quote;
