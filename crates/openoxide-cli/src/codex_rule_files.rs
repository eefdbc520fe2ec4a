//! Rule files of Codex, read as Codex reads them.

use std::{
    env,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use openoxide_codex::exact_semantics::{ExecPolicy, LaunchContext, MAX_RULE_FILE_SIZE};

use crate::error::codex_error::CodexPolicyError;

/// Returns the absolute path of a directory, and the home directory.
pub(crate) fn absolute_directory_and_home(
    directory: &Path,
) -> Result<(String, Option<String>), CodexPolicyError> {
    let here = std::path::absolute(directory).map_err(CodexPolicyError::UnknownDirectory)?;
    Ok((here.to_string_lossy().into_owned(), env::var("HOME").ok()))
}

/// Reads rule files as Codex does.
///
/// # Errors
///
/// If a file cannot be read, or Codex would reject it.
pub(crate) fn read_rule_files(
    files: &[PathBuf],
    place: &LaunchContext<'_>,
) -> Result<ExecPolicy, CodexPolicyError> {
    let mut policy = ExecPolicy::default();
    files.iter().try_for_each(|path| add_rule_file(&mut policy, path, place))?;
    Ok(policy)
}

fn add_rule_file(
    policy: &mut ExecPolicy,
    path: &Path,
    place: &LaunchContext<'_>,
) -> Result<(), CodexPolicyError> {
    let text = read_bounded_text(path)?;
    let read = policy.add_source(
        &path.to_string_lossy(),
        &text,
        place,
        openoxide_formats::evaluate_rule_file,
    );
    read.map_err(|error| CodexPolicyError::InvalidRules { path: path.to_owned(), error })
}

/// Reads a text file, but at most one byte more than the maximum size of a rule file.
///
/// # Errors
///
/// If the file cannot be read.
pub(crate) fn read_bounded_text(path: &Path) -> Result<String, CodexPolicyError> {
    let read = || {
        let mut text = String::new();
        File::open(path)?.take(MAX_RULE_FILE_SIZE as u64 + 1).read_to_string(&mut text)?;
        Ok(text)
    };
    read().map_err(|error| CodexPolicyError::Unreadable { path: path.to_owned(), error })
}
