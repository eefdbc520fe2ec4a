//! Searches below a directory: which files with secrets they would print lines of.
//!
//! A search is free inside the project, and reading a secret is not. So each secret file that a search would reach is a read of its
//! own, with its name.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use openoxide_adapters::is_plain_filter;
use openoxide_permission::safety_floor::is_secret;
use openoxide_protocol::{
    AbsPath, Access, CommandClass, FileSearch, OperationFacts, PathAccess, Span,
};
use openoxide_store::{FileReadError, read_regular_file, read_text};

use crate::{
    git_credentials, git_repository::TrackedFiles, name_pattern::name_may_match,
    step_budget::StepBudget,
};

/// The maximum number of entries below a directory. Beyond it, the secrets that a search would
/// reach are unknown.
const MAX_ENTRIES: usize = 32_768;
/// The maximum number of secret files that are listed.
const MAX_SECRETS: usize = 16;
/// Larger lists of ignored files are not read.
const MAX_IGNORE_FILE_BYTES: u64 = 65_536;
/// Longer lines and patterns are not believed.
const MAX_LINE_BYTES: usize = 1024;
/// Directories with packages of others: what has the name of a secret there is part of a package.
const PACKAGE_DIRECTORIES: [&str; 3] = ["node_modules", "site-packages", ".git"];
/// The pattern of a search that prints the lines of no file.
const NO_FILE: &str = "\0";
/// Lists of ignored files, which programs read wherever they are; errors show lines of them.
const IGNORE_FILES: [&str; 6] =
    [".ignore", ".rgignore", ".fdignore", ".gitignore", ".git/info/exclude", ".hgignore"];
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
    // Other commands of the script can add files to the index.
    let keeps_index = !others.iter().any(may_change_index);
    facts.accesses = others;
    let mut seen: Vec<PathAccess> = Vec::new();
    for access in searches {
        let Access::Read(path) = access else { continue };
        let looked_up = steps.take_steps(1 + seen.len() / 8);
        // The place in the script does not matter.
        let anywhere = PathAccess { span: Span::default(), ..path.clone() };
        let is_new = !looked_up || !seen.contains(&anywhere);
        let Some(mut search) = path.search.clone().filter(|_| is_new) else { continue };
        search.tracked_only &= keeps_index;
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

/// Returns whether an access is a program that may add files to the index of a repository.
fn may_change_index(access: &Access) -> bool {
    matches!(access, Access::Exec(exec) if exec.class != CommandClass::Harmless)
        || matches!(access, Access::Opaque { .. } | Access::Edit(_))
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
    let mut walk = SearchWalk::new(root);
    let mut found = walk.find_secrets(search, steps)?;
    found.extend(linked_ignore_files(root, search));
    let above = std::iter::successors(root.parent(), AbsPath::parent);
    walk.included.extend(above.flat_map(|directory| included_lines(&directory)));
    let is_included =
        |path: &AbsPath| walk.included.iter().any(|line| line_may_match(line, path.as_str()));
    let excludes = !search.exclude_patterns.is_empty() || !search.excluded_directories.is_empty();
    let includes_hidden =
        search.obeys_ignore_files && walk.included.iter().any(|line| may_name_hidden(line));
    if !includes_hidden && (!excludes || walk.included.is_empty()) {
        return Some(found);
    }
    // In some programs such a line takes precedence over an option that excludes files.
    let all = FileSearch {
        include_patterns: search.include_patterns.clone(),
        includes_hidden: search.includes_hidden || includes_hidden,
        ..FileSearch::all_files()
    };
    let hidden = SearchWalk::new(root).find_secrets(&all, steps)?;
    found.extend(hidden.into_iter().filter(is_included));
    found.sort();
    found.dedup();
    Some(found)
}

/// Returns the lists of ignored files above a directory that are links, if a search reads them. An
/// error shows a line that is not a pattern.
fn linked_ignore_files(root: &AbsPath, search: &FileSearch) -> Vec<AbsPath> {
    if search.includes_ignored && !search.obeys_ignore_files {
        return Vec::new();
    }
    let exists = |path: &AbsPath| Path::new(path.as_str()).symlink_metadata().is_ok();
    let mut found = Vec::new();
    let mut open = Some(root.clone());
    while let Some(directory) = open {
        let lists = IGNORE_FILES
            .map(|name| directory.join(name))
            .into_iter()
            .filter(|list| fs::symlink_metadata(list.as_str()).is_ok_and(|kind| kind.is_symlink()));
        found.extend(lists);
        // What is above a repository belongs to the user.
        open = directory.parent().filter(|_| !exists(&directory.join(".git")));
    }
    found
}

/// Returns whether a program may remove this letter at the ends of a line of a list.
fn is_invisible(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || matches!(letter, '\u{feff}' | '\u{200b}')
}

/// Returns the lines of the lists of a directory that take files in again.
fn included_lines(directory: &AbsPath) -> Vec<String> {
    let text = |name: &&str| {
        let list = directory.join(name);
        match read_regular_file(Path::new(list.as_str()), MAX_IGNORE_FILE_BYTES) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(FileReadError::TooLong(_)) => Some("!*".to_owned()),
            // Programs read a pipe, too, and what it contains then is not known.
            Err(FileReadError::NotRegular) => (!is_directory(&list)).then(|| "!*".to_owned()),
            Err(_) => None,
        }
    };
    let texts: Vec<String> = IGNORE_LISTS.iter().filter_map(text).collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    let negated = |line: &str| line.trim_matches(is_invisible).strip_prefix('!').map(str::to_owned);
    lines.filter_map(negated).collect()
}

fn is_directory(path: &AbsPath) -> bool {
    fs::metadata(path.as_str()).is_ok_and(|found| found.is_dir())
}

/// Returns whether a line can name a hidden file or directory.
fn may_name_hidden(line: &str) -> bool {
    line.split('/').any(|part| part.starts_with(['.', '*', '?', '[', '\\', '{']))
}

/// A search for the secret files below a directory.
struct SearchWalk<'a> {
    root: &'a AbsPath,
    /// Whether the root is certainly spelled without links.
    is_real: bool,
    /// The lines by which the directories on the way take files in again.
    included: Vec<String>,
    tracked: TrackedFiles,
}

impl<'a> SearchWalk<'a> {
    fn new(root: &'a AbsPath) -> Self {
        let real = fs::canonicalize(root.as_str());
        let is_real = real.is_ok_and(|real| real == Path::new(root.as_str()));
        Self { root, is_real, included: Vec::new(), tracked: TrackedFiles::default() }
    }

    /// Returns the secret files that a search reaches; nothing if too much would have to be looked
    /// at.
    fn find_secrets(&mut self, search: &FileSearch, steps: &StepBudget) -> Option<Vec<AbsPath>> {
        let mut found = Vec::new();
        let mut open = vec![PathBuf::from(self.root.as_str())];
        let mut count = 0;
        while let Some(directory) = open.pop() {
            if !steps.take_directory() {
                return None;
            }
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                // Programs that open each directory in the one above reach the files there.
                Err(error) if error.kind() == ErrorKind::InvalidFilename => return None,
                Err(_) => continue,
            };
            let named = AbsPath::new(&directory.to_string_lossy()).ok()?;
            self.included.extend(included_lines(&named));
            for entry in entries.filter_map(Result::ok) {
                count += 1;
                if count > MAX_ENTRIES
                    || !steps.take_steps(
                        1 + search.exclude_patterns.len() + search.excluded_directories.len(),
                    )
                {
                    return None;
                }
                // A name that is not text still has the ending of a secret.
                let name = entry.file_name();
                let (name, Ok(kind)) = (name.to_string_lossy(), entry.file_type()) else {
                    continue;
                };
                let path = named.join(&name);
                if kind.is_symlink()
                    && search.includes_matching_directories
                    && self.is_searched(&path, search)
                    && entry.path().is_dir()
                {
                    return None;
                }
                if kind.is_dir() {
                    let passed = search.includes_hidden
                        || !search.include_patterns.is_empty()
                        || !name.starts_with('.');
                    if !passed || is_excluded(&name, &search.excluded_directories) {
                        continue;
                    }
                    if name == ".git" {
                        open.push(entry.path().join("modules"));
                        let configs = ["config", "config.worktree"].map(|name| path.join(name));
                        found.extend(configs.into_iter().filter(|path| {
                            git_credentials::is_secret_config(path)
                                && self.is_searched(path, search)
                        }));
                    } else if !PACKAGE_DIRECTORIES.contains(&&*name) {
                        open.push(entry.path());
                    }
                } else if (is_secret(&path)
                    || search.follows_links && kind.is_symlink()
                    || git_credentials::is_secret_config(&path))
                    && self.is_searched(&path, search)
                    || kind.is_symlink() && IGNORE_FILES.contains(&&*name)
                {
                    found.push(path);
                }
                if found.len() >= MAX_SECRETS {
                    return Some(found);
                }
            }
        }
        found.sort();
        Some(found)
    }

    fn is_searched(&self, path: &AbsPath, search: &FileSearch) -> bool {
        let name = path.file_name().unwrap_or_default();
        if is_excluded(name, &search.exclude_patterns)
            || search.tracked_only && self.is_real && self.tracked.is_untracked(path, self.root)
        {
            return false;
        }
        // A pattern that includes a file takes precedence over hidden and ignored files.
        let matches =
            |name: &str| search.include_patterns.iter().any(|pattern| may_include(pattern, name));
        let below = path.strip_prefix(self.root).unwrap_or_default();
        if !search.include_patterns.is_empty() {
            let root = self.root.file_name().unwrap_or_default();
            return matches(name)
                || search.includes_matching_directories
                    && below.split('/').chain([".", "..", root]).any(matches);
        }
        let hidden = below.split('/').any(|part| part.starts_with('.'));
        (search.includes_hidden || !hidden)
            && (search.includes_ignored
                || !self.is_real
                || !is_ignored(path, self.root)
                || self.tracked.may_track(path))
    }
}

/// Returns whether a name is left out for certain. A pattern that ends in `/` is none for files.
fn is_excluded(name: &str, excluded: &[String]) -> bool {
    let plain = |pattern: &str| {
        pattern.len() <= MAX_LINE_BYTES
            && !pattern.contains(['/', '[', '{', '?', '\\'])
            && name_may_match(pattern, name)
    };
    excluded.iter().any(|pattern| plain(pattern))
}

/// Returns whether a pattern of a search can match a file of this name, in whichever directory.
fn may_include(pattern: &str, name: &str) -> bool {
    if pattern == NO_FILE {
        return false;
    }
    if !is_plain_filter(pattern) {
        return true;
    }
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

/// Returns whether a search from `root` leaves out a file for certain, because a `.gitignore` in a
/// repository names it. Git, ripgrep and others read these files in different ways. A line is
/// believed only if all of them read it in the same way, and if it names the file or a directory
/// below `root`: what a command names is searched, also if a line names it.
pub(crate) fn is_ignored(path: &AbsPath, root: &AbsPath) -> bool {
    let mut ignored = false;
    let mut directory = path.parent();
    while let Some(place) = directory {
        let exists = |name: &str| Path::new(place.join(name).as_str()).symlink_metadata().is_ok();
        // These can include a file again.
        if exists(".ignore") || exists(".rgignore") {
            return false;
        }
        match ignore_state(&place, path, root) {
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

/// Returns whether the list of a directory ignores a file, or may include it again; nothing if it
/// does neither.
fn ignore_state(directory: &AbsPath, path: &AbsPath, root: &AbsPath) -> Option<bool> {
    let list = directory.join(".gitignore");
    let meta = match fs::symlink_metadata(list.as_str()) {
        Ok(meta) => meta,
        Err(error) => return (error.kind() != ErrorKind::NotFound).then_some(false),
    };
    // Git does not follow a link here.
    if !meta.is_file() {
        return Some(false);
    }
    let Ok(text) = read_text(Path::new(list.as_str()), MAX_IGNORE_FILE_BYTES) else {
        return Some(false);
    };
    let below = path.strip_prefix(directory)?;
    let depth = root
        .strip_prefix(directory)
        .map_or(0, |above| above.split('/').filter(|part| !part.is_empty()).count());
    let mut found = None;
    for line in text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)) {
        match line.trim_matches(is_invisible).strip_prefix('!') {
            Some(line) if line_may_match(line, below) => return Some(false),
            None if !line.starts_with('#') && line_matches(line, below, depth) => {
                found = Some(true);
            }
            _ => {}
        }
    }
    found
}

/// Returns whether a line names a file for certain, or a directory above it that has more than
/// `depth` components, the number of directories from the list to the start of the search. ripgrep 13
/// and 14 and fd 8.6 ignore a line with a slash there if that is not zero: `/config/key` does not
/// apply to `rg x config`.
fn line_matches(line: &str, below: &str, depth: usize) -> bool {
    let is_printable = |letter: char| letter.is_ascii_graphic() || letter == ' ';
    if line.len() > MAX_LINE_BYTES
        || !line.chars().all(is_printable)
        || line.trim() != line
        || line.contains(['[', '?', '\\', '{', '}'])
    {
        return false;
    }
    let plain = line.strip_prefix("**/").unwrap_or(line);
    let directory_only = plain.ends_with('/');
    let plain = plain.strip_suffix('/').unwrap_or(plain);
    let is_anchored = line.starts_with('/');
    let name = plain.strip_prefix('/').unwrap_or(plain);
    if name.is_empty()
        || name.contains("**")
        || name.split('/').any(|part| matches!(part, "" | "." | ".."))
        || is_anchored != plain.starts_with('/')
        || depth > 0 && (is_anchored || name.contains('/'))
    {
        return false;
    }
    let parts: Vec<&str> = below.split('/').collect();
    let named = parts.len() - usize::from(directory_only);
    if name.contains('/') {
        // Such a line is relative to the directory of the list.
        let wanted: Vec<&str> = name.split('/').collect();
        return !line.starts_with("**/")
            && !name.contains('*')
            && wanted.len() <= named
            && parts.starts_with(&wanted);
    }
    let last = if is_anchored { named.min(1) } else { named };
    parts.iter().take(last).skip(depth).any(|part| name_may_match(name, part))
}

/// Returns whether a line can name a file.
fn line_may_match(line: &str, below: &str) -> bool {
    let last = line.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_odd = last.is_empty() || last.contains(['\\', '[', '{', '?']) || !last.is_ascii();
    let last = last.trim_matches(is_invisible).to_lowercase();
    below.split('/').any(|part| is_odd || name_may_match(&last, &part.to_lowercase()))
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

    /// Returns whether a script in this directory reads a secret, or is not understood.
    fn may_print_secret(script: &str, cwd: &AbsPath) -> bool {
        let action = openoxide_protocol::Action::Command { script: script.to_owned() };
        let place = crate::operation_facts::CallLocation { cwd, home: None };
        let facts = crate::operation_facts::collect_action_facts(&action, "Bash", place);
        facts.accesses.iter().any(|access| {
            matches!(access, Access::Opaque { .. })
                || matches!(access, Access::Read(path) if is_secret(&path.path))
        })
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
            // ripgrep 13 and 14 ignore a brace that closes nothing: `rg --hidden -g '.env}' x`
            // searches `.env`.
            (".env}", vec![".env", "certs/x.pem"]),
            ("**?}.pem**", vec![".env", "certs/x.pem"]),
            // ripgrep reads a filter as a line of a `.gitignore`: a comment, and blanks at the end.
            ("#x", vec![".env", "certs/x.pem"]),
            (".env ", vec![".env", "certs/x.pem"]),
            ("\n", vec![".env", "certs/x.pem"]),
            // ugrep negates it.
            ("^x", vec![".env", "certs/x.pem"]),
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

    /// Run with GNU grep 3.8: `find . -name 'PATTERN' | xargs -r grep -r x`.
    #[test]
    fn names_that_find_prints_are_searched_with_what_is_below_them() {
        let files = [(".env", ""), ("a.py", ""), ("b.py/c/.env", ""), ("certs/x.pem", "")];
        for (pattern, expected) in [
            ("*.md", vec![]),
            ("*.py", vec!["b.py/c/.env"]),
            ("certs", vec!["certs/x.pem"]),
            ("*.pem", vec!["certs/x.pem"]),
            (".", vec![".env", "b.py/c/.env", "certs/x.pem"]),
            ("*", vec![".env", "b.py/c/.env", "certs/x.pem"]),
        ] {
            let search = FileSearch {
                include_patterns: vec![pattern.to_owned()],
                includes_matching_directories: true,
                ..everything()
            };
            assert_eq!(found(&search, &files), expected, "{pattern}");
        }
    }

    /// The start of a search is printed, too, and programs follow links that they are given.
    #[test]
    fn the_start_of_a_search_and_links_to_directories_can_be_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("d.py");
        fs::create_dir_all(root.join("certs")).unwrap();
        fs::write(root.join("certs/x.pem"), "").unwrap();
        let search = |pattern: &str| FileSearch {
            include_patterns: vec![pattern.to_owned()],
            includes_matching_directories: true,
            ..everything()
        };
        let place = AbsPath::new(root.to_str().unwrap()).unwrap();
        let found =
            |pattern: &str| find_searched_secrets(&place, &search(pattern), &StepBudget::new());
        assert_eq!(found("*.py").unwrap(), [place.join("certs/x.pem")]);
        assert_eq!(found("*.md").unwrap(), []);
        std::os::unix::fs::symlink("certs", root.join("e.md")).unwrap();
        assert_eq!(found("*.md"), None);
    }

    #[test]
    fn a_program_searches_only_the_files_that_find_prints() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        for name in [".env", "a.md"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let prints_secret = |script: &str| may_print_secret(script, &root);
        for script in [
            "find . -name '*.md' | xargs grep -n x",
            "find . -name '*.md' -exec grep -n x {} +",
            "grep -rn x $(find . -name '*.md')",
        ] {
            assert!(!prints_secret(script), "{script}");
        }
        for script in [
            "find . | xargs grep -n x",
            "find . -name '*.md' -o -type f | xargs grep -n x",
            "find . ! -name '*.md' | xargs grep -n x",
            "find . -name '*.md' | xargs grep -rn x .",
            "grep -rn x $(find . -name '*.md') .",
            "grep -rn x $(find . -name '*.md') $(find . -type f)",
            "find . -name '*.md' | xargs grep -f .env",
        ] {
            assert!(prints_secret(script), "{script}");
        }
    }

    /// Run with ugrep 7.5, which is the `grep` of Claude Code's shell.
    #[test]
    fn a_grep_that_searches_the_directory_in_ugrep_prints_its_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        for name in [".env", "a.md"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        for script in [
            "grep -2 x",
            "ls | grep -3 x",
            "grep -1 x < a.md",
            "grep -2 x -",
            "grep -9 --directories=skip x .",
            "grep -r x -",
            "grep -rn -e x -- -",
            "grep --include='*/' x",
            "grep -R x -",
            "grep -d recurse x -",
            "ugrep -1 x",
            "ls | ugrep -3 x",
            "ugrep -r x -",
            "ugrep x",
            "ugrep --files x",
            "ugrep -d recurse x",
            "ugrep --directories=dereference-recurse x",
            "grep -d recurse x",
            "ugrep -r x -g '*.md,.env'",
            "ugrep -r x -g '*.md,.*'",
            "ugrep -r x -g '!a.md,.env'",
            "ugrep -r x -g '*.md\\,.env'",
            "ugrep -r x -g '*.md' -O env",
            "ugrep -r x -g '*.md' -M x",
            "ugrep -r x --include='*.md' --include-from=list",
        ] {
            assert!(may_print_secret(script, &root), "{script}");
        }
        for script in [
            "grep -2 x a.md",
            "ls | grep -C 2 x",
            "ls | grep -e x -",
            "grep -rn x a.md",
            "ugrep -r x -g '*.md,*.rs'",
            "ugrep -r x -g '*.md'",
        ] {
            assert!(!may_print_secret(script, &root), "{script}");
        }
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

    /// Run with ripgrep 13.0 and 14.1: `rg key config`.
    #[test]
    fn a_line_with_a_slash_does_not_apply_to_a_directory_that_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        for directory in [".git", "config"] {
            fs::create_dir(dir.path().join(directory)).unwrap();
        }
        fs::write(dir.path().join("config/master.key"), "").unwrap();
        for (list, from_root, named) in [
            ("/config/master.key\n", false, true),
            ("config/master.key\n", false, true),
            ("/config\n", false, true),
            ("*.key\n", false, false),
        ] {
            fs::write(dir.path().join(".gitignore"), list).unwrap();
            assert_eq!(may_print_secret("rg x", &root), from_root, "{list:?}");
            assert_eq!(may_print_secret("rg x config", &root), named, "{list:?}");
        }
    }

    /// Run with GNU grep 3.8, which prints lines of all of these files.
    #[test]
    fn names_that_are_not_text_and_long_paths_are_searched() {
        use std::os::unix::ffi::OsStrExt as _;
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        let name = |bytes: &[u8]| dir.path().join(std::ffi::OsStr::from_bytes(bytes));
        fs::create_dir(name(b"caf\xe9")).unwrap();
        fs::write(name(b"caf\xe9").join(".env"), "").unwrap();
        fs::write(name(b"\xe9.pem"), "").unwrap();
        let found = find_searched_secrets(&root, &everything(), &StepBudget::new()).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        let script =
            "for _ in $(seq 60); do mkdir -p $0 && cd -P . && cd $0 || exit 1; done; touch .env";
        let made = std::process::Command::new("bash")
            .args(["-c", script, &"x".repeat(100)])
            .current_dir(dir.path())
            .status();
        assert!(made.unwrap().success());
        assert_eq!(find_searched_secrets(&root, &everything(), &StepBudget::new()), None);
    }

    /// Run with git 2.39: `git grep` prints lines of a secret only if it is tracked.
    #[test]
    fn git_grep_searches_only_tracked_files() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let bash = |script: &str| {
            let mut bash = std::process::Command::new("bash");
            bash.args(["-c", script]).current_dir(&root).output().unwrap()
        };
        assert!(bash("git init -q . && echo key > .env").status.success());
        let cwd = AbsPath::new(root.to_str().unwrap()).unwrap();
        let may_print = |script: &str| may_print_secret(script, &cwd);
        for script in ["git grep -n key", "git grep -n key -- .", "cd . && git grep -n key; ls"] {
            assert!(!may_print(script), "{script}");
            assert!(bash(script).stdout.split(|byte| *byte == b':').all(|word| word != b"key"));
        }
        for script in [
            "git grep --untracked -n key",
            "git grep --no-index -n key",
            "git add .env; git grep -n key",
            "git grep -n key; make; git grep -n key",
            "git grep -n key $(git add .env)",
            "bash add.sh; git grep -n key",
            "grep -rn key .",
        ] {
            assert!(may_print(script), "{script}");
        }
        assert!(bash("git add .env").status.success());
        assert_eq!(bash("git grep key").stdout, b".env:key\n");
        assert!(may_print("git grep -n key"));
        // A repository in between does not remove the file from the index of the outer one.
        assert!(
            bash("git rm -qf .env; mkdir sub; echo key > sub/.env; git add .").status.success()
        );
        for nested in ["mkdir sub/.git", "rmdir sub/.git; git init -q sub"] {
            assert!(bash(nested).status.success());
            assert_eq!(bash("git grep key").stdout, b"sub/.env:key\n", "{nested}");
            assert!(may_print("git grep -n key"), "{nested}");
        }
    }

    /// `git ls-files` and `git grep` print a tracked file although `.gitignore` names it.
    #[test]
    fn tracked_files_are_searched_although_a_list_names_them() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let git = |words: &[&str]| {
            let done = std::process::Command::new("git").args(words).current_dir(&root).status();
            assert!(done.unwrap().success());
        };
        git(&["init", "-q", "."]);
        fs::write(root.join(".env"), "").unwrap();
        fs::write(root.join(".gitignore"), ".env\n").unwrap();
        let searched = FileSearch { includes_hidden: true, ..FileSearch::default() };
        let place = AbsPath::new(root.to_str().unwrap()).unwrap();
        let found = || find_searched_secrets(&place, &searched, &StepBudget::new()).unwrap();
        assert_eq!(found(), []);
        git(&["add", "-f", ".env"]);
        assert_eq!(found(), [place.join(".env")]);
    }
}
