//! The rewriting of commands with a pipe by Claude Code (up to 2.1.63).
//!
//! The client splits such a command into words with the npm package `shell-quote`, adds
//! `< /dev/null` before the first pipe, and joins the words with blanks. The result can mean
//! something else than the command: a newline is a blank, a variable is empty, `#` in any word
//! begins a comment that does not end, and quoted `~` is expanded.

/// A token of `shell-quote`.
#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Operator(String),
    Pattern(String),
    Comment,
}

/// The result of the rewriting.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PipedCommand {
    /// The client runs the command unchanged.
    Unchanged,
    /// The client runs this script.
    Rewritten(String),
    /// The script that the client runs is unknown.
    Unknown,
}

/// The operators, in the order in which they are tried.
const OPERATORS: [&str; 17] =
    ["||", "&&", ";;", "|&", "<(", "<<<", ">>", ">&", "<&", "&", ";", "(", ")", "|", "<", ">", ""];

/// Returns the script that the client runs instead of a command.
pub(super) fn rewrite_piped_command(script: &str) -> PipedCommand {
    let is_exact = !script.contains('|')
        || script.contains('`')
        || script.contains("$(")
        || has_loop_keyword(script)
        || has_input_redirection(script)
        || has_here_document(script);
    if is_exact || is_plain(script) {
        return PipedCommand::Unchanged;
    }
    match parse_tokens(&without_continuations(script)) {
        Err(TokenizeError::Refused) => PipedCommand::Unchanged,
        Err(TokenizeError::Unknown) => PipedCommand::Unknown,
        Ok(tokens) => {
            let pipe = tokens.iter().position(|token| *token == Token::Operator("|".to_owned()));
            let Some((before, rest)) =
                pipe.filter(|at| *at > 0).and_then(|at| tokens.split_at_checked(at))
            else {
                return PipedCommand::Unchanged;
            };
            let mut parts = render(before);
            parts.push("< /dev/null".to_owned());
            parts.extend(render(rest));
            PipedCommand::Rewritten(parts.join(" "))
        }
    }
}

/// Returns whether bash and the client certainly read a command in the same way.
fn is_plain(script: &str) -> bool {
    let quoted = script.contains(['\'', '"']);
    let is_plain = |letter: char| {
        letter.is_ascii_alphanumeric()
            || " _./=,:@%+-|;'\"".contains(letter)
            || matches!(letter, '*' | '?') && !quoted
    };
    let without = script.replace("2>&1", "").replace("2>/dev/null", "").replace("&&", "");
    without.chars().all(is_plain)
}

/// Returns whether a command contains a keyword of a compound command.
fn has_loop_keyword(script: &str) -> bool {
    const KEYWORDS: [&str; 6] = ["for", "while", "until", "if", "case", "select"];
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    KEYWORDS.iter().any(|keyword| {
        script.match_indices(keyword).any(|(at, _)| {
            let before = script.get(..at).and_then(|text| text.chars().next_back());
            let after = script.get(at + keyword.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(is_word) && after.is_some_and(is_space)
        })
    })
}

/// Returns whether a word begins with `<` and the name of a file follows.
fn has_input_redirection(script: &str) -> bool {
    script.match_indices('<').any(|(at, _)| {
        let before = script.get(..at).and_then(|text| text.chars().next_back());
        let rest = script.get(at + 1..).unwrap_or_default();
        before.is_none_or(|letter| is_space(letter) || ";&|".contains(letter))
            && !rest.starts_with(['<', '('])
            && !rest.trim_start_matches(is_space).is_empty()
    })
}

/// Returns whether the client takes the command for one with a here-document. It is not rewritten
/// then.
fn has_here_document(script: &str) -> bool {
    let is_digit_before = |at: usize| {
        let before = script.get(..at).unwrap_or_default().trim_end_matches(is_space);
        before.ends_with(|letter: char| letter.is_ascii_digit())
    };
    let mut found = false;
    for (at, _) in script.match_indices("<<") {
        let rest = script.get(at + 2..).unwrap_or_default();
        let next = rest.trim_start_matches(is_space);
        // A shift.
        if next.starts_with(|letter: char| letter.is_ascii_digit()) && is_digit_before(at) {
            return false;
        }
        let word = rest.strip_prefix('-').unwrap_or(rest).trim_start_matches(is_space);
        found |= word.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
    }
    found && !script.contains("$((")
}

/// Removes the newlines after an odd number of backslashes, and one of these backslashes.
fn without_continuations(script: &str) -> String {
    let mut text = String::with_capacity(script.len());
    for letter in script.chars() {
        let backslashes = text.len() - text.trim_end_matches('\\').len();
        if letter == '\n' && backslashes % 2 == 1 {
            text.pop();
        } else {
            text.push(letter);
        }
    }
    text
}

/// The error for a command that was not split.
enum TokenizeError {
    /// The client does not split it either.
    Refused,
    /// The result is not known.
    Unknown,
}

/// Returns whether a letter is white space in a regular expression of JavaScript.
fn is_space(letter: char) -> bool {
    letter == '\u{feff}' || letter.is_whitespace() && letter != '\u{85}'
}

fn parse_tokens(script: &str) -> Result<Vec<Token>, TokenizeError> {
    let mut tokens = Vec::new();
    let mut rest = script;
    while let Some(first) = rest.chars().next() {
        let operator = OPERATORS.iter().find(|operator| rest.starts_with(**operator));
        let operator = operator.copied().unwrap_or_default();
        let word = if operator.is_empty() { word_length(rest) } else { 0 };
        let length = match (operator.len(), word) {
            (0, 0) => first.len_utf8(),
            (0, word) => {
                let text: Vec<char> = rest.get(..word).unwrap_or_default().chars().collect();
                if add_word(&mut tokens, &text)? {
                    return Ok(tokens);
                }
                word
            }
            (length, _) => {
                tokens.push(Token::Operator(operator.to_owned()));
                length
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(tokens)
}

/// Returns the length of the word at the beginning of a text, or 0.
fn word_length(text: &str) -> usize {
    let mut length = 0;
    while let Some(rest) = text.get(length..)
        && let Some(letter) = rest.chars().next()
    {
        let next = rest.get(letter.len_utf8()..).and_then(|rest| rest.chars().next());
        length += match letter {
            '\\' if next.is_some_and(|next| "'\"|&;()<> \t".contains(next)) => 2,
            '\'' | '"' => match quoted_length(rest, letter) {
                Some(length) => length,
                None => break,
            },
            _ if is_space(letter) || "|&;()<>".contains(letter) => break,
            _ => letter.len_utf8(),
        };
    }
    length
}

/// Returns the length of a quoted text. A backslash before a quote belongs to it, also within single
/// quotes, unless the text does not end otherwise.
fn quoted_length(text: &str, quote: char) -> Option<usize> {
    let (mut escaped, mut last) = (false, None);
    for (at, letter) in text.char_indices().skip(1) {
        if letter == quote && !std::mem::take(&mut escaped) {
            return Some(at + 1);
        } else if letter == quote {
            last = Some(at + 1);
        } else {
            escaped = letter == '\\';
        }
    }
    last
}

/// Adds the tokens of one word. Returns whether a comment begins in it.
fn add_word(tokens: &mut Vec<Token>, text: &[char]) -> Result<bool, TokenizeError> {
    let (mut quote, mut escaped, mut is_pattern) = (None, false, false);
    let mut word = String::new();
    let mut at = 0;
    while let Some(&letter) = text.get(at) {
        is_pattern |= quote.is_none() && matches!(letter, '*' | '?');
        match (quote, letter) {
            _ if escaped => {
                word.push(letter);
                escaped = false;
            }
            (Some(open), _) if letter == open => quote = None,
            (Some('\''), _) => word.push(letter),
            (Some(_), '\\') => {
                at += 1;
                let next = text.get(at).copied();
                if !matches!(next, Some('"' | '\\' | '$')) {
                    word.push('\\');
                }
                word.extend(next);
            }
            (_, '$') => at = add_variable(&mut word, text, at)?,
            (Some(_), _) => word.push(letter),
            (None, '\'' | '"') => quote = Some(letter),
            (None, '#') => {
                if !word.is_empty() {
                    tokens.push(Token::Word(word));
                }
                tokens.push(Token::Comment);
                return Ok(true);
            }
            (None, '\\') => escaped = true,
            (None, _) => word.push(letter),
        }
        at += 1;
    }
    tokens.push(if is_pattern { Token::Pattern(word) } else { Token::Word(word) });
    Ok(false)
}

/// Handles the variable at a `$`, which has no value. Returns the position of its last letter.
fn add_variable(word: &mut String, text: &[char], dollar: usize) -> Result<usize, TokenizeError> {
    let at = dollar + 1;
    let rest = text.get(at..).unwrap_or_default();
    let (name, last) = match rest.first() {
        Some('{') => {
            let end = rest.iter().position(|letter| *letter == '}').filter(|end| *end > 1);
            let end = end.ok_or(TokenizeError::Refused)?;
            (rest.get(1..end).unwrap_or_default(), at + end)
        }
        // The letter after the name is lost.
        Some('*' | '@' | '#' | '?' | '$' | '!' | '_' | '-') => {
            (rest.get(..1).unwrap_or_default(), at + 1)
        }
        _ => {
            let is_name = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
            let length = rest.iter().take_while(|letter| is_name(letter)).count();
            if length == 0 {
                word.push('$');
            }
            (rest.get(..length).unwrap_or_default(), dollar + length)
        }
    };
    let name: String = name.iter().collect();
    // The properties that every object of JavaScript has.
    let is_property = ["constructor", "__", "has", "is", "property", "to", "value"]
        .iter()
        .any(|beginning| name.starts_with(beginning));
    if is_property { Err(TokenizeError::Unknown) } else { Ok(last) }
}

/// Renders tokens as the client does.
fn render(tokens: &[Token]) -> Vec<String> {
    let is_stream = |text: &str| matches!(text, "0" | "1" | "2");
    let mut parts = Vec::new();
    let (mut rest, mut is_command) = (tokens, false);
    while let Some((token, after)) = rest.split_first() {
        rest = after;
        match (token, after) {
            (Token::Word(from), [Token::Operator(operator), Token::Word(to), ..])
                if is_stream(from)
                    && (operator == ">&" && is_stream(to)
                        || operator == ">" && to == "/dev/null") =>
            {
                parts.push(format!("{from}{operator}{to}"));
                rest = after.get(2..).unwrap_or_default();
            }
            (Token::Word(word), _) => match word.split_once('=') {
                Some((name, value)) if !is_command && is_name(name) => {
                    parts.push(format!("{name}={}", quote(value)));
                }
                _ => {
                    is_command = true;
                    parts.push(quote(word));
                }
            },
            (Token::Pattern(pattern), _) => parts.push(pattern.clone()),
            (Token::Operator(operator), _) => {
                parts.push(operator.clone());
                is_command &= !matches!(operator.as_str(), "&&" | "||" | ";");
            }
            (Token::Comment, _) => {}
        }
    }
    parts
}

fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Quotes a word as `shell-quote` does. It does not quote `~`.
fn quote(word: &str) -> String {
    if word.is_empty() {
        return "''".to_owned();
    }
    let has_space = word.contains(is_space);
    if !word.contains('\'') && (has_space || word.contains(['"', '\\'])) {
        return format!("'{word}'");
    }
    let escape = |letters: &str| {
        let mut text = String::new();
        for letter in word.chars() {
            if letters.contains(letter) {
                text.push('\\');
            }
            text.push(letter);
        }
        text
    };
    if has_space || word.contains(['\'', '"']) {
        return format!("\"{}\"", escape("\"\\$`!"));
    }
    escape("#!\"$&'()*,:;<=>?@[\\]^`{|}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results are those of the client's own functions (2.1.63), run with Node.js.
    #[test]
    fn commands_are_rewritten_as_the_client_does() {
        for (script, expected) in [
            ("echo EVIL | tee\nls CLAUDE.md", "echo EVIL < /dev/null | tee ls CLAUDE.md"),
            ("echo x | cat\nls .env", "echo x < /dev/null | cat ls .env"),
            ("cat .$X\"env\" | cat", "cat .env < /dev/null | cat"),
            ("cat \"~/x\" | cat", "cat ~/x < /dev/null | cat"),
            ("cat .$_Xenv | cat", "cat .env < /dev/null | cat"),
            ("echo ${X}a$? b | cat", "echo a b < /dev/null | cat"),
            ("awk '{print $1}' f | sort", "awk '{print $1}' f < /dev/null | sort"),
            (
                "grep -rn \"foo\\|bar\" src | head -5",
                "grep -rn 'foo\\|bar' src < /dev/null | head -5",
            ),
            (
                "find . -name \"*.rs\" | xargs grep -l 'a b'",
                "find . -name \\*.rs < /dev/null | xargs grep -l 'a b'",
            ),
            ("cargo test 2>&1 | tail -5 # x\nls", "cargo test 2>&1 < /dev/null | tail -5"),
            (
                "git log {a,b} [x] HEAD^ | head",
                "git log \\{a\\,b\\} \\[x\\] HEAD\\^ < /dev/null | head",
            ),
            (
                "A=\"a b\" X='$Y' cmd \"it's\" | cat\nls",
                "A='a b' X=\\$Y cmd \"it's\" < /dev/null | cat ls",
            ),
            ("ls \\\n  -la | head", "ls -la < /dev/null | head"),
            ("echo 'a\\'b | cat", "echo 'a\\b' < /dev/null | cat"),
            ("cmd &> out | cat", "cmd & > out < /dev/null | cat"),
            (
                "x=1; cmd 2>err.txt a:b C:\\\\x | cat",
                "x=1 ; cmd 2 > err.txt a\\:b 'C:\\x' < /dev/null | cat",
            ),
            ("# c\nls | head", ""),
            ("echo \"a\\\\\" | cat \"b\"", ""),
            ("for a in b; do ls | cat; done\nx", ""),
            ("cat < a | b\nc", ""),
            ("cat <<X | b\nc\nX", ""),
            ("a && ! b | c $(x)", ""),
            ("echo \"${}\" | cat\nls", ""),
            ("echo é* \"b c\"* | cat", "echo é* b c* < /dev/null | cat"),
            ("a || b\nc", ""),
            ("echo $ | cat \"$\"", "echo \\$ < /dev/null | cat \\$"),
            ("rg 'a|b' x\nls", ""),
            ("cat x |& tee\ny", ""),
        ] {
            let expected = match expected {
                "" => PipedCommand::Unchanged,
                text => PipedCommand::Rewritten(text.to_owned()),
            };
            assert_eq!(rewrite_piped_command(script), expected, "{script}");
        }
    }
}
