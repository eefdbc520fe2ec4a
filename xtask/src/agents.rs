//! Claude Code: the pinned client, fetched once into a cache outside of the repository.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::steps::{show, succeed};

/// The version that the scenarios were measured with.
const VERSION: &str = "2.1.330";

/// What npm installs: the version, and the digest of every file that may come.
const MANIFEST: &str = include_str!("../../agents/claude-code/package.json");
const LOCK: &str = include_str!("../../agents/claude-code/package-lock.json");

/// Returns the client's program, installing it where it is missing.
pub(crate) fn install() -> Result<PathBuf, String> {
    let folder = cache()?.join(format!("claude-code-{VERSION}"));
    let program = folder.join(program_in_package()?);
    if version(&program).is_err() {
        fetch(&folder)?;
    }
    let found = version(&program)?;
    if found.split(' ').next() == Some(VERSION) {
        Ok(program)
    } else {
        Err(format!("{} says it is {found:?}, not {VERSION}", program.display()))
    }
}

fn cache() -> Result<PathBuf, String> {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
    let chosen = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let base = chosen.filter(|path| path.is_absolute()).or_else(home);
    Ok(base.ok_or("neither XDG_CACHE_HOME nor HOME is set")?.join("openoxide-e2e"))
}

/// The npm package is a launcher; the program itself comes in one package for each platform.
fn program_in_package() -> Result<PathBuf, String> {
    let platform = match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => "linux-x64",
        ("linux", "aarch64") => "linux-arm64",
        (os, arch) => return Err(format!("the scenarios do not know the client for {os} {arch}")),
    };
    let packages = Path::new("node_modules/@anthropic-ai");
    Ok(packages.join(format!("claude-code-{platform}")).join("claude"))
}

fn fetch(folder: &Path) -> Result<(), String> {
    let write = |name, text| fs::write(folder.join(name), text);
    fs::create_dir_all(folder)
        .and_then(|()| write("package.json", MANIFEST))
        .and_then(|()| write("package-lock.json", LOCK))
        .map_err(|error| format!("cannot write to {}: {error}", folder.display()))?;
    let mut npm = Command::new("npm");
    // No script of a package runs: the program needs none.
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    npm.current_dir(folder).stdin(Stdio::null());
    println!("==> setup: {} in {}", show(&npm), folder.display());
    succeed(&mut npm)
}

fn version(program: &Path) -> Result<String, String> {
    let mut ask = Command::new(program);
    // Asking the version must leave no trace in the home of the person who tests.
    ask.arg("--version").stdin(Stdio::null()).env("HOME", env::temp_dir());
    let output =
        ask.output().map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_pins_the_version_and_the_digest_of_this_platform() {
        let lock: serde_json::Value = serde_json::from_str(LOCK).unwrap();
        let program = program_in_package().unwrap();
        let package = &lock["packages"][program.parent().unwrap().to_str().unwrap()];
        assert_eq!(package["version"], VERSION);
        assert!(package["integrity"].as_str().unwrap().starts_with("sha512-"));
    }
}
