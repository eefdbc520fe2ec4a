//! The words of an awk script: where a text, a regular expression and a comment begin and end.

/// One word of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name.
    Word(&'a str),
    Number,
    /// The letters between quotes.
    Text(&'a str),
    /// The letters between the slashes of a regular expression.
    Regex(&'a str),
    /// `++` or `--`.
    Step,
    /// One letter of an operator; `&` for `||` and `&&`.
    Sign(char),
    /// The end of a line that ends a statement.
    Line,
}

/// The meaning of a `/` after a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slash {
    /// A value ends here: it divides.
    Divides,
    /// A pattern, a statement or an operand begins here, in every awk: a regular expression begins.
    Begins,
    /// The implementations do not agree, or it is not certain that they do.
    Unclear,
}

/// The keywords, and the names of functions that every awk has. They are not values, so the meaning
/// of a `/` after one is unclear.
const RESERVED: &[&str] = &[
    "BEGIN",
    "END",
    "BEGINFILE",
    "ENDFILE",
    "print",
    "printf",
    "if",
    "else",
    "while",
    "for",
    "do",
    "break",
    "continue",
    "next",
    "nextfile",
    "exit",
    "return",
    "delete",
    "in",
    "function",
    "getline",
    "length",
    "substr",
    "index",
    "split",
    "sub",
    "gsub",
    "gensub",
    "match",
    "sprintf",
    "sin",
    "cos",
    "atan2",
    "exp",
    "log",
    "sqrt",
    "int",
    "rand",
    "srand",
    "tolower",
    "toupper",
    "close",
    "fflush",
    "systime",
    "strftime",
    "mktime",
    "and",
    "or",
    "xor",
    "compl",
    "lshift",
    "rshift",
    "strtonum",
    "asort",
    "asorti",
    "patsplit",
    "typeof",
    "isarray",
    "mkbool",
    "bindtextdomain",
    "dcgettext",
    "dcngettext",
    "system",
    "extension",
];

/// Keywords of some implementations, which are names in the others.
const DISPUTED: [&str; 5] = ["case", "switch", "default", "func", "namespace"];

/// Behind these words a line can end.
const ENDING: &[&str] = &[
    "print", "printf", "else", "do", "break", "continue", "next", "nextfile", "exit", "return",
    "getline", "length", "fflush", "systime", "strftime", "rand", "srand",
];

/// Splits a script; nothing if it is not understood, or if two implementations could split it in two ways.
pub(super) fn tokens(script: &str) -> Option<Vec<Token<'_>>> {
    if script.contains(|each: char| each.is_control() && !matches!(each, '\t' | '\n')) {
        return None;
    }
    let mut reader =
        Reader { rest: script, slash: Slash::Begins, open: Vec::new(), tokens: Vec::new() };
    while let Some(letter) = reader.rest.chars().next() {
        reader.token(letter)?;
    }
    Some(reader.tokens)
}

struct Reader<'a> {
    rest: &'a str,
    slash: Slash,
    /// The open parentheses and brackets; for each, whether it belongs to `if`, `while` or `for`.
    open: Vec<bool>,
    tokens: Vec<Token<'a>>,
}

impl<'a> Reader<'a> {
    fn skip(&mut self, bytes: usize) -> Option<&'a str> {
        let (skipped, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(skipped)
    }

    fn push(&mut self, token: Token<'a>, slash: Slash) {
        self.tokens.push(token);
        self.slash = slash;
    }

    /// Reads one token, or the text between two tokens.
    fn token(&mut self, letter: char) -> Option<()> {
        match letter {
            ' ' | '\t' => drop(self.skip(1)?),
            '\\' => self.rest = self.rest.strip_prefix("\\\n")?,
            '\n' => self.line()?,
            '#' => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.skip(end)?;
            }
            '"' => self.text()?,
            '/' => self.slash()?,
            '0'..='9' | '.' => self.number()?,
            _ if letter.is_ascii_alphabetic() || letter == '_' => self.word()?,
            _ => self.sign(letter)?,
        }
        Some(())
    }

    /// Reads the end of a line. Behind an operator some implementations go on in the next line, so there it is not understood.
    fn line(&mut self) -> Option<()> {
        self.skip(1)?;
        let ends = match self.tokens.last() {
            Some(Token::Sign(',' | '&')) => return Some(()),
            None | Some(Token::Line | Token::Text(_) | Token::Regex(_) | Token::Number) => true,
            Some(Token::Word(word)) => ENDING.contains(word) || !RESERVED.contains(word),
            Some(Token::Step) => true,
            Some(Token::Sign(sign)) => matches!(sign, ';' | '{' | '}' | ')' | ']'),
        };
        (ends && self.open.is_empty()).then_some(())?;
        let after_condition =
            self.tokens.last() == Some(&Token::Sign(')')) && self.slash == Slash::Unclear;
        self.push(Token::Line, if after_condition { Slash::Unclear } else { Slash::Begins });
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
                    self.push(Token::Text(text), Slash::Unclear);
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
        match self.slash {
            Slash::Divides => self.push(Token::Sign('/'), Slash::Unclear),
            Slash::Begins => {
                // `/=` is an operator, too.
                let end = end_of_regex(self.rest).filter(|_| !self.rest.starts_with('='))?;
                let regex = self.skip(end)?;
                self.skip(1)?;
                self.push(Token::Regex(regex), Slash::Unclear);
            }
            Slash::Unclear => return None,
        }
        Some(())
    }

    /// Reads a number. What the implementations read behind one differs: `1e3system`, `0x1f`, `1.2.3`.
    fn number(&mut self) -> Option<()> {
        let digits = |text: &'a str| text.trim_start_matches(|each: char| each.is_ascii_digit());
        let whole = digits(self.rest);
        let rest = whole.strip_prefix('.').map_or(whole, digits);
        let read = self.rest.len() - rest.len();
        let plain = read > usize::from(self.rest.starts_with('.'))
            && !rest.starts_with(|each: char| each.is_alphanumeric() || matches!(each, '_' | '.'));
        self.skip(read).filter(|_| plain)?;
        self.push(Token::Number, Slash::Divides);
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        let plain = |each: char| each.is_ascii_alphanumeric() || each == '_';
        let rest = self.rest.trim_start_matches(plain);
        let word = self.skip(self.rest.len() - rest.len())?;
        if DISPUTED.contains(&word) {
            return None;
        }
        let slash = if RESERVED.contains(&word) { Slash::Unclear } else { Slash::Divides };
        self.push(Token::Word(word), slash);
        Some(())
    }

    fn sign(&mut self, letter: char) -> Option<()> {
        if self.rest.starts_with("||") || self.rest.starts_with("&&") {
            self.skip(2)?;
            // It is one token for both: a line may go on behind it.
            self.push(Token::Sign('&'), Slash::Begins);
            return Some(());
        }
        if self.rest.starts_with("++") || self.rest.starts_with("--") {
            self.skip(2)?;
            self.push(Token::Step, Slash::Unclear);
            return Some(());
        }
        let namespace = self.rest.starts_with("::");
        self.skip(letter.len_utf8())?;
        let slash = match letter {
            '(' => {
                let word = self.tokens.last();
                self.open.push(matches!(word, Some(Token::Word("if" | "while" | "for"))));
                Slash::Begins
            }
            '[' => {
                self.open.push(false);
                Slash::Unclear
            }
            ')' if self.open.pop()? => Slash::Unclear,
            ']' => {
                self.open.pop()?;
                Slash::Divides
            }
            ')' => Slash::Divides,
            '{' | '}' if self.open.is_empty() => Slash::Begins,
            ';' | ',' | '!' | '~' => Slash::Begins,
            ':' if namespace => return None,
            '+' | '-' | '*' | '%' | '^' | '=' | '<' | '>' | '?' | ':' | '$' | '|' | '@' => {
                Slash::Unclear
            }
            _ => return None,
        };
        self.push(Token::Sign(letter), slash);
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
