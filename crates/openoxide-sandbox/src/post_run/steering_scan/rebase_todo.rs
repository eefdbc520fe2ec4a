//! The remaining steps of a rebase (git-rebase(1), "Interactive mode"). An `exec` step runs a
//! command when the rebase continues.

use std::{fs::File, io::Read as _, path::Path};

/// The maximum size of a list. A longer list is treated as if it ran a command.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Returns whether the list runs a command, or cannot be read completely.
pub(super) fn has_exec_line(path: &Path) -> bool {
    read_text(path).is_none_or(|text| text.lines().any(is_exec_line))
}

fn is_exec_line(line: &str) -> bool {
    matches!(line.split_ascii_whitespace().next(), Some("exec" | "x"))
}

fn read_text(path: &Path) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let length = File::open(path).ok()?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).ok()?;
    let whole = u64::try_from(length).is_ok_and(|length| length <= MAX_FILE_BYTES);
    whole.then(|| String::from_utf8_lossy(&bytes).into_owned())
}
