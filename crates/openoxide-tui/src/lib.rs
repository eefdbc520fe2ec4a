//! Shows a person what an agent wants to do, in the terminal, and reads the answer.
//!
//! It never decides: it imports the protocol alone, so it cannot, and whatever is not plainly a yes is none. What an
//! agent wrote never reaches the terminal but through [`visible`].
//!
//! ```
//! use openoxide_protocol::ApprovalRequest;
//! use openoxide_tui::{RenderOptions, render};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let json = include_str!("samples/push.json");
//! let request: ApprovalRequest = serde_json::from_str(json)?;
//! let text = render(&request, &RenderOptions { width: 60, ..RenderOptions::default() });
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
