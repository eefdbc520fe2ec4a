//! Paths as a person sees them.

use openoxide_protocol::AbsPath;
use openoxide_tui::{LineMode, escape_text};

/// A path that a person can read, whatever it holds.
pub(super) fn to_visible_line(text: &str) -> String {
    escape_text(text, LineMode::SingleLine)
}

/// The path from the working directory on, as a person can read it.
pub(super) fn display_path(path: &AbsPath, cwd: &AbsPath) -> String {
    to_visible_line(path.strip_prefix(cwd).filter(|rest| !rest.is_empty()).unwrap_or(path.as_str()))
}
