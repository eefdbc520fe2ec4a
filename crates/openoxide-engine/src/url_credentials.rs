//! Credentials in the URLs of configuration files.

use std::path::Path;

use openoxide_store::{FileReadError, read_regular_file};

/// The maximum size of a configuration that is examined.
pub(crate) const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Returns whether a configuration contains a URL with credentials, or a header with a token. A file
/// that is too long may contain some.
pub(crate) fn file_has_credentials(path: &Path) -> bool {
    let bytes = match read_regular_file(path, MAX_CONFIG_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => return matches!(error, FileReadError::TooLong(_)),
    };
    let text = String::from_utf8_lossy(&bytes);
    text.lines().any(|line| line.to_ascii_lowercase().contains("extraheader") || has_password(line))
}

/// Returns whether a line contains a URL with a password (`https://user:secret@host/`) or with a
/// token in place of the user.
pub(crate) fn has_password(line: &str) -> bool {
    line.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', '"', ' ']).next().unwrap_or_default();
        let before = line.split("://").next().unwrap_or_default();
        host.rsplit_once('@').is_some_and(|(user, _)| {
            user.contains(':')
                || before.trim_end().ends_with("http")
                || before.trim_end().ends_with("https")
        })
    })
}
