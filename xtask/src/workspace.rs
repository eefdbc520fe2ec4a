//! The workspace: its directory, its cargo, and the programs that cargo builds.

use std::{
    env,
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::Failure;

/// Returns the root of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Returns the directories of the crates, sorted by name. This task runner is not one of them.
///
/// # Errors
/// Returns an error if the directory of the crates cannot be read.
pub(crate) fn crate_directories() -> Result<Vec<PathBuf>, Failure> {
    sorted_entries(&root().join("crates"))
}

/// Returns the paths of the entries of `directory`, sorted by name.
///
/// # Errors
/// Returns an error if `directory` cannot be read.
pub(crate) fn sorted_entries(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(directory)
        .map_err(|error| Failure::Work(format!("{}: {error}", directory.display())))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// Reads and parses a Rust source file.
///
/// # Errors
/// Returns an error with the path if the file cannot be read or parsed.
pub(crate) fn parse_source(path: &Path) -> Result<syn::File, Failure> {
    let failure = |error: &dyn Display| Failure::Work(format!("{}: {error}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| failure(&error))?;
    syn::parse_file(&text).map_err(|error| failure(&error))
}

/// Returns the target directory of cargo, which the tasks use, too.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns a command for the cargo that runs this task, in the root of the workspace.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// Builds the release program of `package`, and returns its path.
pub(crate) fn release_program(package: &str) -> Result<PathBuf, String> {
    program(package, "release")
}

/// Builds the program of `package` with the profile of the tests, which is fast if they were just
/// built.
pub(crate) fn test_program(package: &str) -> Result<PathBuf, String> {
    program(package, "test")
}

/// The program of the workspace.
const PROGRAM: &str = "openoxide";

/// The path is taken from the messages of cargo, because the user can choose the target directory
/// and the target.
fn program(package: &str, profile: &str) -> Result<PathBuf, String> {
    let mut build = cargo();
    build.args(["build", "--profile", profile, "--package", package]);
    build.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    println!("==> build: {}", crate::steps::show(&build));
    let output = build.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("the {profile} build of `{package}` failed"));
    }
    executable(&String::from_utf8_lossy(&output.stdout), PROGRAM)
        .ok_or_else(|| format!("the {profile} build of `{package}` made no program"))
}

/// Returns the executable of this name that cargo's JSON `messages` report. A package may also
/// build other executables.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut programs = messages.filter_map(|message: Value| {
        message.get("executable").and_then(Value::as_str).map(PathBuf::from)
    });
    programs.find(|program| program.file_stem().is_some_and(|stem| stem == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace_manifest() {
        let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]"));
    }

    #[test]
    fn the_program_is_found_among_cargo_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","executable":null}"#,
            "\nnoise\n",
            r#"{"reason":"compiler-artifact","executable":"/t/host/release/openoxide"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","executable":"/t/host/release/openoxide-starlark"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let found = executable(messages, PROGRAM);
        assert_eq!(found, Some(PathBuf::from("/t/host/release/openoxide")));
        assert_eq!(executable("", PROGRAM), None);
    }
}
