//! Searches below a directory: which files with secrets they would print lines of.
//!
//! A search is free inside the project, and reading a secret is not. So each secret file that a search would reach is a read of its
//! own, with its name.

use std::{fs, path::Path};

use openoxide_permission::safety_floor::is_secret;
use openoxide_protocol::{AbsPath, Access, FileSearch, OperationFacts, PathAccess, Span};

use crate::{name_pattern::name_may_match, step_budget::StepBudget};

/// The maximum number of entries below a directory. Beyond it, the secrets that a search would
/// reach are unknown.
const MAX_ENTRIES: usize = 32_768;
/// The maximum number of secret files that are listed.
const MAX_SECRETS: usize = 16;
/// Larger lists of ignored files are not read.
const MAX_IGNORE_FILE_BYTES: u64 = 65_536;
/// Directories with packages of others: what has the name of a secret there is part of a package.
const PACKAGE_DIRECTORIES: [&str; 3] = ["node_modules", "site-packages", ".git"];
/// Lists of ignored files, which programs read wherever they are; errors show lines of them.
const IGNORE_FILES: [&str; 3] = [".ignore", ".rgignore", ".fdignore"];
/// All lists of ignored files whose lines can take in hidden files again.
const IGNORE_LISTS: [&str; 5] =
    [".ignore", ".rgignore", ".fdignore", ".gitignore", ".git/info/exclude"];

/// Puts the secret files that a search would print in the place of each search.
pub(crate) fn expand_searches(facts: &mut OperationFacts, steps: &StepBudget) {
    let is_search = |access: &Access| matches!(access, Access::Read(path) if path.search.is_some());
    if !facts.accesses.iter().any(is_search) {
        return;
    }
    let (searches, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut facts.accesses).into_iter().partition(is_search);
    facts.accesses = others;
    let mut seen: Vec<PathAccess> = Vec::new();
    for access in searches {
        let Access::Read(path) = access else { continue };
        let looked_up = steps.take_steps(1 + seen.len() / 8);
        // The place in the script does not matter.
        let anywhere = PathAccess { span: Span::default(), ..path.clone() };
        let is_new = !looked_up || !seen.contains(&anywhere);
        let Some(search) = path.search.clone().filter(|_| is_new) else { continue };
        seen.push(anywhere);
        match find_searched_secrets(&path.path, &search, steps) {
            Some(found) => add_secret_reads(facts, &path, found),
            None => {
                let text = format!("{}: too many files to find the secrets among them", path.path);
                facts.accesses.push(Access::Opaque { text, span: path.span });
            }
        }
    }
}

fn add_secret_reads(facts: &mut OperationFacts, searched: &PathAccess, found: Vec<AbsPath>) {
    for path in found {
        let written = path.to_string();
        let read = PathAccess { path, raw_path: written, search: None, ..searched.clone() };
        let read = Access::Read(read);
        if !facts.accesses.contains(&read) {
            facts.accesses.push(read);
        }
    }
}

/// Returns the secret files that a search reaches, also those that a list of ignored files takes in
/// again; nothing if too much would have to be looked at.
fn find_searched_secrets(
    root: &AbsPath,
    search: &FileSearch,
    steps: &StepBudget,
) -> Option<Vec<AbsPath>> {
    let mut lists = Vec::new();
    let mut found = find_secrets_below(root, search, steps, &mut lists)?;
    if !search.obeys_ignore_files {
        return Some(found);
    }
    let above = std::iter::successors(root.parent(), AbsPath::parent);
    lists.extend(above.flat_map(|directory| included_lines(&directory)));
    if !lists.iter().any(|line| may_name_hidden(line)) {
        return Some(found);
    }
    let all = FileSearch {
        include_patterns: search.include_patterns.clone(),
        exclude_patterns: search.exclude_patterns.clone(),
        excluded_directories: search.excluded_directories.clone(),
        ..FileSearch::all_files()
    };
    let hidden = find_secrets_below(root, &all, steps, &mut Vec::new())?;
    let is_included = |path: &AbsPath| lists.iter().any(|line| line_may_match(line, path.as_str()));
    found.extend(hidden.into_iter().filter(is_included));
    found.sort();
    found.dedup();
    Some(found)
}

/// Returns the lines of the lists of a directory that take files in again.
fn included_lines(directory: &AbsPath) -> Vec<String> {
    let text = |name: &&str| {
        let list = directory.join(name);
        match fs::metadata(list.as_str()) {
            Ok(found) if found.len() > MAX_IGNORE_FILE_BYTES => Some("!*".to_owned()),
            Ok(_) => fs::read(list.as_str())
                .ok()
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            Err(_) => None,
        }
    };
    let texts: Vec<String> = IGNORE_LISTS.iter().filter_map(text).collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    lines.filter_map(|line| line.trim().strip_prefix('!')).map(str::to_owned).collect()
}

/// Returns whether a line can name a hidden file or directory.
fn may_name_hidden(line: &str) -> bool {
    line.split('/').any(|part| part.starts_with(['.', '*', '?', '[', '\\', '{']))
}

/// Returns the secret files that a search reaches; nothing if too much would have to be looked at.
/// `lists` gets the lines by which the directories on the way take files in again.
fn find_secrets_below(
    root: &AbsPath,
    search: &FileSearch,
    steps: &StepBudget,
    lists: &mut Vec<String>,
) -> Option<Vec<AbsPath>> {
    let mut found = Vec::new();
    let mut open = vec![root.clone()];
    let mut count = 0;
    while let Some(directory) = open.pop() {
        if !steps.take_directory() {
            return None;
        }
        let Ok(entries) = fs::read_dir(directory.as_str()) else { continue };
        if search.obeys_ignore_files {
            lists.extend(included_lines(&directory));
        }
        for entry in entries.filter_map(Result::ok) {
            count += 1;
            if count > MAX_ENTRIES
                || !steps.take_steps(
                    1 + search.exclude_patterns.len() + search.excluded_directories.len(),
                )
            {
                return None;
            }
            let name = entry.file_name();
            let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else { continue };
            let path = directory.join(name);
            if kind.is_dir() {
                let passed = search.includes_hidden
                    || !search.include_patterns.is_empty()
                    || !name.starts_with('.');
                if passed
                    && !PACKAGE_DIRECTORIES.contains(&name)
                    && !is_excluded(name, &search.excluded_directories)
                {
                    open.push(path);
                }
            } else if (is_secret(&path) || search.follows_links && kind.is_symlink())
                && is_searched(root, &path, name, search)
                || kind.is_symlink() && IGNORE_FILES.contains(&name)
            {
                found.push(path);
                if found.len() >= MAX_SECRETS {
                    return Some(found);
                }
            }
        }
    }
    found.sort();
    Some(found)
}

fn is_searched(root: &AbsPath, path: &AbsPath, name: &str, search: &FileSearch) -> bool {
    if is_excluded(name, &search.exclude_patterns) {
        return false;
    }
    // A pattern that includes a file takes precedence over hidden and ignored files.
    if !search.include_patterns.is_empty() {
        return search.include_patterns.iter().any(|pattern| may_include(pattern, name));
    }
    let below = path.strip_prefix(root).unwrap_or_default();
    let hidden = below.split('/').any(|part| part.starts_with('.'));
    (search.includes_hidden || !hidden) && (search.includes_ignored || !is_ignored(path))
}

/// Returns whether a name is left out for certain. A pattern that ends in `/` is none for files.
fn is_excluded(name: &str, excluded: &[String]) -> bool {
    let plain = |pattern: &str| {
        let pattern = pattern.strip_prefix("**/").unwrap_or(pattern);
        !pattern.contains(['/', '[', '{', '?', '\\']) && name_may_match(pattern, name)
    };
    excluded.iter().any(|pattern| plain(pattern))
}

/// Returns whether a pattern of a search can match a file of this name, in whichever directory.
fn may_include(pattern: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    expand_braces(&pattern.to_lowercase()).iter().any(|pattern| {
        let last = pattern.rsplit('/').next().unwrap_or_default();
        last.is_empty() || last.contains('\\') || name_may_match(last, &name)
    })
}

/// Returns the patterns that a pattern with braces expands to, or `*` if there are too many.
fn expand_braces(pattern: &str) -> Vec<String> {
    const MOST: usize = 64;
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(pattern) = open.pop() {
        if open.len() + done.len() > MOST {
            return vec!["*".to_owned()];
        }
        let Some((before, inner, after)) = split_first_braces(&pattern) else {
            done.push(pattern);
            continue;
        };
        open.extend(split_alternatives(inner).map(|each| format!("{before}{each}{after}")));
    }
    done
}

/// Returns the text before the first braces, the text in them, and the text after them.
fn split_first_braces(pattern: &str) -> Option<(&str, &str, &str)> {
    let start = pattern.find('{')?;
    let mut depth = 0_usize;
    for (at, letter) in pattern.char_indices().skip_while(|(at, _)| *at < start) {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some((
                pattern.get(..start)?,
                pattern.get(start + 1..at)?,
                pattern.get(at + 1..)?,
            ));
        }
    }
    None
}

/// Splits at the commas that are not in braces themselves.
fn split_alternatives(inner: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    inner.split(move |letter| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
}

/// Returns whether git ignores a file for certain, as programs see it that read `.gitignore` in a repository.
fn is_ignored(path: &AbsPath) -> bool {
    let mut ignored = false;
    let mut directory = path.parent();
    while let Some(place) = directory {
        let exists = |name: &str| Path::new(place.join(name).as_str()).exists();
        // These can take a file in again.
        if exists(".ignore") || exists(".rgignore") {
            return false;
        }
        match ignore_state(&place, path) {
            Some(true) => ignored = true,
            Some(false) => return false,
            None => {}
        }
        if exists(".git") {
            return ignored;
        }
        directory = place.parent();
    }
    false
}

/// Returns whether the list of a directory ignores a file, or takes it in again; nothing if it does neither.
fn ignore_state(directory: &AbsPath, path: &AbsPath) -> Option<bool> {
    let list = directory.join(".gitignore");
    let size = fs::metadata(list.as_str()).ok()?.len();
    let text = if size > MAX_IGNORE_FILE_BYTES {
        String::new()
    } else {
        fs::read_to_string(list.as_str()).ok()?
    };
    let below = path.strip_prefix(directory)?;
    let mut found = None;
    for line in
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        match line.strip_prefix('!') {
            Some(line) if line_may_match(line, below) => return Some(false),
            None if line_matches(line, below) => found = Some(true),
            _ => {}
        }
    }
    found
}

/// Returns whether a line names a file, or a directory above it, for certain.
fn line_matches(line: &str, below: &str) -> bool {
    if line.contains(['[', '?', '\\']) {
        return false;
    }
    let plain = line.strip_prefix("**/").unwrap_or(line);
    let directory_only = plain.ends_with('/');
    let plain = plain.trim_end_matches('/');
    match plain.strip_prefix('/').unwrap_or(plain) {
        path if path.contains('*') && path.contains('/') => false,
        path if plain.contains('/') && !path.contains('*') => {
            let rest = below.strip_prefix(path);
            rest.is_some_and(|rest| rest.starts_with('/') || rest.is_empty() && !directory_only)
        }
        name => {
            let mut parts: Vec<&str> = below.split('/').collect();
            if directory_only {
                parts.pop();
            }
            let anchored = plain.starts_with('/');
            let parts = parts.iter().take(if anchored { 1 } else { usize::MAX });
            parts.into_iter().any(|part| name_may_match(name, part))
        }
    }
}

/// Returns whether a line can name a file.
fn line_may_match(line: &str, below: &str) -> bool {
    let last = line.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    below.split('/').any(|part| last.contains('\\') || name_may_match(last, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(search: &FileSearch, files: &[(&str, &str)]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = find_searched_secrets(&root, search, &StepBudget::new()).unwrap();
        found.iter().map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect()
    }

    fn everything() -> FileSearch {
        FileSearch { includes_hidden: true, includes_ignored: true, ..FileSearch::default() }
    }

    #[test]
    fn a_search_reaches_the_secrets_that_its_options_take_in() {
        let files = [(".env", ""), ("a.rs", ""), ("certs/x.pem", ""), (".git/config", "")];
        assert_eq!(found(&everything(), &files), [".env", "certs/x.pem"]);
        assert_eq!(
            found(&FileSearch { includes_hidden: false, ..everything() }, &files),
            ["certs/x.pem"]
        );
        for (pattern, expected) in [
            ("{.env,a}", vec![".env"]),
            (".e*", vec![".env"]),
            (".[e]nv", vec![".env"]),
            ("**/{x,{.e,y}}nv", vec![".env"]),
            ("*.PEM", vec!["certs/x.pem"]),
            ("*.rs", vec![]),
        ] {
            let included = vec![pattern.to_owned()];
            assert_eq!(
                found(&FileSearch { include_patterns: included, ..FileSearch::default() }, &files),
                expected,
                "{pattern}"
            );
        }
        let (excluded, directories) = (vec![".env".to_owned()], vec!["certs".to_owned()]);
        let narrowed = FileSearch {
            exclude_patterns: excluded,
            excluded_directories: directories,
            ..everything()
        };
        assert_eq!(found(&narrowed, &files), [""; 0]);
        // A name of files is none of directories, and the other way round.
        let (excluded, directories) = (vec!["certs".to_owned()], vec![".env".to_owned()]);
        let narrowed = FileSearch {
            exclude_patterns: excluded,
            excluded_directories: directories,
            ..everything()
        };
        assert_eq!(found(&narrowed, &files), [".env", "certs/x.pem"]);
        let excluded = vec![".env/".to_owned()];
        assert_eq!(
            found(&FileSearch { exclude_patterns: excluded, ..everything() }, &files),
            [".env", "certs/x.pem"]
        );
    }

    #[test]
    fn files_that_git_ignores_are_not_searched() {
        let searched = FileSearch { includes_hidden: true, ..FileSearch::default() };
        for (list, expected) in [
            (".env\n", vec![]),
            ("/.env\n", vec![]),
            (".env*\n", vec![]),
            (".env*\n!.env\n", vec![".env"]),
            (".env*\n!.e[n]v\n", vec![".env"]),
            ("*.pem\n", vec![".env"]),
            (".env/\n", vec![".env"]),
        ] {
            let files = [(".env", ""), (".git/HEAD", ""), (".gitignore", list)];
            assert_eq!(found(&searched, &files), expected, "{list:?}");
            // Without a repository the list does not count.
            assert_eq!(found(&searched, &files[..1]), [".env"]);
            let again = [files[0], files[1], files[2], (".ignore", "!.env")];
            assert_eq!(found(&searched, &again), [".env"], "{list:?}");
        }
    }
}
