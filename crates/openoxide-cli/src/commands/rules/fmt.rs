//! `rules fmt`: one layout for all policy files.

use openoxide_permission::{LayerKind, PathAnchors};
use openoxide_store::{FileLock, UserEnvironment, policy_edit};
use openoxide_tui::{LineMode, escape_text};

use super::policy_texts::{self, PolicyText};
use crate::{
    args::{FmtArgs, GlobalArgs},
    error::{
        CliError,
        file_error::{FileError, FileProblem},
    },
    program_exit::ProgramExit,
    user_messages,
};

/// Formats each file, or lists those that would change.
pub(super) fn format_files(args: &FmtArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    let lock =
        (!args.check).then(|| FileLock::acquire_policy_lock(&UserEnvironment::from_process()));
    let _lock = lock.transpose()?;
    let (mut text, mut exit) = (String::new(), ProgramExit::Success);
    for file in policy_texts::read_native_policies(&args.files)? {
        if let Err(broken) = file.check_problems(global) {
            exit = broken;
            continue;
        }
        let new = format_text(&file)?;
        let administered = args.files.is_empty() && file.source.kind == LayerKind::Managed;
        if administered || new == file.text {
            continue;
        }
        text.extend([format!("{}\n", escape_text(&file.display_path, LineMode::SingleLine))]);
        if args.check {
            exit = if exit == ProgramExit::Success { ProgramExit::Failure } else { exit };
        } else {
            let write = policy_edit::replace_file(&file.source.path, &new);
            write.map_err(|error| {
                FileError::new(&file.display_path, FileProblem::Unwritable(error))
            })?;
        }
    }
    Ok(user_messages::print_data(&text, exit))
}

/// Returns the formatted text, after checking that it decides the same.
fn format_text(file: &PolicyText) -> Result<String, FileError> {
    let new = policy_edit::format_policy(&file.text)
        .map_err(|error| FileError::new(&file.display_path, error))?;
    let home = UserEnvironment::from_process().home;
    let anchors = PathAnchors { home: home.as_ref(), base: &file.source.base };
    match new == file.text || policy_edit::is_equivalent_policy(&file.text, &new, anchors) {
        true => Ok(new),
        false => Err(FileError::new(&file.display_path, FileProblem::LayoutChangesMeaning)),
    }
}
