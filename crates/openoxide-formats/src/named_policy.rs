//! The policy files that a person names.

use std::path::{Path, PathBuf};

use openoxide_protocol::AbsPath;
use openoxide_store::{PolicySource, UserEnvironment};

use crate::{error::NamedPolicyError, policy_program::PolicyProgram, worktree::find_worktree};

/// Returns the policy source for one file that a person named. The hooks of a settings file are
/// programs of the project that contains it, except for the file in the person's own home.
///
/// # Errors
/// If the format is unknown, or the path cannot be made absolute.
pub fn named_policy_source(
    path: &Path,
    format: Option<PolicyProgram>,
    cwd: &AbsPath,
) -> Result<PolicySource, NamedPolicyError> {
    let program = PolicyProgram::detect(path, format)?;
    let path = std::path::absolute(path)
        .map_err(|error| NamedPolicyError::NotAbsolute { path: path.to_owned(), error })?;
    let mut source =
        PolicySource { format: program.policy_format(), ..PolicySource::from_command_line(path) };
    // OpenCode resolves paths from the root of the repository, Claude Code from the directory that
    // contains `.claude`.
    match program {
        PolicyProgram::Native | PolicyProgram::Codex | PolicyProgram::LlmDo => {}
        PolicyProgram::Opencode => source.base = find_worktree(cwd).unwrap_or_else(AbsPath::root),
        PolicyProgram::Claude => {
            let own = user_settings_directory();
            if source.base.file_name() == Some(".claude") {
                source.base = source.base.parent().unwrap_or_else(AbsPath::root);
            }
            source.hook_project =
                (source.path.parent() != own.as_deref()).then(|| source.base.clone());
        }
    }
    Ok(source)
}

/// Returns the directory of a person's own settings of Claude Code.
fn user_settings_directory() -> Option<PathBuf> {
    UserEnvironment::from_process().home.map(|home| Path::new(home.as_str()).join(".claude"))
}
