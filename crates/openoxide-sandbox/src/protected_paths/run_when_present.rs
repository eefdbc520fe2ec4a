//! Steering files that programs of the host execute without a question as soon as they exist: when
//! version control is used in the directory, for example by a shell prompt, or when an agent is
//! started there. Other agents and editors ask first whether the directory is trusted.
//!
//! Claude Code asks about the servers of a new `.mcp.json` unless its settings approve all of them.

use std::{ffi::OsStr, path::Path};

use crate::protected_paths::steering_files::{
    PACKAGE_DIRECTORIES, is_quarantined, matches_component,
};

/// The files. Sources: hgrc(5) and `hg help shared` (Sapling and darcs use the same formats), `jj
/// help config`, opencode.ai/docs/config (MCP servers and plugins) and the documentation of
/// badlogic/pi-mono (extensions). Both of the latter programs were observed to start these. `git`
/// has a separate module (`repository`).
const PATTERNS: &[&[&str]] = &[
    &[".hg", "hgrc"],
    &[".hg", "hgrc-not-shared"],
    &[".hg", "sharedpath"],
    &[".sl", "config"],
    &[".sl", "sharedpath"],
    &[".jj", "repo", "config.toml"],
    &[".jj", "workspace-config.toml"],
    &["_darcs", "prefs", "defaults"],
    &[".mcp.json"],
    &["opencode.json"],
    &["opencode.jsonc"],
    &[".opencode", "opencode.json"],
    &[".opencode", "opencode.jsonc"],
    &[".opencode", "plugin", "*"],
    &[".opencode", "plugins", "*"],
    &[".pi", "settings.json"],
    &[".pi", "extensions", "*"],
];

/// Returns whether programs of the host execute this file as soon as it exists.
pub(crate) fn is_run_when_present(path: &Path) -> bool {
    let is_last = |pattern: &&&[&str]| {
        pattern.last().is_some_and(|last| matches_name(last, path.file_name()))
    };
    PATTERNS.iter().filter(is_last).any(|pattern| matches_end(pattern, path))
        && !path.file_name().is_some_and(is_quarantined)
        && !path.iter().any(|part| PACKAGE_DIRECTORIES.iter().any(|name| part == OsStr::new(name)))
}

fn matches_end(pattern: &[&str], path: &Path) -> bool {
    let mut names = path.iter().rev();
    pattern.iter().rev().all(|component| matches_name(component, names.next()))
}

fn matches_name(component: &str, name: Option<&OsStr>) -> bool {
    name.and_then(OsStr::to_str).is_some_and(|name| matches_component(component, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_components_are_compared() {
        for path in
            ["/w/a/.hg/hgrc", "/w/.mcp.json", "/w/opencode.json", "/w/x/.pi/extensions/e.ts"]
        {
            assert!(is_run_when_present(Path::new(path)), "{path}");
        }
        for path in [
            "/w/hgrc",
            "/w/a.hg/hgrc",
            "/w/my-opencode.json",
            "/w/.pi/other/e.ts",
            "/w/.hg/hgrc.held-by-openoxide",
            "/w/node_modules/x/opencode.json",
        ] {
            assert!(!is_run_when_present(Path::new(path)), "{path}");
        }
    }
}
