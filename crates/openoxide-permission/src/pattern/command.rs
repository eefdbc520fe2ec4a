//! Command patterns: `npm run *`, `git * main`, `ls*`.
//!
//! A space is a boundary between two words, which no argument can forge. `*` matches any text,
//! across words. A trailing ` *` also matches no words. Quotes and backslashes work as in a shell:
//! `\*` is a literal star.

use super::ParsedPattern;
use crate::{glob::Glob, rule::RuleError};

/// Parses a command pattern.
///
/// # Errors
/// Returns an error for an unclosed quote, a single backslash at the end, or a NUL.
pub fn parse(text: &str) -> Result<ParsedPattern, RuleError> {
    let mut reader = CommandPatternBuilder {
        glob: Glob::new(),
        words: 0,
        is_literal: true,
        is_lone_star: false,
    };
    let mut chars = text.char_indices().peekable();
    while let Some(&(at, found)) = chars.peek() {
        if found == ' ' || found == '\t' {
            chars.next();
            continue;
        }
        reader.begin_word();
        parse_word(text, at, &mut chars, &mut reader)?;
    }
    Ok(reader.finish())
}

/// Splits an example command into words, as a shell splits a plain command.
///
/// # Errors
/// Returns the same errors as [`parse`].
pub fn split_words(text: &str) -> Result<Vec<String>, RuleError> {
    let mut words = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some(&(at, found)) = chars.peek() {
        if found == ' ' || found == '\t' {
            chars.next();
            continue;
        }
        let mut plain = PlainWord::default();
        parse_word(text, at, &mut chars, &mut plain)?;
        words.push(plain.0);
    }
    Ok(words)
}

/// A receiver of the pieces of one word.
trait WordSink {
    fn push_text(&mut self, piece: &str);
    fn push_star(&mut self);
}

#[derive(Default)]
struct PlainWord(String);

impl WordSink for PlainWord {
    fn push_text(&mut self, piece: &str) {
        self.0.push_str(piece);
    }

    fn push_star(&mut self) {
        self.0.push('*');
    }
}

struct CommandPatternBuilder {
    glob: Glob,
    words: usize,
    is_literal: bool,
    is_lone_star: bool, // the last word is a single star
}

impl CommandPatternBuilder {
    fn begin_word(&mut self) {
        if self.words > 0 {
            self.glob.push_literal(&[0]);
        }
        self.words += 1;
        self.is_lone_star = false;
    }

    /// Finishes the pattern. If the last word is a single star, it also matches no words. If a star
    /// is the last character, it also matches the last boundary.
    fn finish(mut self) -> ParsedPattern {
        let ends_open = matches!(self.glob.steps().last(), Some(crate::glob::GlobStep::Any));
        if !ends_open && self.words > 0 {
            self.glob.push_literal(&[0]);
        }
        ParsedPattern { glob: self.glob, is_literal: self.is_literal }
    }
}

impl WordSink for CommandPatternBuilder {
    fn push_text(&mut self, piece: &str) {
        self.glob.push_literal(piece.as_bytes());
    }

    fn push_star(&mut self) {
        self.glob.push_any();
        self.is_literal = false;
    }
}

type CharStream<'a> = std::iter::Peekable<std::str::CharIndices<'a>>;

fn parse_word(
    text: &str,
    start: usize,
    chars: &mut CharStream<'_>,
    to: &mut impl WordSink,
) -> Result<(), RuleError> {
    let mut utf8 = [0; 4];
    while let Some(&(at, found)) = chars.peek() {
        if found == ' ' || found == '\t' {
            break;
        }
        chars.next();
        match found {
            '*' => to.push_star(),
            '\0' => return Err(RuleError::new("a pattern cannot contain a NUL byte", at..at + 1)),
            '\'' => to.push_text(&parse_single_quoted(text, at, chars)?),
            '"' => to.push_text(&parse_double_quoted(text, at, chars)?),
            '\\' => match chars.next() {
                Some((_, escaped)) => to.push_text(escaped.encode_utf8(&mut utf8)),
                None => return Err(RuleError::new("a lone `\\` ends the pattern", at..at + 1)),
            },
            other => to.push_text(other.encode_utf8(&mut utf8)),
        }
    }
    debug_assert!(start <= text.len());
    Ok(())
}

fn unclosed_quote_error(text: &str, at: usize) -> RuleError {
    RuleError::new("this quote is not closed", at..text.len())
        .with_help("close it, or write `\\` before it")
}

fn parse_single_quoted(
    text: &str,
    at: usize,
    chars: &mut CharStream<'_>,
) -> Result<String, RuleError> {
    let mut inside = String::new();
    loop {
        match chars.next() {
            Some((_, '\'')) => return Ok(inside),
            Some((_, found)) => inside.push(found),
            None => return Err(unclosed_quote_error(text, at)),
        }
    }
}

fn parse_double_quoted(
    text: &str,
    at: usize,
    chars: &mut CharStream<'_>,
) -> Result<String, RuleError> {
    let mut inside = String::new();
    loop {
        match chars.next() {
            Some((_, '"')) => return Ok(inside),
            Some((_, '\\')) => match chars.next() {
                Some((_, found)) if matches!(found, '"' | '\\' | '$' | '`') => inside.push(found),
                Some((_, found)) => inside.extend(['\\', found]),
                None => return Err(unclosed_quote_error(text, at)),
            },
            Some((_, found)) => inside.push(found),
            None => return Err(unclosed_quote_error(text, at)),
        }
    }
}

/// Quotes a word so that [`parse`] returns exactly this word, without wildcards.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,@+%^~!?[]{}#&|;<>$()".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if !word.contains('\'') {
        return format!("'{word}'");
    }
    let mut quoted = String::new();
    for found in word.chars() {
        if !plain(found) {
            quoted.push('\\');
        }
        quoted.push(found);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{glob, rule::SubjectKind};
    use openoxide_protocol::{CommandWords, Effect};

    fn matches(pattern: &str, words: &[&str]) -> bool {
        let code = parse(pattern).unwrap().glob.finish();
        let words: CommandWords = words.iter().collect();
        glob::matches(&code, words.as_bytes(), SubjectKind::Exec.match_options(Effect::Allow))
    }

    fn split(command: &str) -> Vec<&str> {
        command.split(' ').collect()
    }

    // Rows of the documented grammar (code.claude.com, permissions; measured with client 2.1.330).
    #[test]
    fn stars_follow_the_documented_table() {
        let rows: &[(&str, &[&str], &[&str])] = &[
            (
                "npm run build",
                &["npm run build"],
                &["npm run build --x", "npm run", "NPM run build"],
            ),
            ("ls *", &["ls", "ls -la", "ls a b"], &["lsof", "lsx"]),
            ("ls*", &["ls", "lsof", "lsblk -x", "ls -la"], &["l", "als"]),
            (
                "npm run test *",
                &["npm run test", "npm run test x"],
                &["npm run test:unit", "npm run tests"],
            ),
            (
                "git * main",
                &["git checkout main", "git push origin main"],
                &["git main", "git push main:main", "git push origin main --force"],
            ),
            (
                "* --version",
                &["cargo --version", "bash -c id --version"],
                &["--version", "npm --version -x"],
            ),
            ("*", &["ls", "rm -rf /"], &[]),
            ("* install", &["npm install", "sh -c id install"], &["npm install x", "install"]),
        ];
        for (pattern, yes, no) in rows {
            for command in *yes {
                assert!(matches(pattern, &split(command)), "`{pattern}` should match `{command}`");
            }
            for command in *no {
                assert!(
                    !matches(pattern, &split(command)),
                    "`{pattern}` should not match `{command}`"
                );
            }
        }
    }

    #[test]
    fn no_argument_forges_a_boundary() {
        assert!(!matches("rm x", &["rm x"]));
        assert!(matches("git commit -m *", &["git", "commit", "-m", "a; rm -rf / && b"]));
        assert!(!matches("echo a b", &["echo", "a b"]));
        assert!(matches("echo 'a b'", &["echo", "a b"]));
    }

    #[test]
    fn quotes_and_backslashes_take_the_meaning_away() {
        assert!(matches(r"echo \*", &["echo", "*"]));
        assert!(!matches(r"echo \*", &["echo", "x"]));
        assert!(matches("echo '*'", &["echo", "*"]));
        assert!(matches(r#"echo "a\"b""#, &["echo", "a\"b"]));
    }

    #[test]
    fn wrong_quotes_are_pointed_at() {
        assert_eq!(parse("echo 'x").unwrap_err().range, 5..7);
        assert_eq!(parse("echo \\").unwrap_err().range, 5..6);
    }

    proptest! {
        #[test]
        fn a_quoted_word_matches_itself_and_nothing_else(word in "[ -~]{0,8}", other in "[ -~]{0,8}") {
            let pattern = format!("x {}", quote(&word));
            prop_assert!(matches(&pattern, &["x", &word]), "{}", pattern);
            prop_assert_eq!(matches(&pattern, &["x", &other]), word == other);
        }
    }

    #[test]
    fn an_example_is_cut_into_its_words() {
        for (text, expected) in [
            ("git push", &["git", "push"][..]),
            (" \t git\tpush  x ", &["git", "push", "x"]),
            ("echo 'a b'\"c d\"e", &["echo", "a bc de"]),
            (r"echo a\ b \*", &["echo", "a b", "*"]),
            ("ls *.rs", &["ls", "*.rs"]),
            ("echo ''", &["echo", ""]),
            ("", &[]),
        ] {
            assert_eq!(split_words(text).unwrap(), expected, "{text}");
        }
        assert_eq!(split_words("echo \"x").unwrap_err().range, 5..7);
    }

    #[test]
    fn within_double_quotes_a_backslash_takes_four_meanings_away() {
        for (text, expected) in [
            (r#""a\"b""#, r#"a"b"#),
            (r#""a\\b""#, r"a\b"),
            (r#""a\$b""#, "a$b"),
            (r#""a\`b""#, "a`b"),
            (r#""a\nb""#, r"a\nb"),
            (r#""a\*b*""#, r"a\*b*"),
        ] {
            assert_eq!(split_words(text).unwrap(), [expected], "{text}");
            assert!(matches(text, &[expected]), "{text}");
        }
        assert_eq!(parse(r#"x "a\"#).unwrap_err().range, 2..5);
    }

    #[test]
    fn no_word_at_all_matches_nothing_at_all() {
        assert!(matches("", &[]) && !matches("", &[""]));
        assert!(matches("''", &[""]) && !matches("''", &[]));
    }
}
