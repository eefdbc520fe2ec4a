//! Checks of settings files that make a program download a version, print a secret or read a linked
//! manifest of a member.

use std::{
    ffi::OsStr,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use openoxide_protocol::{
    steering_files::SettingsCheck,
    toolchains::{is_known_go_version, is_known_rust_channel},
};
use openoxide_shell::extends_own_settings;

use crate::settings_files::{leads_to_other_name, read_short};

/// The maximum number of directories that are searched for the manifests of members.
const MAX_MEMBER_DIRECTORIES: usize = 4096;

/// Directories with built or installed files, which contain no members.
const SKIPPED_DIRECTORIES: [&str; 3] = ["node_modules", "target", ".git"];

/// The default patterns of black, as projects write them.
const BLACK_PATTERNS: [&str; 6] =
    ["\\.pyi?$", "\\\\.pyi?$", "\\.py$", "\\\\.py$", "\\.(py|pyi)$", "\\.pyi?"];

/// Returns whether a file exists and does not pass the check. A file that cannot be read completely
/// does not pass.
pub(crate) fn fails(check: SettingsCheck, path: &Path, home: Option<&Path>) -> bool {
    if fs::symlink_metadata(path).is_err() {
        return false;
    }
    let Some(text) = read_short(path) else { return true };
    match check {
        SettingsCheck::GoVersion => !text.lines().all(has_known_go_version),
        SettingsCheck::RustChannel => {
            !has_known_channels(&text) || home.is_some_and(|home| is_toolchain_missing(&text, home))
        }
        SettingsCheck::BlackInclude => !has_own_pattern(&text),
        SettingsCheck::YamllintExtends => text.contains('\\') || extends_other(&text),
        SettingsCheck::LinkedMembers => has_linked_member(path, &text),
    }
}

/// Returns whether a line of a `go.mod` names a known version of Go or none.
fn has_known_go_version(line: &str) -> bool {
    let line = line.split("//").next().unwrap_or(line).trim();
    match line.strip_prefix("go").filter(|rest| rest.starts_with([' ', '\t'])) {
        Some(version) => is_known_go_version(version.trim()),
        None => true,
    }
}

/// Returns whether a toolchain file of rustup names only known channels and no directory. The older
/// form of the file consists only of the name.
fn has_known_channels(text: &str) -> bool {
    if text.contains("path") || text.contains('\\') {
        return false;
    }
    if !text.contains(['[', '=']) {
        return is_known_rust_channel(text.trim());
    }
    let channels: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            line.trim_start().strip_prefix("channel")?.trim_start().strip_prefix('=')
        })
        .collect();
    let is_known = |value: &&str| {
        let value = value.split('#').next().unwrap_or_default().trim();
        is_known_rust_channel(value.trim_matches(['"', '\'']))
    };
    channels.len() == text.matches("channel").count() && channels.iter().all(is_known)
}

/// Returns whether rustup is installed in a home directory, and the toolchain that a file names, or
/// one of its components or targets, is not. rustup would download it.
fn is_toolchain_missing(text: &str, home: &Path) -> bool {
    let Ok(installed) = fs::read_dir(home.join(".rustup/toolchains")) else { return false };
    let installed: Vec<PathBuf> = installed.flatten().map(|entry| entry.path()).collect();
    let is_toml = text.contains(['[', '=']);
    let channel =
        if is_toml { quoted_words(text, "channel").into_iter().next() } else { Some(text.trim()) };
    let is_channel = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let rest = channel.and_then(|channel| name.strip_prefix(channel));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let mut named = installed.into_iter().filter(|path| channel.is_none() || is_channel(path));
    let mut parts = quoted_words(text, "components");
    parts.extend(quoted_words(text, "targets"));
    let has_parts = |toolchain: PathBuf| {
        parts.is_empty()
            || read_short(&toolchain.join("lib/rustlib/components"))
                .is_some_and(|list| parts.iter().all(|part| list.contains(part)))
    };
    !named.any(has_parts)
}

/// Returns the quoted words of the value of a key, up to the next key.
fn quoted_words<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let Some((_, value)) = text.split_once(key) else { return Vec::new() };
    let Some((_, value)) = value.split_once('=') else { return Vec::new() };
    let value = match value.trim_start().strip_prefix('[') {
        Some(list) => list.split(']').next(),
        None => value.lines().next(),
    };
    value.unwrap_or_default().split(['"', '\'']).skip(1).step_by(2).collect()
}

/// Returns whether the settings of black in a `pyproject.toml` have no pattern but its own. A table
/// that is not written as `[tool.black]` is not understood.
fn has_own_pattern(text: &str) -> bool {
    let mut section = "";
    text.lines().map(str::trim).all(|line| {
        if let Some(header) = line.strip_prefix('[') {
            section = header.split(']').next().unwrap_or_default().trim();
            return !section.contains(['"', '\'', ' ']) || !section.contains("tool");
        }
        if section != "tool.black" {
            let key = line.split('=').next().unwrap_or_default();
            return !(section.is_empty() && key.contains("tool") || section == "tool");
        }
        let Some((key, value)) = line.split_once('=') else { return !line.contains("include") };
        let value = value.trim().trim_matches(['"', '\'']);
        !key.contains(['\\', '"', '\''])
            && (key.trim() != "include" || BLACK_PATTERNS.contains(&value))
    })
}

/// Returns whether a configuration of yamllint extends another file.
fn extends_other(text: &str) -> bool {
    text.contains("extends") && !extends_own_settings(text)
}

/// Returns whether a manifest has members, and that of one is a link to a file with another name.
fn has_linked_member(path: &Path, text: &str) -> bool {
    let (Some(above), Some(name)) = (path.parent(), path.file_name().and_then(OsStr::to_str))
    else {
        return true;
    };
    let (name, keys): (_, &[&str]) = match name {
        "package.json" => (name, &["workspaces", "\\u"]),
        "go.work" => ("go.mod", &["use"]),
        _ => (name, &["member", "path", "workspace", "\\u"]),
    };
    let has_members = keys.iter().any(|key| text.contains(key));
    let installed = name == "package.json" && has_linked_package(&above.join("node_modules"));
    installed || has_members && (names_link(text, above, name) || holds_link(above, name))
}

/// Returns whether a word of a manifest is a directory whose manifest is such a link: it can be
/// outside of the project.
fn names_link(text: &str, above: &Path, name: &str) -> bool {
    let between = |at: char| at.is_whitespace() || "\"'`,[](){}=:".contains(at);
    let mut words = text.split(between).filter(|word| !word.is_empty());
    words.any(|word| is_linked_in(&above.join(word), name))
}

/// Returns whether the manifest of a member is such a link, or the configuration of rustfmt next to
/// it.
fn is_linked_in(directory: &Path, name: &str) -> bool {
    let with_manifest: &[&str] =
        if name == "Cargo.toml" { &["rustfmt.toml", ".rustfmt.toml"] } else { &[] };
    std::iter::once(&name)
        .chain(with_manifest)
        .any(|name| leads_to_other_name(&directory.join(name)))
}

/// Returns whether a directory below this one contains such a link, cannot be read, or is one of too
/// many.
fn holds_link(above: &Path, name: &str) -> bool {
    let mut waiting = vec![above.to_path_buf()];
    let mut searched = 0;
    while let Some(directory) = waiting.pop() {
        searched += 1;
        if searched > MAX_MEMBER_DIRECTORIES {
            return true;
        }
        if directory != above && is_linked_in(&directory, name) {
            return true;
        }
        match subdirectories(&directory) {
            Some(found) => waiting.extend(found),
            None => return true,
        }
    }
    false
}

/// Returns the directories in this one that can contain members, or `None` if it cannot be read.
/// Links are not followed.
fn subdirectories(directory: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).ok()? {
        let entry = entry.ok()?;
        let is_skipped =
            entry.file_name().to_str().is_some_and(|name| SKIPPED_DIRECTORIES.contains(&name));
        if !is_skipped && entry.file_type().ok()?.is_dir() {
            found.push(entry.path());
        }
    }
    Some(found)
}

/// Returns whether the manifest of an installed package is such a link, or the directory of packages
/// exists and cannot be read.
fn has_linked_package(modules: &Path) -> bool {
    let entries = match fs::read_dir(modules) {
        Ok(entries) => entries,
        Err(error) => {
            return !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        }
    };
    entries.into_iter().any(|entry| {
        let Ok(entry) = entry else { return true };
        let path = entry.path();
        let is_scope = entry.file_name().to_string_lossy().starts_with('@');
        leads_to_other_name(&path.join("package.json")) || is_scope && has_linked_package(&path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_not_known_fails() {
        assert!(has_known_go_version("go 1.22.3 // comment"));
        assert!(has_known_go_version("module example.com/go"));
        assert!(!has_known_go_version("go 1.99.0"));
        assert!(!has_known_go_version("go\t\"1.99\""));
        for text in ["stable\n", "[toolchain]\nchannel = \"1.90\" # x\n", "[toolchain]\n"] {
            assert!(has_known_channels(text), "{text}");
        }
        for text in [
            "nightly-2020-01-01\n",
            "[toolchain]\nchannel = \"nightly\"\n",
            "toolchain = { channel = \"nightly\" }\n",
            "[toolchain]\npath = \"x\"\n",
        ] {
            assert!(!has_known_channels(text), "{text}");
        }
    }

    #[test]
    fn a_toolchain_that_is_not_installed_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        assert!(!is_toolchain_missing("1.50\n", home), "rustup is not installed");
        let list = home.join(".rustup/toolchains/1.90-x86_64-unknown-linux-gnu/lib/rustlib");
        fs::create_dir_all(&list).unwrap();
        fs::write(list.join("components"), "clippy-preview-x\nrust-std-x\n").unwrap();
        for text in [
            "1.90\n",
            "[toolchain]\nprofile = \"minimal\"\n",
            "[toolchain]\nchannel = '1.90'\ncomponents = [\n  \"clippy\",\n]\n",
        ] {
            assert!(!is_toolchain_missing(text, home), "{text}");
        }
        for text in [
            "1.9\n",
            "stable\n",
            "[toolchain]\nchannel = \"1.50.0\"\n",
            "[toolchain]\nchannel = \"1.90\"\ncomponents = [\"rustfmt\"]\n",
            "[toolchain]\nchannel = \"1.90\"\ntargets = [\"wasm32-unknown-unknown\"]\n",
        ] {
            assert!(is_toolchain_missing(text, home), "{text}");
        }
    }

    #[test]
    fn a_pattern_of_black_other_than_its_own_fails() {
        for text in [
            "[project]\nname = \"x\"\n[tool.hatch]\ninclude = [\".env\"]\n",
            "[tool.black]\nline-length = 100\ninclude = '\\.pyi?$'\n",
        ] {
            assert!(has_own_pattern(text), "{text}");
        }
        for text in [
            "[tool.black]\ninclude = '\\.env$'\n",
            "[tool.black]\ninclude = '''\n\\.env$\n'''\n",
            "tool.black.include = '\\.env$'\n",
            "[tool]\nblack = { include = '\\.env$' }\n",
            "[tool.\"black\"]\ninclude = '\\.env$'\n",
        ] {
            assert!(!has_own_pattern(text), "{text}");
        }
    }
}
