//! Display of paths.

use openoxide_protocol::AbsPath;
use openoxide_tui::{LineMode, escape_text};

/// Returns a path with control characters escaped.
pub(super) fn to_visible_line(text: &str) -> String {
    escape_text(text, LineMode::SingleLine)
}

/// Returns the path relative to the working directory, with control characters escaped.
pub(super) fn display_path(path: &AbsPath, cwd: &AbsPath) -> String {
    to_visible_line(path.strip_prefix(cwd).filter(|rest| !rest.is_empty()).unwrap_or(path.as_str()))
}
