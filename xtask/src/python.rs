//! The Python package: its lints, its wheel, and its tests in a clean environment.

mod environment;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Failure, setup,
    steps::{Step, run_all, succeed},
    workspace,
};
use environment::PythonEnvironment;

/// The arguments of the command.
pub(crate) const ARGUMENTS: &str = "[PYTEST-ARGUMENT]…";

/// The program that builds the wheel.
const MATURIN: &str = "maturin==1.16.0";

/// Builds the wheel, installs it into a clean environment, and runs the type checkers, the tests
/// and the build of the documentation there. The arguments are passed to pytest.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    setup::programs(setup::PYTHON)?;
    setup::python_environments()?;
    run_all(vec![
        rust_step("fmt", &["fmt", "--check"]),
        rust_step("clippy", &["clippy", "--", "-D", "warnings"]),
    ])?;
    let environment = test_environment(&build_wheel()?)?;
    let openoxide = workspace::test_program("openoxide-cli")?;
    let step = |name, arguments: &[&str]| {
        let mut command = environment.module(name);
        command.args(arguments).current_dir(package()).env("OPENOXIDE_PROGRAM", &openoxide);
        Step { name, command }
    };
    let (site, interpreter) = (environment.directory().join("site"), environment.interpreter());
    let (site, interpreter) = (site.to_string_lossy(), interpreter.to_string_lossy());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Ok(run_all(vec![
        step("mypy", &[]),
        step("pyright", &["--pythonpath", &interpreter]),
        step("pytest", &arguments),
        step("mkdocs", &["build", "--strict", "--quiet", "--site-dir", &site]),
    ])?)
}

/// Returns the directory of the package.
fn package() -> PathBuf {
    workspace::root().join("bindings/python")
}

/// Returns a step of cargo for the native module, which is a workspace of its own.
fn rust_step(name: &'static str, arguments: &[&str]) -> Step {
    let mut command = workspace::cargo();
    command.args(arguments).current_dir(package());
    // The flags of this program's own build would link the module statically.
    command.env("CARGO_TARGET_DIR", target()).env_remove("CARGO_ENCODED_RUSTFLAGS");
    Step { name, command }
}

/// Returns the target directory of the native module.
fn target() -> PathBuf {
    workspace::target().join("python")
}

/// Builds the wheel, and returns its path.
fn build_wheel() -> Result<PathBuf, String> {
    let wheels = target().join("wheels");
    drop(fs::remove_dir_all(&wheels));
    let environment = PythonEnvironment::create(&target().join("build-environment"))?;
    environment.install(&[MATURIN])?;
    let mut build: Command = environment.module("maturin");
    build.args(["build", "--release", "--locked", "--out"]).arg(&wheels).current_dir(package());
    build.env("CARGO_TARGET_DIR", target()).env_remove("CARGO_ENCODED_RUSTFLAGS");
    succeed(&mut build)?;
    let built = workspace::sorted_entries(&wheels).map_err(|_| "no wheel was built".to_owned())?;
    let mut built = built.into_iter().filter(|path| path.extension().is_some_and(|it| it == "whl"));
    built.next().ok_or_else(|| "no wheel was built".to_owned())
}

/// Returns an environment with the wheel and everything that the tests need.
fn test_environment(wheel: &Path) -> Result<PythonEnvironment, String> {
    let environment = PythonEnvironment::create(&target().join("test-environment"))?;
    let (requirements, wheel) = (package().join("requirements-test.txt"), wheel.to_string_lossy());
    environment.install(&["--requirement", &requirements.to_string_lossy()])?;
    environment.install(&[&wheel])?;
    // An earlier build has the same version, so pip would keep it.
    environment.install(&["--force-reinstall", "--no-deps", &wheel])?;
    Ok(environment)
}
