//! Runs inside a sandbox of OpenOxide.

use openoxide_sandbox::SandboxError;

use crate::{program_exit::ProgramExit, user_messages};

/// Reports that nothing was run, because this process is in a sandbox of OpenOxide. Another one
/// could promise less than the arguments require: its profile can be narrower than that of the
/// sandbox around it, so the command is not simply run in that one.
pub(crate) fn report_nesting(verb: &str) -> ProgramExit {
    user_messages::print_error(&format!("nothing was run: {}", SandboxError::Nested));
    user_messages::print_note(&format!(
        "run the command itself, without `openoxide {verb}`: this sandbox confines it, too"
    ));
    ProgramExit::RunFailed
}
