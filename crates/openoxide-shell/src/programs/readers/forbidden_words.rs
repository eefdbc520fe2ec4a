//! A second, independent check for the readers of languages. It searches the text of a program for
//! anything that could run, write, load or reach something. It has very little knowledge of the
//! languages. A program is harmless only if its reader and this search agree. Strings that every
//! implementation treats as literals are searched separately.

use super::awk_tokens::AwkToken;

/// Texts of awk that run, write, load or show more than the named files, no matter where they
/// occur.
const FORBIDDEN_AWK: [&str; 8] =
    ["system", "getline", "ENVIRON", "ARGV", "ARGC", "SYMTAB", "FUNCTAB", "extension"];

/// Words of jq, gojq, jaq and yq filters that read the environment or files, or run programs.
const FORBIDDEN_FILTER: [&str; 20] = [
    "env",
    "ENV",
    "import",
    "include",
    "modulemeta",
    "get_search_list",
    "__prog_args",
    "__prog_name",
    "strenv",
    "envsubst",
    "load",
    "load_str",
    "load_base64",
    "load_props",
    "load_xml",
    "load_yaml",
    "eval",
    "system",
    "exec",
    "read_file",
];

/// Words of SQL and of database clients that run programs, load code, or access local files.
const FORBIDDEN_SQL: [&str; 22] = [
    "edit",
    "load_extension",
    "readfile",
    "writefile",
    "fsdir",
    "lsmode",
    "zipfile",
    "sqlar_uncompress",
    "fts3_tokenizer",
    "program",
    "outfile",
    "dumpfile",
    "load_file",
    "infile",
    "attach",
    "install",
    "load",
    "system",
    "shell",
    "lo_import",
    "lo_export",
    "dblink",
];

/// Returns whether a script of awk, split into `tokens`, contains none of the forbidden texts.
/// `writes` is the number of redirections that were found in its tokens. There must not be more.
pub(super) fn has_no_forbidden_awk(script: &str, tokens: &[AwkToken<'_>], writes: usize) -> bool {
    let literals = || {
        tokens.iter().filter_map(|token| match token {
            AwkToken::Text(text) | AwkToken::Regex(text) => Some(*text),
            _ => None,
        })
    };
    let hides = |text: &str| text.contains("print") && text.contains(['|', '>']);
    let code = remove_parts(script, literals());
    !FORBIDDEN_AWK.iter().any(|word| script.contains(word))
        && !literals().any(hides)
        && !code.replace("||", "").contains(['|', '@'])
        && count_redirections(&code) <= writes
}

/// Returns `text` without `parts`, which are slices of it in their order.
fn remove_parts<'a>(text: &'a str, parts: impl Iterator<Item = &'a str>) -> String {
    let mut kept = String::new();
    let mut from = 0;
    for part in parts {
        let start = part.as_ptr().addr().saturating_sub(text.as_ptr().addr());
        kept.push_str(text.get(from..start).unwrap_or(text));
        from = start + part.len();
    }
    kept.push_str(text.get(from..).unwrap_or(text));
    kept
}

/// Counts each `>` that follows a `print` in the same statement and is not nested in more
/// parentheses.
fn count_redirections(code: &str) -> usize {
    let statements = code.split([';', '{', '}', '\n']);
    let count = |statement: &str| {
        let Some(at) = statement.find("print") else { return 0 };
        let mut depth = 0_i32;
        let mut found = 0;
        let printed = statement.get(at..).unwrap_or_default().replace(">>", ">");
        for letter in printed.chars() {
            match letter {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                '>' if depth <= 0 => found += 1,
                _ => {}
            }
        }
        found
    };
    statements.map(count).sum()
}

/// Returns whether a script of sed has none of the letters `e`, `w` and `W` where a command or a
/// flag of `s` could be. Only the characters around each letter are considered.
pub(super) fn has_no_forbidden_sed(script: &str) -> bool {
    script.char_indices().all(|(at, letter)| {
        let (before, after) = (script.get(..at), script.get(at + letter.len_utf8()..));
        let before = before.unwrap_or_default().trim_end_matches([' ', '\t']);
        let begins = before.is_empty()
            || before.ends_with(|each: char| each.is_ascii_digit() || "\n;{}!$".contains(each));
        let flags = |each: char| each.is_ascii_digit() || "gpiImM".contains(each);
        let ends = !after.unwrap_or_default().starts_with(|each: char| !" \t\n;}".contains(each));
        let flag = ends && before.trim_end_matches(flags).ends_with('/');
        !matches!(letter, 'e' | 'w' | 'W') || !begins && !flag
    })
}

/// Returns whether a filter of jq or a similar program contains forbidden words only as names of
/// fields and variables, and in texts without a backslash.
pub(super) fn has_no_forbidden_filter(filter: &str) -> bool {
    if filter.contains(['#', '\'', '`']) {
        return false;
    }
    let plain_texts = !filter.contains('\\');
    // Every second piece is in quotes.
    let mut pieces = filter.split('"').enumerate();
    pieces.all(|(at, piece)| plain_texts && at % 2 == 1 || !has_forbidden_word(piece))
}

/// Returns whether there is a forbidden word that is not the name of a field (`.env`) or a variable
/// (`$env`).
fn has_forbidden_word(code: &str) -> bool {
    let mut before = ["", ""];
    for piece in code.split_inclusive(|each: char| !is_word_character(each)) {
        let word = piece.trim_end_matches(|each: char| !is_word_character(each));
        let [earlier, last] = before;
        let field = last.ends_with('.') && !(last == "." && earlier.ends_with('.'));
        let variable = last.ends_with('$') && !word.starts_with("__") && word != "ENV";
        if FORBIDDEN_FILTER.contains(&word) && !field && !variable {
            return true;
        }
        before = [last, piece];
    }
    false
}

/// Returns whether a text of SQL, in lower case, contains forbidden words only in `texts`, which
/// are slices of it.
pub(super) fn has_no_forbidden_sql<'a>(
    lower: &'a str,
    texts: impl Iterator<Item = &'a str>,
) -> bool {
    let code = remove_parts(lower, texts);
    let has =
        |wanted: &dyn Fn(&str) -> bool| code.split(|each| !is_word_character(each)).any(wanted);
    // `vacuum into` writes a file that the text names.
    let copies = has(&|word| word == "vacuum") && has(&|word| word == "into");
    !copies && !has(&|word| FORBIDDEN_SQL.contains(&word))
}

fn is_word_character(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}
