//! Recognition of paths outside of the project, as OpenCode does it: by their text, without
//! following links.

use openoxide_protocol::AbsPath;

use crate::policy_translation::CallContext;

/// Programs whose arguments are checked for paths.
const PATH_COMMANDS: &[&str] = &[
    "cd",
    "chdir",
    "popd",
    "pushd",
    "push-location",
    "set-location",
    "rm",
    "cp",
    "mv",
    "mkdir",
    "touch",
    "chmod",
    "chown",
    "cat",
];

/// Returns the words of a command that are treated as paths.
pub(crate) fn path_arguments<'w>(name: &str, words: &'w [&str]) -> impl Iterator<Item = &'w str> {
    let looked_at = PATH_COMMANDS.contains(&name);
    let mode = name == "chmod";
    let is_path =
        move |word: &&str| looked_at && !word.starts_with('-') && !(mode && word.starts_with('+'));
    words.iter().skip(1).copied().filter(is_path)
}

/// Returns the known part of the path that a word refers to, or `None` if it is unknown.
pub(crate) fn resolve_word(word: &str, place: &AbsPath, at: CallContext<'_>) -> Option<AbsPath> {
    let word = strip_outer_quotes(word);
    let home = match word {
        "~" => at.home.map(|home| home.to_string()),
        _ => word.strip_prefix("~/").and_then(|rest| Some(at.home?.join(rest).to_string())),
    };
    let text = home.unwrap_or_else(|| word.to_owned());
    let wild = text.find(['?', '*', '[']).unwrap_or(text.len());
    let known = text.get(..wild)?;
    let dynamic = known.starts_with('(') || known.contains(['$', '`']);
    (!known.is_empty() && !dynamic).then(|| place.join(known))
}

/// Removes quotes around the whole word.
fn strip_outer_quotes(word: &str) -> &str {
    let inside = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(word)
}

/// Returns the directory to request for a path outside of the project; `None` for a path inside.
pub(crate) fn external_directory(path: &AbsPath, at: CallContext<'_>) -> Option<AbsPath> {
    if is_in_project(path, at) {
        return None;
    }
    match at.disk.is_directory(path) {
        true => Some(path.clone()),
        false => Some(path.parent().unwrap_or_else(AbsPath::root)),
    }
}

/// Returns whether a path is in the project. The root of the disk is not a project.
pub(crate) fn is_in_project(path: &AbsPath, at: CallContext<'_>) -> bool {
    let worktree = at.worktree.filter(|root| **root != AbsPath::root());
    path.strip_prefix(at.cwd).is_some()
        || worktree.is_some_and(|root| path.strip_prefix(root).is_some())
}

/// Returns the pattern for everything in a directory.
pub(crate) fn directory_pattern(directory: &AbsPath) -> String {
    format!("{}/*", directory.as_str().trim_end_matches('/'))
}

/// Returns a path relative to the root of the repository, or to the root of the disk if there is no
/// repository.
pub(crate) fn to_worktree_relative(path: &AbsPath, at: CallContext<'_>) -> String {
    let root = AbsPath::root();
    let mut base = at.worktree.unwrap_or(&root).clone();
    let mut up = String::new();
    loop {
        if let Some(rest) = path.strip_prefix(&base) {
            return format!("{up}{rest}");
        }
        up.push_str("../");
        match base.parent() {
            Some(parent) => base = parent,
            None => return path.to_string(),
        }
    }
}
