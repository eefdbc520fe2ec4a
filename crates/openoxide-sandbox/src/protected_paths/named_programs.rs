//! Programs that existing configuration names. `filter.x.clean = ./tools/clean` makes `git add` run
//! a file of the project, and so does a hook that calls one. Such a file has the same effect as the
//! line that names it.

use std::{
    ffi::OsStr,
    fs,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Component, Path, PathBuf},
};

use serde_json::Value;

use crate::protected_paths::{git_config::config_levels::resolve_path, regular_file::open_regular};

/// The maximum number of bytes that are read from a file. A longer file was not written by a
/// person.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// The maximum number of files that are read in a directory of hooks or settings, and the maximum
/// depth.
const MAX_FILES: usize = 500;
const MAX_DEPTH: usize = 2;
/// The maximum number of directories that are searched for one command, and of documents that are
/// protected for one file.
const MAX_DIRECTORIES: usize = 32;
const MAX_IMPORTS: usize = 100;
/// The extensions of documents that are read as instructions. Data files that instructions name
/// (`@package.json`) are not included, because programs write to them.
const DOCUMENT_EXTENSIONS: &[&str] = &["adoc", "markdown", "md", "mdc", "org", "rst", "txt"];
/// The extensions of configuration files that name programs.
const DATA_EXTENSIONS: &[&str] =
    &["cfg", "conf", "ini", "json", "json5", "jsonc", "properties", "rc", "toml", "yaml", "yml"];
/// The extensions of files that an interpreter runs.
const SCRIPT_EXTENSIONS: &[&str] = &[
    "bash", "bat", "cjs", "cmd", "cts", "fish", "js", "ksh", "lua", "mjs", "mts", "php", "pl",
    "ps1", "py", "rb", "sh", "tcl", "ts", "zsh",
];

/// Returns the files that this text names, searched for in these directories.
pub(super) fn find_named_files(text: &str, bases: &[&Path]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for word in split_words(text) {
        for base in bases {
            for path in candidate_paths(word, base) {
                if path.is_file() {
                    found.push(path);
                } else if word.contains(['*', '?']) {
                    found.extend(find_matching_files(&path));
                }
            }
        }
    }
    found
}

/// Returns the directories that a text names. A command may search each of them for the files that
/// it names next: `cd tools && ./x`, `T=tools; $T/x`.
pub(super) fn find_named_directories(text: &str, bases: &[PathBuf]) -> Vec<PathBuf> {
    let named = split_words(text)
        .flat_map(|word| bases.iter().map(move |base| normalize_path(&base.join(word))));
    let is_new = |path: &PathBuf| !bases.contains(path) && path.is_dir();
    named.filter(is_new).take(MAX_DIRECTORIES).collect()
}

/// Returns the directories from which the interpreters of a command load modules: `-Ilib`,
/// `PYTHONPATH=tools`. Any file that is created there is run.
pub(super) fn find_module_directories(text: &str, bases: &[PathBuf]) -> Vec<PathBuf> {
    let words =
        text.split(|character: char| character.is_whitespace() || "'\"`;&|()!".contains(character));
    let lists = words.filter_map(|word| match word.split_once('=') {
        Some((name, value)) if name.ends_with("PATH") || name.ends_with("LIB") => Some(value),
        _ => word.strip_prefix("-I"),
    });
    let named = lists.flat_map(|list| list.split(':')).filter(|name| !name.is_empty());
    let paths =
        named.flat_map(|name| bases.iter().map(move |base| normalize_path(&base.join(name))));
    paths.filter(|path| path.is_dir()).take(MAX_DIRECTORIES).collect()
}

/// Returns the files whose names begin with the part of the last component that precedes its first
/// wildcard.
fn find_matching_files(pattern: &Path) -> Vec<PathBuf> {
    let (Some(directory), Some(name)) = (pattern.parent(), pattern.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let beginning = name.split(['*', '?']).next().unwrap_or_default();
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_FILES);
    let begins_so = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning))
        .map(|entry| entry.path());
    begins_so.filter(|path| path.is_file()).collect()
}

/// Returns the programs and scripts that a settings file of the user names. Its permission settings
/// are ignored, because they run nothing.
pub(super) fn find_settings_programs(settings: &Path, bases: &[&Path]) -> Vec<PathBuf> {
    let Some(text) = read_text(settings) else { return Vec::new() };
    let text = match serde_json::from_str::<Value>(&text) {
        Ok(value) => collect_strings(&value),
        Err(_) => text,
    };
    find_named_files(&text, bases).into_iter().filter(|path| is_program(path)).collect()
}

/// Returns all strings of a JSON value, one on each line. Fields that contain tool permissions or
/// the history are left out.
fn collect_strings(value: &Value) -> String {
    const OTHER: &[&str] = &["permissions", "permission", "projects", "history"];
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(values) => values.iter().map(collect_strings).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| !OTHER.contains(&name.as_str()));
            fields.map(|(_, value)| collect_strings(value)).collect()
        }
        _ => String::new(),
    }
}

/// Returns the documents that agent instructions import. `@docs/rules.md` is read as if the content
/// of that file were written there.
pub(super) fn find_imported_documents(instructions: &Path) -> Vec<PathBuf> {
    let (Some(text), Some(base)) = (read_text(instructions), instructions.parent()) else {
        return Vec::new();
    };
    let punctuation = |character: char| "`'\"()[]{}<>,;:!*_".contains(character);
    let names = text.split_whitespace().filter_map(|word| {
        let name = word.trim_start_matches(punctuation).strip_prefix('@')?;
        Some(name.trim_end_matches(|last: char| last == '.' || punctuation(last)))
    });
    let is_document = |path: &PathBuf| {
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        DOCUMENT_EXTENSIONS.iter().any(|known| ending.eq_ignore_ascii_case(known)) && path.is_file()
    };
    let paths = names.map(|name| normalize_path(&resolve_path(base, name))).filter(is_document);
    paths.take(MAX_IMPORTS).collect()
}

/// Returns the programs and scripts that are named by a configuration file, or by the files in a
/// directory.
pub(super) fn find_named_programs(configuration: &Path, bases: &[&Path]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in list_files(configuration).into_iter().filter(|file| may_name_program(file)) {
        let own = file.parent().unwrap_or(configuration);
        let bases: Vec<_> = bases.iter().copied().chain([own]).collect();
        let text = read_text(&file).unwrap_or_default();
        found.extend(find_named_files(&text, &bases).into_iter().filter(|path| is_program(path)));
    }
    found
}

/// Returns the targets of the symbolic links in a directory, by their own paths.
pub(super) fn find_link_targets(directory: &Path) -> Vec<PathBuf> {
    let is_link = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    list_files(directory).into_iter().filter(is_link).collect()
}

/// Returns the file itself, or the files in a directory and its subdirectories that can name a
/// program.
fn list_files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let (mut files, mut open) = (Vec::new(), vec![(path.to_owned(), 0)]);
    while let Some((directory, depth)) = open.pop() {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        for entry in entries.take(MAX_FILES) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    open.push((entry.path(), depth + 1));
                }
                Ok(kind) if kind.is_dir() => {}
                _ => files.push(entry.path()),
            }
        }
        if files.len() > MAX_FILES {
            break;
        }
    }
    files
}

fn may_name_program(file: &Path) -> bool {
    let ending = file.extension().and_then(OsStr::to_str).unwrap_or_default();
    ending.is_empty() || SCRIPT_EXTENSIONS.contains(&ending) || DATA_EXTENSIONS.contains(&ending)
}

fn read_text(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    open_regular(file).ok()?.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_program(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    SCRIPT_EXTENSIONS.contains(&ending)
        || path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

/// Returns the words of a text that can contain a path. The characters that shells, TOML, YAML and
/// JSON put around words are removed, and so are variables at their beginning.
fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let divides =
        |character: char| character.is_whitespace() || "\"'`;|&()<>{}[],=:!\\".contains(character);
    text.split(divides).map(strip_variable).filter(|word| word.len() > 1)
}

/// Removes a variable from the beginning of a word. `$CLAUDE_PROJECT_DIR/hooks/x` becomes
/// `/hooks/x`. For `$0` and similar variables, nothing remains.
fn strip_variable(word: &str) -> &str {
    let Some(rest) = word.strip_prefix('$') else { return word };
    rest.trim_start_matches(|character: char| character.is_ascii_alphanumeric() || character == '_')
}

/// Returns the paths that a word can refer to: the word itself, and the file of a Python module. A
/// word that begins with `/` may be relative to the project's directory, if a variable was removed.
fn candidate_paths(word: &str, base: &Path) -> Vec<PathBuf> {
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
    paths.into_iter().map(|path| normalize_path(&path)).collect()
}

/// Removes `.` and `..`, because the file must be guarded by one name.
pub(super) fn normalize_path(path: &Path) -> PathBuf {
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

    /// Creates a directory with these files.
    fn tree(files: &[&str]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for file in files {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        directory
    }

    fn below(directory: &tempfile::TempDir, paths: Vec<PathBuf>) -> Vec<String> {
        let name = |path: PathBuf| {
            path.strip_prefix(directory.path()).unwrap().to_str().unwrap().to_owned()
        };
        let mut names: Vec<_> = paths.into_iter().map(name).collect();
        names.sort();
        names.dedup();
        names
    }

    #[test]
    fn settings_name_programs_and_not_by_their_permissions() {
        let place = tree(&["hooks/a.sh", "key.sh", "manage.py", "status.py", "notes.md"]);
        let settings = place.path().join("settings.json");
        let text = r#"{"permissions": {"allow": ["Bash(python manage.py:*)"]}, "apiKeyHelper": "./key.sh",
            "hooks": {"Stop": [{"hooks": [{"command": "sh ./hooks/a.sh notes.md"}]}]},
            "statusLine": {"command": "$HOME/x; cd . && python3 status.py"}}"#;
        fs::write(&settings, text).unwrap();
        let found = find_settings_programs(&settings, &[place.path()]);
        assert_eq!(below(&place, found), ["hooks/a.sh", "key.sh", "status.py"]);
        fs::write(&settings, "// a comment\n{\"command\": \"key.sh\"}").unwrap();
        let found = find_settings_programs(&settings, &[place.path()]);
        assert_eq!(below(&place, found), ["key.sh"], "what is not JSON is read as words");
    }

    #[test]
    fn documents_that_instructions_import_are_found() {
        let place = tree(&["docs/a.md", "docs/b.txt", "package.json", "c.md", "d.md", "e.md"]);
        let text = "See @docs/a.md, and `@./docs/../docs/b.txt`. Commands: @package.json\n\
                    mail me@c.md\n- @d.md.\n@nothing.md (@e.md)";
        fs::write(place.path().join("CLAUDE.md"), text).unwrap();
        let found = find_imported_documents(&place.path().join("CLAUDE.md"));
        assert_eq!(below(&place, found), ["d.md", "docs/a.md", "docs/b.txt", "e.md"]);
    }

    #[test]
    fn directories_of_commands_are_found() {
        let place = tree(&["tools/lib/x.pm", "py/m.py", "other/y"]);
        let bases = [place.path().to_owned()];
        let found = |text: &str| below(&place, find_named_directories(text, &bases));
        assert_eq!(found("!sh -c \"cd tools && ./yy.sh\""), ["tools"]);
        assert_eq!(found("!T=tools; $T/var.sh"), ["tools"]);
        let found = |text: &str| below(&place, find_module_directories(text, &bases));
        assert_eq!(found("perl -Itools/lib %O"), ["tools/lib"]);
        assert_eq!(found("PYTHONPATH=py:other:nothing python3 -m m"), ["other", "py"]);
        assert_eq!(found("make other"), NONE);
    }

    const NONE: [&str; 0] = [];

    #[test]
    fn wildcards_name_matching_files() {
        let place = tree(&["tools/a.run", "tools/b.run", "x.sh"]);
        let found = |text: &str| below(&place, find_named_files(text, &[place.path()]));
        assert_eq!(found("./tools/*.run"), ["tools/a.run", "tools/b.run"]);
        assert_eq!(found("tools/b?run"), ["tools/b.run"]);
    }

    #[test]
    fn words_are_found_between_shell_and_data_syntax() {
        let found = |text| split_words(text).collect::<Vec<_>>();
        assert_eq!(found("clean = ./tools/clean -- %f"), ["clean", "./tools/clean", "--", "%f"]);
        assert_eq!(found(r#"{"command":"$CLAUDE_PROJECT_DIR/x.sh"}"#), ["command", "/x.sh"]);
        assert_eq!(
            found("exec \"$(git rev-parse --show-toplevel)/x/y\" \"$@\""),
            ["exec", "git", "rev-parse", "--show-toplevel", "/x/y"]
        );
        assert_eq!(found("!sh -c 'cd ${0}/a && b'"), ["sh", "-c", "cd", "/a"]);
    }
}
