//! The subset of SQL that every database tokenizes in the same way and that only reads.

use super::forbidden_words;

/// The effect of an SQL text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SqlEffect {
    /// Only reads.
    Reads,
    /// May change something in the database.
    Changes,
    /// Can run programs, or access files of this machine.
    ReachesOutside,
}

/// One token of a text in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SqlToken<'a> {
    Word(&'a str),
    /// The characters between single quotes.
    Text(&'a str),
    Number,
    Sign(char),
}

/// Functions that compute from their arguments, and other words that can precede a parenthesis.
const PLAIN_FUNCTIONS: &[&str] = &[
    "count",
    "sum",
    "min",
    "max",
    "avg",
    "total",
    "coalesce",
    "nullif",
    "ifnull",
    "lower",
    "upper",
    "length",
    "char_length",
    "substr",
    "substring",
    "trim",
    "ltrim",
    "rtrim",
    "replace",
    "round",
    "abs",
    "ceil",
    "floor",
    "now",
    "date",
    "datetime",
    "strftime",
    "julianday",
    "time",
    "date_trunc",
    "extract",
    "age",
    "to_char",
    "concat",
    "group_concat",
    "string_agg",
    "array_agg",
    "json_extract",
    "json_array_length",
    "cast",
    "in",
    "exists",
    "values",
    "and",
    "or",
    "not",
    "where",
    "on",
    "from",
    "as",
    "over",
    "select",
    "version",
    "distinct",
    "row_number",
    "rank",
    "using",
    "by",
    "when",
    "then",
];

/// Words that change data, lock it, or reach outside of the database.
const CHANGE_WORDS: &[&str] = &[
    "insert",
    "update",
    "delete",
    "drop",
    "create",
    "alter",
    "truncate",
    "into",
    "grant",
    "revoke",
    "copy",
    "attach",
    "detach",
    "vacuum",
    "reindex",
    "call",
    "execute",
    "do",
    "set",
    "merge",
    "lock",
    "share",
    "outfile",
    "dumpfile",
    "program",
    "install",
    "load",
    "import",
    "export",
    "analyze",
    "refresh",
    "procedure",
    "pragma",
];

/// Parts of the names of data that must not be read without a review.
const SECRET_NAME_PARTS: [&str; 8] =
    ["pg_authid", "pg_shadow", "mysql.user", "password", "passwd", "secret", "token", "api_key"];

/// Returns the effect of one SQL text. A single `SELECT` with plain functions only reads.
pub(super) fn classify_sql(text: &str) -> SqlEffect {
    let lower = text.trim().trim_end_matches(';').to_ascii_lowercase();
    let tokens = tokenize(&lower);
    let texts = tokens.iter().flatten().filter_map(|token| match token {
        SqlToken::Text(text) => Some(*text),
        _ => None,
    });
    if !forbidden_words::has_no_forbidden_sql(&lower, texts) {
        return SqlEffect::ReachesOutside;
    }
    let secret = SECRET_NAME_PARTS.iter().any(|part| lower.contains(part));
    match tokens {
        Some(tokens) if !secret && (is_plain_select(&tokens) || is_table_pragma(&tokens)) => {
            SqlEffect::Reads
        }
        _ => SqlEffect::Changes,
    }
}

/// Returns whether an SQLite text reads a table. In a hostile file, the table can be a view or a
/// virtual table. Its code runs with the functions of the client, and `edit()` starts a program.
/// Only the list of tables is certain to be neither.
pub(super) fn reads_tables(text: &str) -> bool {
    let lower = text.trim().trim_end_matches(';').to_ascii_lowercase();
    let Some(tokens) = tokenize(&lower) else { return true };
    if is_table_pragma(&tokens) {
        return false;
    }
    let word = |token: &SqlToken<'_>, words: &[&str]| matches!(token, SqlToken::Word(word) if words.contains(word));
    let count = |words: &[&str]| tokens.iter().filter(|token| word(token, words)).count();
    if count(&["select", "with", "values", "table"]) != 1 || count(&["join"]) > 0 {
        return true;
    }
    // `in NAME` refers to a whole table, and `in (…)` to a list.
    let lists = |(at, token): (usize, &SqlToken<'_>)| {
        !word(token, &["in"]) || tokens.get(at + 1) == Some(&SqlToken::Sign('('))
    };
    if !tokens.iter().enumerate().all(lists) {
        return true;
    }
    let mut after = tokens.iter().skip_while(|token| !word(token, &["from"])).skip(1);
    let behind = ["where", "order", "group", "limit"];
    match (count(&["from"]), after.next(), after.next()) {
        (0, ..) => false,
        (1, Some(source), end) => {
            let own = word(source, &["sqlite_master", "sqlite_schema"]);
            !own || end.is_some_and(|end| !word(end, &behind))
        }
        _ => true,
    }
}

/// Splits a text into tokens. Returns `None` if it contains a comment, a quoted name or anything
/// else that databases read differently.
fn tokenize(lower: &str) -> Option<Vec<SqlToken<'_>>> {
    let mut rest = lower;
    let mut tokens = Vec::new();
    while let Some(letter) = rest.chars().next() {
        let mut end = letter.len_utf8();
        match letter {
            ' ' | '\t' | '\n' => {}
            '\'' => {
                let text = read_string(rest.get(1..)?)?;
                end = text.len() + 2;
                tokens.push(SqlToken::Text(text));
            }
            '-' if rest.starts_with("--") => return None,
            '/' if rest.starts_with("/*") => return None,
            _ if is_word_character(letter) => {
                end = rest.find(|each| !is_word_character(each)).unwrap_or(rest.len());
                let word = rest.get(..end)?;
                // Rejects `x'00'`, `e'\''`, `1e3` and `1from`.
                (!rest.get(end..)?.starts_with('\'')).then_some(())?;
                let number = letter.is_ascii_digit();
                let digits = word.bytes().all(|byte| byte.is_ascii_digit());
                (!number || digits).then_some(())?;
                tokens.push(if number { SqlToken::Number } else { SqlToken::Word(word) });
            }
            '(' | ')' | ',' | '.' | '*' | '+' | '-' | '/' | '%' | '=' | '<' | '>' | '!' | '|'
            | ':' | '~' | '^' => tokens.push(SqlToken::Sign(letter)),
            _ => return None,
        }
        rest = rest.get(end..)?;
    }
    Some(tokens)
}

fn is_word_character(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Returns the contents of a string up to its closing quote. `''` is an escaped quote. The meaning
/// of a backslash differs between databases.
fn read_string(quoted: &str) -> Option<&str> {
    let mut letters = quoted.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' if letters.next_if(|(_, next)| *next == '\'').is_none() => {
                return quoted.get(..at);
            }
            '\\' => return None,
            _ if letter.is_control() && !matches!(letter, '\n' | '\t') => return None,
            _ => {}
        }
    }
    None
}

/// Returns whether a text is one `SELECT` that contains only words that read and functions that
/// compute.
fn is_plain_select(tokens: &[SqlToken<'_>]) -> bool {
    let changes =
        |token: &SqlToken<'_>| matches!(token, SqlToken::Word(word) if CHANGE_WORDS.contains(word));
    let calls = |at: usize| {
        let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
        match before(1) {
            Some(SqlToken::Word(name)) => {
                PLAIN_FUNCTIONS.contains(name) && before(2) != Some(&SqlToken::Sign('.'))
            }
            Some(SqlToken::Sign(sign)) => !matches!(sign, '.' | ')'),
            _ => false,
        }
    };
    let opens = |(at, token): (usize, &SqlToken<'_>)| *token != SqlToken::Sign('(') || calls(at);
    tokens.first() == Some(&SqlToken::Word("select"))
        && !tokens.iter().any(changes)
        && tokens.iter().enumerate().all(opens)
}

fn is_table_pragma(tokens: &[SqlToken<'_>]) -> bool {
    const NAMES: [&str; 8] = [
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "foreign_key_list",
        "user_version",
        "schema_version",
    ];
    match tokens {
        [SqlToken::Word("pragma"), SqlToken::Word(name)] => NAMES.contains(name),
        [
            SqlToken::Word("pragma"),
            SqlToken::Word(name),
            SqlToken::Sign('('),
            SqlToken::Word(_) | SqlToken::Text(_),
            SqlToken::Sign(')'),
        ] => NAMES.contains(name),
        _ => false,
    }
}
