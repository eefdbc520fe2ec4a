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
mod wrap;

pub use inline::{
    AskError, AskOptions, Batch, Input, Offer, Recall, RenderOptions, ask, ask_group, ask_lines,
    can_ask, choose, describe, render,
};
pub use openoxide_protocol::escape::{Lines, visible};
pub use style::Style;
