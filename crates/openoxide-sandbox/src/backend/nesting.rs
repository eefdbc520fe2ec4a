//! Detection of a sandbox of OpenOxide around this process.

use std::{ffi::CStr, fs};

/// The name of the first process inside a sandbox (`/proc/1/comm`). No other process of the sandbox
/// can change it.
pub(crate) const INIT_NAME: &CStr = c"openoxide-init";

/// Returns whether this process is in a sandbox of OpenOxide.
///
/// In it, no other one can be made: a new user namespace would give the program capabilities. The
/// answer decides only about a message, and whether to run nothing.
#[must_use]
pub fn is_in_sandbox() -> bool {
    let name = fs::read("/proc/1/comm").unwrap_or_default();
    name.trim_ascii_end() == INIT_NAME.to_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_not_truncated_by_the_kernel() {
        assert!(INIT_NAME.to_bytes().len() < 16, "TASK_COMM_LEN");
    }
}
