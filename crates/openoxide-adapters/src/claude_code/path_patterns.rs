//! Path patterns as Claude Code matches them: like those of gitignore, without regard to case.

use openoxide_protocol::{AbsPath, Effect};

use crate::policy_translation::CallContext;

/// Returns whether a pattern of a rule matches a path.
pub(crate) fn pattern_matches_path(
    pattern: &str,
    effect: Effect,
    path: &AbsPath,
    base: &AbsPath,
    at: CallContext<'_>,
) -> bool {
    if pattern.starts_with(['!']) || pattern.contains(['{', '}']) || pattern.starts_with("../") {
        return false;
    }
    let (root, rest) = match pattern.strip_prefix("//") {
        Some(rest) => (AbsPath::root(), rest),
        None => match (pattern.strip_prefix("~/"), pattern.strip_prefix('/'), at.home) {
            (Some(rest), _, Some(home)) => (home.clone(), rest),
            (Some(_), _, None) => return false,
            (None, Some(rest), _) => (base.clone(), rest),
            (None, None, _) => {
                return matches_relative(
                    pattern.strip_prefix("./").unwrap_or(pattern),
                    effect,
                    path,
                    at.cwd,
                );
            }
        },
    };
    path.strip_prefix(&root).is_some_and(|below| matches_path_or_ancestor(rest, below))
}

/// Returns whether a relative pattern matches a path. A single name matches at any depth, and so
/// does `name/**` in a restrictive rule.
fn matches_relative(pattern: &str, effect: Effect, path: &AbsPath, cwd: &AbsPath) -> bool {
    let Some(below) = path.strip_prefix(cwd) else { return false };
    let bare = pattern.strip_suffix("/**").filter(|_| effect != Effect::Allow).unwrap_or(pattern);
    let floats = !bare.trim_end_matches('/').contains('/');
    matches_path_or_ancestor(pattern, below)
        || (floats && matches_path_or_ancestor(&format!("**/{pattern}"), below))
}

/// Returns whether a pattern matches a path or a directory above it.
fn matches_path_or_ancestor(pattern: &str, below: &str) -> bool {
    let pattern = pattern.trim_end_matches('/').to_lowercase();
    let below = below.to_lowercase();
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let names: Vec<&str> = below.split('/').filter(|name| !name.is_empty()).collect();
    match_components(&parts, &names)
}

/// Returns whether the components of a pattern match the names of a path. All positions are tracked
/// at once, so no pattern is slow.
fn match_components(parts: &[&str], names: &[&str]) -> bool {
    let mut open = vec![false; names.len() + 1];
    open.iter_mut().take(1).for_each(|start| *start = true);
    for (at, part) in parts.iter().enumerate() {
        // A final `**` matches the contents of a directory, not the directory itself.
        let strictly = at + 1 == parts.len();
        open = match *part {
            "**" => advance_any(&open, strictly),
            part => advance_one(&open, |at| {
                names.get(at).is_some_and(|name| matches_component(part, name))
            }),
        };
    }
    open.contains(&true)
}

/// Returns the positions after any number of names, or after at least one name if `strictly` is
/// set.
fn advance_any(open: &[bool], strictly: bool) -> Vec<bool> {
    let first = open.iter().position(|place| *place).unwrap_or(open.len());
    (0..open.len()).map(|at| at >= first + usize::from(strictly)).collect()
}

/// Returns the positions after one name for which `may` is true.
fn advance_one(open: &[bool], may: impl Fn(usize) -> bool) -> Vec<bool> {
    let step = |(at, place): (usize, &bool)| *place && may(at);
    std::iter::once(false).chain(open.iter().enumerate().map(step)).take(open.len()).collect()
}

/// Returns whether one component matches. `*`, `?` and classes do not match a slash.
fn matches_component(part: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let mut open = vec![false; name.len() + 1];
    open.iter_mut().take(1).for_each(|start| *start = true);
    let mut rest = part;
    while let Some((found, after)) = split_first(rest) {
        let class = after.split_once(']').filter(|_| found == '[');
        open = match (found, class) {
            ('*', _) => advance_any(&open, false),
            ('?', _) => advance_one(&open, |_| true),
            ('[', Some((set, _))) => {
                let set: Vec<char> = set.chars().collect();
                advance_one(&open, |at| name.get(at).is_some_and(|c| matches_class(&set, *c)))
            }
            (letter, _) => advance_one(&open, |at| name.get(at) == Some(&letter)),
        };
        rest = class.map_or(after, |(_, rest)| rest);
    }
    open.last() == Some(&true)
}

fn split_first(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    chars.next().map(|first| (first, chars.as_str()))
}

fn matches_class(set: &[char], found: char) -> bool {
    let (negated, set) = match set.split_first() {
        Some(('!' | '^', rest)) => (true, rest),
        _ => (false, set),
    };
    let ranges =
        set.windows(3).any(|window| matches!(window, [a, '-', b] if (*a..=*b).contains(&found)));
    (ranges || set.contains(&found)) != negated
}

/// Directories whose change no rule in a file approves.
const PROTECTED_DIRECTORIES: &[&str] =
    &[".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".claude"];

const PROTECTED_FILES: &[&str] = &[
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".bazeliskrc",
    ".bazelrc",
    ".bazelversion",
    ".bunfig.toml",
    ".claude.json",
    ".devcontainer.json",
    ".envrc",
    ".gitconfig",
    ".gitmodules",
    ".kshrc",
    ".lefthook.yaml",
    ".lefthook.yml",
    ".mcp.json",
    ".npmrc",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".pnpmfile.cjs",
    ".pre-commit-config.yaml",
    ".profile",
    ".ripgreprc",
    ".yarnrc",
    ".yarnrc.yml",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "bunfig.toml",
    "gradle-wrapper.properties",
    "lefthook.yaml",
    "lefthook.yml",
    "maven-wrapper.properties",
    "pyrightconfig.json",
];

/// Returns whether a path is protected, at any depth and in upper or lower case.
pub(crate) fn is_protected(path: &AbsPath) -> bool {
    let text = path.as_str().to_lowercase();
    let names: Vec<&str> = text.split('/').collect();
    let worktree = names.windows(2).any(|pair| matches!(pair, [".claude", "worktrees"]));
    let directory =
        |name: &&str| PROTECTED_DIRECTORIES.contains(name) && !(worktree && *name == ".claude");
    let config = names.windows(2).any(|pair| matches!(pair, [".config", "git"]));
    config
        || names.iter().any(directory)
        || names.last().is_some_and(|name| PROTECTED_FILES.contains(name))
}

/// Returns whether a removal is one that no rule in a file approves: of the root, an entry of the
/// root, home, the working directory, or a directory above it.
pub(crate) fn is_critical_removal(path: &AbsPath, at: CallContext<'_>) -> bool {
    let in_root = path.parent().is_none_or(|parent| parent == AbsPath::root());
    in_root
        || at.home.is_some_and(|home| home.strip_prefix(path).is_some())
        || at.cwd.strip_prefix(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_the_measured_paths() {
        for (pattern, yes, no) in [
            ("docs/*", ["docs/a", "docs/sub/n"], ["src/a", "docs"]),
            ("**/.env", [".env", "sub/.env"], ["x.env", ".envrc"]),
            ("*.ts", ["a.ts", "A.TS"], ["src/a.ts", "a.tsx"]),
            ("doc?/[ab].md", ["docs/a.md", "docs/b.md"], ["docs/c.md", "doc/a.md"]),
        ] {
            assert!(yes.iter().all(|below| matches_path_or_ancestor(pattern, below)), "{pattern}");
            assert!(!no.iter().any(|below| matches_path_or_ancestor(pattern, below)), "{pattern}");
        }
    }
}
