//! Configuration of a repository that makes git run nothing.

use std::{fs, path::Path};

use super::git_directories::read_config;

/// Returns the configuration, if nothing in it runs a program. The configuration of a submodule may
/// name its working tree, as git writes it.
pub(super) fn read_harmless_config(directory: &Path, submodule: Option<&Path>) -> Option<String> {
    // Read-only commands can write the index again, and then this hook runs (githooks(5)).
    if directory.join("hooks/post-index-change").exists()
        || directory.join("config.worktree").exists()
    {
        return None;
    }
    let text = read_config(&directory.join("config"))?;
    let rest = match submodule {
        Some(tree) => without_worktree_setting(&text, directory, tree),
        None => text.clone(),
    };
    is_harmless_config(&rest).then_some(text)
}

/// Removes the lines that name this working tree.
fn without_worktree_setting(text: &str, directory: &Path, tree: &Path) -> String {
    let own = |line: &&str| match line.trim().split_once('=') {
        Some((name, value)) if name.trim() == "worktree" => {
            let named = fs::canonicalize(directory.join(value.trim())).ok();
            named.is_some() && named == fs::canonicalize(tree).ok()
        }
        _ => false,
    };
    text.lines().filter(|line| !own(line)).fold(String::new(), |all, line| all + line + "\n")
}

/// Keys that git writes itself or that people set, and that run nothing: section and name.
const HARMLESS_KEYS: &[(&str, &[&str])] = &[
    ("branch", &["merge", "rebase", "remote", "vscode-merge-base", "gh-merge-base"]),
    (
        "core",
        &[
            "autocrlf",
            "bare",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "repositoryformatversion",
            "symlinks",
        ],
    ),
    ("extensions", &["objectformat", "refstorage"]),
    ("fetch", &["prune"]),
    ("init", &["defaultbranch"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default"]),
    ("remote", &["fetch", "pushurl", "tagopt", "url"]),
    ("submodule", &["active", "url"]),
    ("user", &["email", "name", "signingkey"]),
];

/// Returns whether every line is a section, a comment or a known key. Everything else is not
/// harmless, such as an `include`, a value that continues on the next line, or a bare repository
/// with a working tree elsewhere.
pub(super) fn is_harmless_config(text: &str) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = header.split([' ', '.']).next().unwrap_or_default().to_ascii_lowercase();
            return !header.contains(']'); // A key may follow, and a comment that ends so.
        }
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        !line.ends_with('\\') && is_harmless_key(&section, name.trim()) && is_harmless_value(value)
    })
}

fn is_harmless_key(section: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    HARMLESS_KEYS.iter().any(|(known, names)| *known == section && names.contains(&name.as_str()))
}

/// Returns whether a value is harmless. `ext::` URLs run the command that they contain. Git removes
/// quotes anywhere in a value, so they are ignored.
fn is_harmless_value(value: &str) -> bool {
    !value.replace('"', "").contains("::")
}
