//! Reading settings of agents. A project can put anything in the place of its settings, so only
//! regular files of a limited size are read.

use std::path::Path;

use openoxide_store::FileReadError;
use serde_json::Value;

const MAX_BYTES: u64 = 4 << 20;

/// Returns the text of a file, or nothing if it does not exist.
///
/// # Errors
/// Returns a message if the file cannot be read.
pub(super) fn read_text(file: &Path) -> Result<Option<String>, String> {
    match openoxide_store::read_text(file, MAX_BYTES) {
        Err(FileReadError::Missing) => Ok(None),
        read => read.map(Some).map_err(|error| error.to_string()),
    }
}

/// Returns the content of a JSON file, or nothing if it does not exist. An empty file is null.
///
/// # Errors
/// Returns a message if the file cannot be read or parsed.
pub(super) fn read_json(file: &Path) -> Result<Option<Value>, String> {
    let parse = |text: String| match text.trim() {
        "" => Ok(Value::Null),
        text => serde_json::from_str(text).map_err(|error| error.to_string()),
    };
    read_text(file)?.map(parse).transpose()
}
