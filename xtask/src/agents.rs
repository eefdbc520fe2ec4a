//! The real agents: programs of pinned versions, in a cache outside of the repository.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    setup,
    steps::{show, succeed},
};

/// A program that npm installs.
#[derive(Debug)]
pub(crate) struct Pinned {
    /// The name of its directory in the cache.
    name: &'static str,
    /// The pinned version.
    version: &'static str,
    /// The files that npm installs from: the version, and the digest of every file that may be
    /// downloaded.
    manifest: &'static str,
    lock: &'static str,
    /// The function that returns the path of the program. The package itself is a launcher; the
    /// program is in a separate package for each platform.
    program: fn(Platform) -> String,
}

/// Claude Code.
pub(crate) const CLAUDE: Pinned = Pinned {
    name: "claude-code",
    version: "2.1.330",
    manifest: include_str!("../agents/claude-code/package.json"),
    lock: include_str!("../agents/claude-code/package-lock.json"),
    program: |Platform { node, .. }| format!("@anthropic-ai/claude-code-{node}/claude"),
};

/// Codex.
pub(crate) const CODEX: Pinned = Pinned {
    name: "codex",
    version: "0.169.0",
    manifest: include_str!("../agents/codex/package.json"),
    lock: include_str!("../agents/codex/package-lock.json"),
    program: |Platform { node, machine }| {
        format!("@openai/codex-{node}/vendor/{machine}-unknown-linux-musl/bin/codex")
    },
};

/// The names of this machine's platform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Platform {
    node: &'static str,
    machine: &'static str,
}

impl Platform {
    fn here() -> Result<Self, String> {
        match (env::consts::OS, env::consts::ARCH) {
            ("linux", "x86_64") => Ok(Self { node: "linux-x64", machine: "x86_64" }),
            ("linux", "aarch64") => Ok(Self { node: "linux-arm64", machine: "aarch64" }),
            (os, arch) => Err(format!("the agents are untested on {os} {arch}")),
        }
    }
}

impl Pinned {
    /// Returns the path of the program. Installs it if it is missing.
    pub(crate) fn install(&self) -> Result<PathBuf, String> {
        let folder = cache()?.join(format!("{}-{}", self.name, self.version));
        let program = folder.join(self.in_package()?);
        if says(&program).is_err() {
            self.fetch(&folder)?;
        }
        let found = says(&program)?;
        if found.split(' ').any(|word| word == self.version) {
            Ok(program)
        } else {
            Err(format!("{} reports version {found:?}, not {}", program.display(), self.version))
        }
    }

    fn in_package(&self) -> Result<PathBuf, String> {
        Ok(Path::new("node_modules").join((self.program)(Platform::here()?)))
    }

    fn fetch(&self, folder: &Path) -> Result<(), String> {
        setup::programs(setup::AGENTS)?;
        let write = |name, text| fs::write(folder.join(name), text);
        fs::create_dir_all(folder)
            .and_then(|()| write("package.json", self.manifest))
            .and_then(|()| write("package-lock.json", self.lock))
            .map_err(|error| format!("cannot write to {}: {error}", folder.display()))?;
        let mut npm = Command::new("npm");
        // The programs do not need the scripts of their packages, so no script runs.
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        npm.current_dir(folder).stdin(Stdio::null());
        println!("==> setup: {} in {}", show(&npm), folder.display());
        succeed(&mut npm)
    }
}

fn cache() -> Result<PathBuf, String> {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
    let chosen = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let base = chosen.filter(|path| path.is_absolute()).or_else(home);
    Ok(base.ok_or("neither XDG_CACHE_HOME nor HOME is set")?.join("openoxide-e2e"))
}

/// Returns the version that a program prints.
fn says(program: &Path) -> Result<String, String> {
    let mut ask = Command::new(program);
    // The program must not write to the home directory of the user.
    ask.arg("--version").stdin(Stdio::null()).env("HOME", env::temp_dir());
    let output =
        ask.output().map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_pin_the_version_and_the_digest_of_this_platform() {
        for agent in [CLAUDE, CODEX] {
            let lock: serde_json::Value = serde_json::from_str(agent.lock).unwrap();
            let program = agent.in_package().unwrap();
            let folder = program.iter().take(3).collect::<PathBuf>();
            let package = &lock["packages"][folder.to_str().unwrap()];
            let version = package["version"].as_str().unwrap();
            assert_eq!(version.split("-linux").next(), Some(agent.version));
            assert!(package["integrity"].as_str().unwrap().starts_with("sha512-"));
        }
    }
}
