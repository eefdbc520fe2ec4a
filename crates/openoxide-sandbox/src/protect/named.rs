//! Programs that existing configuration names: `filter.x.clean = ./tools/clean` makes `git add` run a file of the project,
//! and so does a hook that calls one. Such a file steers as much as the line that names it.

use std::{
    ffi::OsStr,
    fs,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Component, Path, PathBuf},
};

/// What is longer was not written by a person.
const LONGEST: u64 = 256 * 1024;
/// How many files of a directory of hooks or settings are read, and how deep.
const FILES: usize = 500;
const DEPTH: usize = 2;
/// How configuration ends that names programs.
const DATA: &[&str] =
    &["cfg", "conf", "ini", "json", "json5", "jsonc", "properties", "rc", "toml", "yaml", "yml"];
/// How files end that an interpreter runs.
const SCRIPTS: &[&str] = &[
    "bash", "bat", "cjs", "cmd", "cts", "fish", "js", "ksh", "lua", "mjs", "mts", "php", "pl",
    "ps1", "py", "rb", "sh", "tcl", "ts", "zsh",
];

/// Returns the files that this text names, looked for in these directories.
pub(super) fn named_files(text: &str, bases: &[&Path]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for word in words(text) {
        for base in bases {
            found.extend(candidates(word, base).into_iter().filter(|path| path.is_file()));
        }
    }
    found
}

/// Returns the programs and scripts that a configuration file names, or that the files in a directory name.
pub(super) fn named_programs(configuration: &Path, bases: &[&Path]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in files_at(configuration).into_iter().filter(|file| can_name_a_program(file)) {
        let own = file.parent().unwrap_or(configuration);
        let bases: Vec<_> = bases.iter().copied().chain([own]).collect();
        let text = text(&file).unwrap_or_default();
        found.extend(named_files(&text, &bases).into_iter().filter(|path| is_program(path)));
    }
    found
}

/// Returns where the symbolic links in a directory lead, by their own paths.
pub(super) fn links_in(directory: &Path) -> Vec<PathBuf> {
    let is_link = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    files_at(directory).into_iter().filter(is_link).collect()
}

/// The file itself, or those in a directory and in the directories in it that can name a program.
fn files_at(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let (mut files, mut open) = (Vec::new(), vec![(path.to_owned(), 0)]);
    while let Some((directory, depth)) = open.pop() {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        for entry in entries.take(FILES) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEPTH => open.push((entry.path(), depth + 1)),
                Ok(kind) if kind.is_dir() => {}
                _ => files.push(entry.path()),
            }
        }
        if files.len() > FILES {
            break;
        }
    }
    files
}

fn can_name_a_program(file: &Path) -> bool {
    let ending = file.extension().and_then(OsStr::to_str).unwrap_or_default();
    ending.is_empty() || SCRIPTS.contains(&ending) || DATA.contains(&ending)
}

fn text(file: &Path) -> Option<String> {
    let found = fs::metadata(file).ok()?;
    if !found.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(file).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_program(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    SCRIPTS.contains(&ending)
        || path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

/// The words of a text in which a path can be: what shells, TOML, YAML and JSON set around words is taken off, and so are
/// variables at their beginning.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let divides =
        |character: char| character.is_whitespace() || "\"'`;|&()<>{}[],=:!\\".contains(character);
    text.split(divides).map(without_variable).filter(|word| word.len() > 1)
}

/// `$CLAUDE_PROJECT_DIR/hooks/x` is `/hooks/x`; `$0` and its like name nothing.
fn without_variable(word: &str) -> &str {
    let Some(rest) = word.strip_prefix('$') else { return word };
    rest.trim_start_matches(|character: char| character.is_ascii_alphanumeric() || character == '_')
}

/// The paths that a word can mean: as it is, and as a Python module. A word that begins with `/` may have had the project's
/// directory in front of it.
fn candidates(word: &str, base: &Path) -> Vec<PathBuf> {
    let below = word.trim_start_matches('/');
    let mut paths = vec![base.join(below)];
    if word.starts_with('/') {
        paths.push(PathBuf::from(word));
    }
    if let (Some(rest), Some(home)) = (word.strip_prefix("~/"), std::env::home_dir()) {
        paths.push(home.join(rest));
    }
    if word.contains('.') && !word.contains('/') {
        let module = base.join(word.replace('.', "/"));
        paths.extend([module.with_extension("py"), module.join("__main__.py")]);
    }
    paths.into_iter().map(|path| plain(&path)).collect()
}

/// Without `.` and `..`: the file must be guarded by one name.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_what_shells_and_data_set_around_them() {
        let found = |text| words(text).collect::<Vec<_>>();
        assert_eq!(found("clean = ./tools/clean -- %f"), ["clean", "./tools/clean", "--", "%f"]);
        assert_eq!(found(r#"{"command":"$CLAUDE_PROJECT_DIR/x.sh"}"#), ["command", "/x.sh"]);
        assert_eq!(
            found("exec \"$(git rev-parse --show-toplevel)/x/y\" \"$@\""),
            ["exec", "git", "rev-parse", "--show-toplevel", "/x/y"]
        );
        assert_eq!(found("!sh -c 'cd ${0}/a && b'"), ["sh", "-c", "cd", "/a"]);
    }
}
