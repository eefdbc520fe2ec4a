//! Rule files of Codex, read as Codex reads them.

use std::{
    env,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use openoxide_codex::exact_semantics::{ExecPolicy, LaunchContext, MAX_RULE_FILE_SIZE};

use crate::starlark_process;

/// Returns the absolute path of a directory, and the home directory.
pub(crate) fn absolute_directory_and_home(
    directory: &Path,
) -> Result<(String, Option<String>), String> {
    let here = std::path::absolute(directory).map_err(|error| format!("Error: {error}"))?;
    Ok((here.to_string_lossy().into_owned(), env::var("HOME").ok()))
}

/// Reads rule files as Codex does.
///
/// # Errors
/// When one cannot be read, or Codex would not take it, in its words.
pub(crate) fn read_rule_files(
    files: &[PathBuf],
    place: &LaunchContext<'_>,
) -> Result<ExecPolicy, String> {
    let mut policy = ExecPolicy::default();
    files.iter().try_for_each(|path| add_rule_file(&mut policy, path, place))?;
    Ok(policy)
}

fn add_rule_file(
    policy: &mut ExecPolicy,
    path: &Path,
    place: &LaunchContext<'_>,
) -> Result<(), String> {
    let text = read_bounded_text(path)
        .map_err(|error| format_read_error("read", path, &error.to_string()))?;
    let read = policy.add_source(
        &path.to_string_lossy(),
        &text,
        place,
        starlark_process::evaluate_rule_file,
    );
    read.map_err(|error| format_read_error("parse", path, &error.message))
}

/// Reads a file, and no more of it than one byte too much.
pub(crate) fn read_bounded_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_RULE_FILE_SIZE as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns an error message in the format of Codex. Each line of the cause is indented, including
/// an empty last one.
pub(crate) fn format_read_error(what: &str, path: &Path, cause: &str) -> String {
    let cause = cause.replace('\n', "\n    ");
    format!("Error: failed to {what} policy at {}\n\nCaused by:\n    {cause}", path.display())
}
