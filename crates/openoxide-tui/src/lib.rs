//! Display of an agent's requests to a person in the terminal, and reading of the answers.
//!
//! This crate never decides: it only depends on the protocol. Any input that is not clearly an
//! approval does not approve. Text written by an agent only reaches the terminal through
//! [`escape_text`].
//!
//! ```
//! use openoxide_protocol::ApprovalRequest;
//! use openoxide_tui::{RenderOptions, render_prompt};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let json = include_str!("samples/push.json");
//! let request: ApprovalRequest = serde_json::from_str(json)?;
//! let text = render_prompt(&request, &RenderOptions { width: 60, ..RenderOptions::default() });
//! assert!(text.contains("$ git push --force origin main"));
//! assert!(text.contains("[y] yes, once"));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod inline;
#[cfg(test)]
mod samples;
mod style;
mod text_wrap;

pub use inline::{
    AnswerOption, AskError, AskOptions, BatchPosition, HistoryLookup, InputMode, RenderOptions,
    ask, ask_choice, ask_group, ask_lines, can_ask, render_prompt, render_request,
};
pub use openoxide_protocol::escape::{LineMode, escape_text};
pub use style::TextStyle;
