//! Selection of names by the tests of `find`.

use openoxide_protocol::{CommandWord, FileSearch};

/// The state of the tests up to the next `-o`.
#[derive(Clone, Copy, Debug, Default)]
struct FindAlternative {
    /// Whether a test has selected names.
    has_name_test: bool,
    /// Whether an action applies to all files because no test before it has selected names.
    acts_on_all_files: bool,
}

/// Returns which files the expression can select. If it is not plain, these are all files.
pub(super) fn find_selected_files<'a>(words: impl Iterator<Item = CommandWord<'a>>) -> FileSearch {
    let all = FileSearch::all_files();
    let mut search = all.clone();
    let mut words = words.peekable();
    let (mut current, mut alternatives) = (FindAlternative::default(), 1);
    while let Some(word) = words.next() {
        let CommandWord::Known(word) = word else { return all };
        match word {
            "!" | "-not" => match words.next() {
                Some(CommandWord::Known(test)) if is_name_test(test) => {
                    let Some(pattern) = words.next() else { return all };
                    exclude_name(&mut search, test, pattern);
                }
                Some(CommandWord::Known(test)) if test.starts_with('-') => {}
                _ => return all,
            },
            "-o" | "-or" | "," => {
                if !current.has_name_test {
                    return all;
                }
                current = FindAlternative::default();
                alternatives += 1;
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                current.acts_on_all_files |= !current.has_name_test;
                let end = |word: &CommandWord<'_>| matches!(word, CommandWord::Known(";" | "+"));
                while words.next_if(|word| !end(word)).is_some() {}
            }
            "-print" | "-print0" | "-printf" | "-ls" => {
                current.acts_on_all_files |= !current.has_name_test;
            }
            test if is_name_test(test) => {
                let Some(pattern) = words.next() else { return all };
                let Some(name) = parse_name_pattern(test, pattern) else { continue };
                current.has_name_test = true;
                search.include_patterns.push(name);
            }
            _ => {}
        }
        if current.acts_on_all_files {
            return all;
        }
    }
    match (current.has_name_test, alternatives) {
        (true, 1) => search,
        (true, _) => FileSearch { include_patterns: search.include_patterns, ..all },
        (false, 1) => FileSearch { include_patterns: Vec::new(), ..search },
        (false, _) => all,
    }
}

/// Returns the pattern that the name of a file must match, or `None` if the file can have any name.
fn parse_name_pattern(test: &str, pattern: CommandWord<'_>) -> Option<String> {
    let CommandWord::Known(last) = last_component_pattern(test, pattern) else { return None };
    if test.ends_with("regex") {
        return last.rsplit_once('.').map(|(_, ending)| format!("*.{ending}"));
    }
    (last != "*.any" && test != "-lname" && test != "-ilname").then(|| last.to_owned())
}

/// Excludes the files that a negated name test rejects: `! -name x`, `-not -path '*/x/*'`.
fn exclude_name(search: &mut FileSearch, test: &str, pattern: CommandWord<'_>) {
    let CommandWord::Known(pattern) = pattern else { return };
    let (name, is_directory) = match test {
        "-name" => (Some(pattern), false),
        "-path" | "-wholename" => {
            let rest = pattern.strip_prefix("*/");
            let above = rest.and_then(|rest| rest.strip_suffix("/*"));
            (above.or(rest), above.is_some())
        }
        _ => (None, false),
    };
    match name {
        // Everything with a hidden name, and everything below it.
        Some(".*") if !is_directory && test != "-name" => search.includes_hidden = false,
        Some(name) if name.contains('/') => {}
        Some(name) if is_directory => search.excluded_directories.push(name.to_owned()),
        Some(name) => search.exclude_patterns.push(name.to_owned()),
        None => {}
    }
}

/// Returns whether a test compares names with a pattern.
pub(super) fn is_name_test(test: &str) -> bool {
    test.ends_with("name") || matches!(test, "-path" | "-ipath" | "-regex" | "-iregex")
}

/// Returns the part of a pattern that the last component of a path must match, or `*.any` if the
/// component can be anything.
pub(super) fn last_component_pattern<'a>(test: &str, pattern: CommandWord<'a>) -> CommandWord<'a> {
    let CommandWord::Known(text) = pattern else { return pattern };
    if test.ends_with("regex") {
        return CommandWord::Known(text.strip_prefix(".*").unwrap_or(text));
    }
    match text.rsplit_once('/') {
        // The pattern matches everything below a directory.
        Some((_, "*" | "**")) if !test.ends_with("lname") => CommandWord::Known("*.any"),
        Some((_, last)) => CommandWord::Known(last),
        None => pattern,
    }
}

/// Returns whether a pattern may match names of secret files: it names one file, or hides the
/// beginning and the end of the name. Such files must not be treated like arbitrary files below a
/// directory.
pub(super) fn may_select_secrets(pattern: CommandWord<'_>) -> bool {
    let CommandWord::Known(pattern) = pattern else { return true };
    let ending = pattern.rsplit_once('.').map_or("", |(_, ending)| ending);
    let secret = matches!(
        ending.to_ascii_lowercase().as_str(),
        "env"
            | "pem"
            | "key"
            | "p12"
            | "pfx"
            | "jks"
            | "keystore"
            | "kdbx"
            | "ppk"
            | "keychain"
            | "tfstate"
            | "gpg"
            | "asc"
    );
    let plain =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    pattern.starts_with('.') || secret || !plain(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrowed_by(expression: &str) -> (Vec<String>, Vec<String>, bool) {
        let search = find_selected_files(expression.split(' ').map(CommandWord::Known));
        (search.include_patterns, search.exclude_patterns, search.includes_hidden)
    }

    #[test]
    fn name_tests_narrow_the_selection_if_they_apply_to_all_alternatives() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        for (expression, included) in [
            ("-name *.txt -exec cat {} +", &["*.txt"][..]),
            ("( -name *.a -o -name *.b ) -exec cat {} +", &["*.a", "*.b"]),
            ("-type f -path */src/*.rs", &["*.rs"]),
            ("-regex .*\\.ts", &["*.ts"]),
            ("-path ./x -prune -o -name *.a -print", &["x", "*.a"]),
            // The action comes before the test, or an alternative has no name test.
            ("-exec cat {} + -name *.txt", &[]),
            ("-name *.txt -o -type f", &[]),
            ("-type f -o -name *.txt", &[]),
            ("-path ./x -prune -o -print", &[]),
            ("! ( -name *.txt )", &[]),
            ("-path */src/*", &[]),
        ] {
            assert_eq!(narrowed_by(expression).0, names(included), "{expression}");
        }
    }

    #[test]
    fn negated_tests_exclude_files() {
        let left_out = |expression: &str| {
            let search = find_selected_files(expression.split(' ').map(CommandWord::Known));
            (search.exclude_patterns, search.excluded_directories, search.includes_hidden)
        };
        let none = Vec::<String>::new;
        let found = left_out("-type f -not -path */.git/*");
        assert_eq!(found, (none(), vec![".git".to_owned()], true));
        assert_eq!(left_out("-not -path */.* -type f"), (none(), none(), false));
        // find(1) still enters directories of these names, and reads the hidden files next to them.
        assert_eq!(left_out("! -name certs"), (vec!["certs".to_owned()], none(), true));
        assert_eq!(left_out("! -name .*"), (vec![".*".to_owned()], none(), true));
        assert_eq!(left_out("-not -path */.*/*"), (none(), vec![".*".to_owned()], true));
        assert_eq!(narrowed_by("! -name x -o -name y").1, Vec::<String>::new());
    }
}
