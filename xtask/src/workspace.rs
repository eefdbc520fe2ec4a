//! The workspace: its directory, its cargo, and the programs that cargo builds.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

/// Returns the root of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Returns the directory in which cargo and the tasks put what they make.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the cargo that runs this chore, started in the root of the workspace.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// Builds the release program of `package` and returns where cargo put it.
pub(crate) fn release_program(package: &str) -> Result<PathBuf, String> {
    program(package, "release")
}

/// Builds the program of `package` as the tests have it, which is quick where they were just built.
pub(crate) fn test_program(package: &str) -> Result<PathBuf, String> {
    program(package, "test")
}

/// The program of the workspace.
const PROGRAM: &str = "openoxide";

/// Cargo itself is asked where it put it: the target folder and the triple in its path are the user's to choose.
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
