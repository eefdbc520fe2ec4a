//! The check of names and prose: phrases and misspellings that names, comments, messages and
//! documents of the project must not contain.

use std::{collections::BTreeMap, fs, path::Path};

use proc_macro2::{TokenStream, TokenTree};

use super::{
    SourceFile,
    items::ItemKind,
    spelling::spelling_violations,
    words::{is_participle, split_identifier},
};
use crate::{
    Failure,
    workspace::{self, sorted_entries},
};

/// Phrases that are not used in comments, messages and documents, and what to write instead.
const PHRASES: &[(&[&str], &str)] = &[
    (&["nobody"], "no one, or name the actor"),
    (&["somebody"], "someone, or name the actor"),
    (&["anybody"], "anyone, or name the actor"),
    (&["whoever"], "name the actor"),
    (&["says"], "contains, reports, specifies"),
    (&["said"], "reported, specified, decided"),
    (&["lies"], "is"),
    (&["a", "yes"], "an approval"),
    (&["the", "yes"], "the approval"),
    (&["speaks", "of"], "matches, mentions"),
    (&["speak", "of"], "match, mention"),
    (&["held", "back"], "restricted"),
    (&["hold", "back"], "restrict"),
    (&["holds", "back"], "restricts"),
    (&["taken", "back"], "revoked"),
    (&["put", "right"], "fixed"),
    (&["so", "many"], "the number"),
    (&["for", "good"], "permanently"),
];

/// Uses of a phrase that are right: the end of a path, and the text around the phrase.
const ALLOWED: &[(&str, &str)] = &[
    // The name of an account.
    ("xtask/src/programs/machine.rs", "nobody:"),
    ("xtask/src/codex_session/generate/", "say"),
];

/// The beginning of an inline test module.
const TEST_MODULE: &str = "#[cfg(test)]\nmod tests {";

/// The directories whose sources and documents are checked.
const DIRECTORIES: &[&str] = &["benches", "crates", "docs", "fuzz", "xtask"];

/// Files that contain the phrases as data.
const NOT_CHECKED: &[&str] =
    &["xtask/src/naming/check.rs", "xtask/src/naming/prose.rs", "xtask/src/naming/words.rs"];

/// Checks the names of `files`, and the prose of the crates, of this program and of the documents.
///
/// # Errors
/// Returns an error with one line for each violation, and for a file that cannot be read.
pub(super) fn check(files: &[SourceFile]) -> Result<(), Failure> {
    let root = workspace::root();
    let mut found = name_violations(files);
    for path in sorted_entries(root)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if DIRECTORIES.contains(&name.as_str()) || name.ends_with(".md") || name.ends_with(".toml")
        {
            check_prose(&path, &mut found)?;
        }
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(Failure::Work(found.join("\n"))),
    }
}

/// Checks the prose of a file, or of the files in a directory.
fn check_prose(path: &Path, found: &mut Vec<String>) -> Result<(), Failure> {
    if path.is_dir() {
        let is_target = path.ends_with("target");
        let entries = if is_target { Vec::new() } else { sorted_entries(path)? };
        return entries.iter().try_for_each(|entry| check_prose(entry, found));
    }
    let shown = path.strip_prefix(workspace::root()).unwrap_or(path).to_string_lossy();
    let prose: fn(&str) -> Vec<(usize, String)> = match path.extension() {
        // The messages of assertions are read only next to the test.
        Some(extension) if extension == "rs" && is_test_file(&shown) => comments,
        Some(extension) if extension == "rs" => source_prose,
        Some(extension) if extension == "md" => document_prose,
        Some(extension) if extension == "toml" => manifest_comments,
        _ => return Ok(()),
    };
    if NOT_CHECKED.contains(&shown.as_ref()) {
        return Ok(());
    }
    let text =
        fs::read_to_string(path).map_err(|error| Failure::Work(format!("{shown}: {error}")))?;
    let prose = prose(&text);
    found.extend(prose_violations(&shown, &prose));
    found.extend(spelling_violations(&shown, &prose));
    Ok(())
}

fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

/// Returns the violations of names: participles as types, functions named `of`, and public types
/// of one name in several crates.
fn name_violations(files: &[SourceFile]) -> Vec<String> {
    let mut found = Vec::new();
    let mut crates: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files {
        let path = file.path.strip_prefix(workspace::root()).unwrap_or(&file.path).display();
        for item in &file.items {
            let words = split_identifier(&item.name);
            let at = format!("{path}:{}", item.line);
            match item.kind {
                ItemKind::Type if matches!(words.as_slice(), [word] if is_participle(word)) => {
                    found.push(format!("{at}: type `{}` is only a participle", item.name));
                }
                ItemKind::Function if item.name == "of" => {
                    found.push(format!("{at}: a function is named `of`"));
                }
                _ => {}
            }
            if item.kind == ItemKind::Type && item.is_public {
                let owners = crates.entry(&item.name).or_default();
                if !owners.contains(&file.krate.as_str()) {
                    owners.push(&file.krate);
                }
            }
        }
    }
    let shared = crates.iter().filter(|(_, owners)| owners.len() > 1);
    found.extend(
        shared.map(|(name, owners)| format!("type `{name}` is public in {}", owners.join(", "))),
    );
    found
}

/// Returns the comments and string literals of a source file, with their lines. Inline test modules
/// are left out.
fn source_prose(text: &str) -> Vec<(usize, String)> {
    let mut prose = comments(text);
    let code = text.split(TEST_MODULE).next().unwrap_or_default();
    if let Ok(tokens) = text.parse::<TokenStream>() {
        let end = code.lines().count();
        let mut strings = Vec::new();
        collect_strings(tokens, &mut strings);
        prose.extend(strings.into_iter().filter(|(line, _)| *line <= end));
    }
    prose
}

/// Returns the comments of a source file, with their lines. Inline test modules are left out.
fn comments(text: &str) -> Vec<(usize, String)> {
    let code = text.split(TEST_MODULE).next().unwrap_or_default();
    let lines = code.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let comment = line.trim_start().strip_prefix("//")?;
            Some((index + 1, comment.to_owned()))
        })
        .collect()
}

/// Returns the lines of a TOML file that are comments.
fn manifest_comments(text: &str) -> Vec<(usize, String)> {
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            Some((index + 1, line.trim_start().strip_prefix('#')?.to_owned()))
        })
        .collect()
}

/// Adds the string literals of `tokens`, except those of attributes.
fn collect_strings(tokens: TokenStream, prose: &mut Vec<(usize, String)>) {
    let mut after_hash = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if !after_hash => collect_strings(group.stream(), prose),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.contains('"') {
                    prose.push((literal.span().start().line, text));
                }
            }
            TokenTree::Punct(sign)
                if sign.as_char() == '#' || (after_hash && sign.as_char() == '!') =>
            {
                after_hash = true;
                continue;
            }
            _ => {}
        }
        after_hash = false;
    }
}

/// Returns the lines of a document outside of code.
fn document_prose(text: &str) -> Vec<(usize, String)> {
    let mut in_code = false;
    let mut prose = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            prose.push((index + 1, line.to_owned()));
        }
    }
    prose
}

/// Returns the phrases in the prose of a file, one line for each.
fn prose_violations(path: &str, prose: &[(usize, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (line, text) in prose {
        let words = plain_words(text);
        for (phrase, instead) in PHRASES {
            let is_used = words.windows(phrase.len()).any(|window| window == *phrase);
            let is_allowed = || {
                ALLOWED.iter().any(|(file, around)| path.starts_with(file) && text.contains(around))
            };
            if is_used && !is_allowed() {
                let phrase = phrase.join(" ");
                found.push(format!("{path}:{line}: `{phrase}`: write {instead}"));
            }
        }
    }
    found
}

/// Returns the words of a text in lower case, without the text in backticks and in braces. No
/// phrase continues across such text, or across a bracket.
fn plain_words(text: &str) -> Vec<String> {
    let is_end = |letter: char| "`{}[]|.".contains(letter);
    let (mut words, mut in_code, mut in_braces) = (Vec::new(), false, false);
    for piece in text.split_inclusive(is_end) {
        let prose = piece.strip_suffix(is_end).unwrap_or(piece);
        let end = piece.strip_prefix(prose).unwrap_or_default();
        if !in_code && !in_braces {
            let split = |letter: char| !letter.is_alphanumeric() && !"'_-".contains(letter);
            let pieces = prose.split(split).filter(|word| !word.is_empty());
            words.extend(pieces.map(str::to_lowercase));
        }
        in_code ^= end == "`";
        in_braces = end == "{" || (in_braces && end != "}");
        words.push(end.to_owned());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(path: &str, text: &str) -> Vec<String> {
        let prose = if path.ends_with(".md") { document_prose(text) } else { source_prose(text) };
        prose_violations(path, &prose)
    }

    #[test]
    fn phrases_are_found_in_comments_strings_and_documents() {
        let source = "/// Nobody reads it.\nfn f() -> &'static str {\n    \"a yes is needed\"\n}\n";
        let found = violations("crates/x/src/lib.rs", source);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/x/src/lib.rs:1: `nobody`"), "{found:?}");
        assert!(found[1].starts_with("crates/x/src/lib.rs:3: `a yes`"), "{found:?}");
        let found = violations("docs/x.md", "The file\nsays what it does.\n");
        assert_eq!(found, ["docs/x.md:2: `says`: write contains, reports, specifies"]);
    }

    #[test]
    fn code_attributes_and_tests_are_not_prose() {
        let source = "fn said() {} // `says`\n#[cfg(test)]\nmod tests {\n    // nobody\n}\n";
        assert_eq!(violations("crates/x/src/lib.rs", source), Vec::<String>::new());
        assert_eq!(
            violations("docs/x.md", "```\nnobody\n```\n`nobody` is code\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_participle_as_a_type_a_function_of_and_a_shared_type_are_found() {
        let file = |krate: &str, text: &str| SourceFile {
            krate: krate.to_owned(),
            path: format!("crates/openoxide-{krate}/src/lib.rs").into(),
            text: text.to_owned(),
            items: super::super::items::collect_items(&syn::parse_file(text).unwrap(), ""),
        };
        let one =
            file("one", "pub struct Held;\npub struct Common;\nimpl Held {\n    fn of() {}\n}\n");
        let two = file("two", "pub struct Common;\nstruct Private;\n");
        let found = name_violations(&[one, two]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("type `Held` is only a participle"), "{found:?}");
        assert!(found[1].contains("lib.rs:4: a function is named `of`"), "{found:?}");
        assert_eq!(found[2], "type `Common` is public in one, two");
    }
}
