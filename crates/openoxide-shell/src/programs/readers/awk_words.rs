//! The words of an awk script: where a text, a regular expression and a comment begin and end.

/// One word of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name or a number.
    Word(&'a str),
    /// What stands in quotes.
    Text(&'a str),
    /// A regular expression.
    Regex,
    /// One letter of an operator; `||` and `&&` are none that matter, and left out.
    Sign(char),
    /// The end of a line that ends a statement.
    Line,
}

/// What stands before a `/` says whether it divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// A value: it divides.
    Value,
    /// Nothing, or an operator: a regular expression begins.
    Nothing,
    /// Something after which the kinds of awk do not agree.
    Either,
}

/// After these a value begins, although they are words.
const KEYWORDS: [&str; 14] = [
    "print", "printf", "return", "in", "else", "do", "case", "if", "while", "for", "switch",
    "delete", "exit", "BEGIN",
];

/// Splits a script; nothing if it is not understood.
pub(super) fn tokens(script: &str) -> Option<Vec<Token<'_>>> {
    let mut reader =
        Reader { rest: script, before: Before::Nothing, parens: Vec::new(), tokens: Vec::new() };
    while let Some(letter) = reader.rest.chars().next() {
        reader.token(letter)?;
    }
    Some(reader.tokens)
}

struct Reader<'a> {
    rest: &'a str,
    before: Before,
    /// For each open parenthesis, whether it belongs to `if`, `while` and the like.
    parens: Vec<bool>,
    tokens: Vec<Token<'a>>,
}

impl<'a> Reader<'a> {
    fn skip(&mut self, bytes: usize) -> Option<&'a str> {
        let (skipped, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(skipped)
    }

    fn push(&mut self, token: Token<'a>, before: Before) {
        self.tokens.push(token);
        self.before = before;
    }

    /// Reads one token, or what stands between them.
    fn token(&mut self, letter: char) -> Option<()> {
        match letter {
            ' ' | '\t' | '\r' => drop(self.skip(1)?),
            '\\' => self.rest = self.rest.strip_prefix("\\\n")?,
            '\n' => self.line()?,
            '#' => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.skip(end)?;
            }
            '"' => self.text()?,
            '/' => self.slash()?,
            _ if letter.is_ascii_alphanumeric() || letter == '_' => self.word()?,
            _ if letter.is_ascii_punctuation() => self.sign(letter)?,
            _ => return None,
        }
        Some(())
    }

    fn line(&mut self) -> Option<()> {
        self.skip(1)?;
        let goes_on = matches!(self.tokens.last(), Some(Token::Sign(',' | '&' | '|')));
        self.before = Before::Nothing;
        if !goes_on {
            self.tokens.push(Token::Line);
        }
        Some(())
    }

    fn text(&mut self) -> Option<()> {
        self.skip(1)?;
        let mut letters = self.rest.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    let text = self.skip(at)?;
                    self.skip(1)?;
                    self.push(Token::Text(text), Before::Value);
                    return Some(());
                }
                '\n' => return None,
                '\\' => drop(letters.next().filter(|(_, each)| *each != '\n')?),
                _ => {}
            }
        }
        None
    }

    fn slash(&mut self) -> Option<()> {
        self.skip(1)?;
        match self.before {
            Before::Value => self.push(Token::Sign('/'), Before::Nothing),
            Before::Nothing => {
                let end = end_of_regex(self.rest)?;
                self.skip(end + 1)?;
                self.push(Token::Regex, Before::Value);
            }
            Before::Either => return None,
        }
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        // `1system()` are a number and a call.
        let number = self.rest.starts_with(|each: char| each.is_ascii_digit());
        let plain = |each: char| {
            each.is_ascii_digit() || !number && (each.is_ascii_alphabetic() || each == '_')
        };
        let rest = self.rest.trim_start_matches(plain);
        let word = self.skip(self.rest.len() - rest.len())?;
        let before = match word {
            _ if KEYWORDS.contains(&word) => Before::Nothing,
            "getline" | "length" => Before::Either,
            _ => Before::Value,
        };
        self.push(Token::Word(word), before);
        Some(())
    }

    fn sign(&mut self, letter: char) -> Option<()> {
        if self.rest.starts_with("||") || self.rest.starts_with("&&") {
            self.skip(2)?;
            // It stands for both: a line may go on behind it.
            self.push(Token::Sign('&'), Before::Nothing);
            return Some(());
        }
        if self.rest.starts_with("++") || self.rest.starts_with("--") {
            self.skip(2)?;
            self.before = Before::Either;
            return Some(());
        }
        self.skip(letter.len_utf8())?;
        let before = match letter {
            '(' => {
                let word = self.tokens.last();
                let condition =
                    matches!(word, Some(Token::Word("if" | "while" | "for" | "switch")));
                self.parens.push(condition);
                Before::Nothing
            }
            ')' if self.parens.pop()? => Before::Nothing,
            ')' | ']' => Before::Value,
            '$' => Before::Either,
            '\'' | '`' => return None,
            _ => Before::Nothing,
        };
        self.push(Token::Sign(letter), before);
        Some(())
    }
}

/// Returns where the `/` is that ends a regular expression. A bracket that every awk does not end at the same place is not
/// understood.
fn end_of_regex(text: &str) -> Option<usize> {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '/' => return Some(at),
            '\n' => return None,
            '\\' => drop(letters.next().filter(|(_, each)| *each != '\n')?),
            '[' => {
                let inside = text.get(at + 1..)?;
                let end = at + 1 + end_of_bracket(inside)?;
                letters.by_ref().take_while(|(at, _)| *at < end).for_each(drop);
            }
            _ => {}
        }
    }
    None
}

/// Returns where the `]` of a bracket is: it holds plain letters and classes only.
pub(super) fn end_of_bracket(inside: &str) -> Option<usize> {
    let start = usize::from(inside.starts_with('^'));
    let mut letters = inside.char_indices().skip(start).peekable();
    let mut empty = true;
    while let Some((at, letter)) = letters.next() {
        match letter {
            ']' => return (!empty).then_some(at),
            '/' | '\n' => return None,
            '\\' => drop(letters.next().filter(|(_, each)| !"]/[\n".contains(*each))?),
            '[' => {
                letters.next_if(|(_, each)| *each == ':')?;
                letters.by_ref().take_while(|(_, each)| *each != ':').for_each(drop);
                letters.next_if(|(_, each)| *each == ']')?;
            }
            _ => {}
        }
        empty = false;
    }
    None
}
