//! Tokenizer for awk scripts. It determines where strings, regular expressions and comments begin
//! and end.

/// One token of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AwkToken<'a> {
    /// A name.
    Word(&'a str),
    Number,
    /// The characters between the quotes of a string.
    Text(&'a str),
    /// The characters between the slashes of a regular expression.
    Regex(&'a str),
    /// `++` or `--`.
    Step,
    /// One character of an operator, or `&` for `||` and `&&`.
    Sign(char),
    /// The end of a line that terminates a statement.
    Line,
}

/// The meaning of a `/` after a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlashMeaning {
    /// A division, because a value ends at the token.
    Divides,
    /// The start of a regular expression in every awk, because a pattern, a statement or an operand
    /// begins here.
    Begins,
    /// Unclear: the implementations disagree, or might disagree.
    Unclear,
}

/// The keywords, and the names of functions that every awk has. They are not values, so the meaning
/// of a `/` after one is unclear.
const RESERVED_WORDS: &[&str] = &[
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

/// Words that are keywords in some implementations and names in the others.
const IMPLEMENTATION_KEYWORDS: [&str; 5] = ["case", "switch", "default", "func", "namespace"];

/// Words after which a line can end.
const LINE_END_WORDS: &[&str] = &[
    "print", "printf", "else", "do", "break", "continue", "next", "nextfile", "exit", "return",
    "getline", "length", "fflush", "systime", "strftime", "rand", "srand",
];

/// Splits a script into tokens. Returns `None` if it is not understood, or if two implementations
/// could split it differently.
pub(super) fn tokenize(script: &str) -> Option<Vec<AwkToken<'_>>> {
    if script.contains(|each: char| each.is_control() && !matches!(each, '\t' | '\n')) {
        return None;
    }
    let mut reader = AwkLexer {
        rest: script,
        slash: SlashMeaning::Begins,
        open: Vec::new(),
        tokens: Vec::new(),
    };
    while let Some(letter) = reader.rest.chars().next() {
        reader.read_token(letter)?;
    }
    Some(reader.tokens)
}

struct AwkLexer<'a> {
    rest: &'a str,
    slash: SlashMeaning,
    /// The open parentheses and brackets, each with a flag for whether it belongs to `if`, `while`
    /// or `for`.
    open: Vec<bool>,
    tokens: Vec<AwkToken<'a>>,
}

impl<'a> AwkLexer<'a> {
    fn skip_bytes(&mut self, bytes: usize) -> Option<&'a str> {
        let (skipped, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(skipped)
    }

    fn push_token(&mut self, token: AwkToken<'a>, slash: SlashMeaning) {
        self.tokens.push(token);
        self.slash = slash;
    }

    /// Reads one token, or the text between two tokens.
    fn read_token(&mut self, letter: char) -> Option<()> {
        match letter {
            ' ' | '\t' => drop(self.skip_bytes(1)?),
            '\\' => self.rest = self.rest.strip_prefix("\\\n")?,
            '\n' => self.read_line_end()?,
            '#' => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.skip_bytes(end)?;
            }
            '"' => self.read_string()?,
            '/' => self.read_slash()?,
            '0'..='9' | '.' => self.read_number()?,
            _ if letter.is_ascii_alphabetic() || letter == '_' => self.read_word()?,
            _ => self.read_operator(letter)?,
        }
        Some(())
    }

    /// Reads the end of a line. After an operator, some implementations continue the statement on
    /// the next line, so a line end is not understood there.
    fn read_line_end(&mut self) -> Option<()> {
        self.skip_bytes(1)?;
        let ends = match self.tokens.last() {
            Some(AwkToken::Sign(',' | '&')) => return Some(()),
            None
            | Some(AwkToken::Line | AwkToken::Text(_) | AwkToken::Regex(_) | AwkToken::Number) => {
                true
            }
            Some(AwkToken::Word(word)) => {
                LINE_END_WORDS.contains(word) || !RESERVED_WORDS.contains(word)
            }
            Some(AwkToken::Step) => true,
            Some(AwkToken::Sign(sign)) => matches!(sign, ';' | '{' | '}' | ')' | ']'),
        };
        (ends && self.open.is_empty()).then_some(())?;
        let after_condition =
            self.tokens.last() == Some(&AwkToken::Sign(')')) && self.slash == SlashMeaning::Unclear;
        self.push_token(
            AwkToken::Line,
            if after_condition { SlashMeaning::Unclear } else { SlashMeaning::Begins },
        );
        Some(())
    }

    fn read_string(&mut self) -> Option<()> {
        self.skip_bytes(1)?;
        let mut letters = self.rest.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    let text = self.skip_bytes(at)?;
                    self.skip_bytes(1)?;
                    self.push_token(AwkToken::Text(text), SlashMeaning::Unclear);
                    return Some(());
                }
                '\n' => return None,
                '\\' => drop(letters.next().filter(|(_, each)| *each != '\n')?),
                _ => {}
            }
        }
        None
    }

    fn read_slash(&mut self) -> Option<()> {
        self.skip_bytes(1)?;
        match self.slash {
            SlashMeaning::Divides => self.push_token(AwkToken::Sign('/'), SlashMeaning::Unclear),
            SlashMeaning::Begins => {
                // `/=` is also an operator.
                let end = find_regex_end(self.rest).filter(|_| !self.rest.starts_with('='))?;
                let regex = self.skip_bytes(end)?;
                self.skip_bytes(1)?;
                self.push_token(AwkToken::Regex(regex), SlashMeaning::Unclear);
            }
            SlashMeaning::Unclear => return None,
        }
        Some(())
    }

    /// Reads a number. The implementations differ in how they read what follows one: `1e3system`,
    /// `0x1f`, `1.2.3`.
    fn read_number(&mut self) -> Option<()> {
        let digits = |text: &'a str| text.trim_start_matches(|each: char| each.is_ascii_digit());
        let whole = digits(self.rest);
        let rest = whole.strip_prefix('.').map_or(whole, digits);
        let read = self.rest.len() - rest.len();
        let plain = read > usize::from(self.rest.starts_with('.'))
            && !rest.starts_with(|each: char| each.is_alphanumeric() || matches!(each, '_' | '.'));
        self.skip_bytes(read).filter(|_| plain)?;
        self.push_token(AwkToken::Number, SlashMeaning::Divides);
        Some(())
    }

    fn read_word(&mut self) -> Option<()> {
        let plain = |each: char| each.is_ascii_alphanumeric() || each == '_';
        let rest = self.rest.trim_start_matches(plain);
        let word = self.skip_bytes(self.rest.len() - rest.len())?;
        if IMPLEMENTATION_KEYWORDS.contains(&word) {
            return None;
        }
        let slash = if RESERVED_WORDS.contains(&word) {
            SlashMeaning::Unclear
        } else {
            SlashMeaning::Divides
        };
        self.push_token(AwkToken::Word(word), slash);
        Some(())
    }

    fn read_operator(&mut self, letter: char) -> Option<()> {
        if self.rest.starts_with("||") || self.rest.starts_with("&&") {
            self.skip_bytes(2)?;
            // `||` and `&&` are one token, because a line may continue after both.
            self.push_token(AwkToken::Sign('&'), SlashMeaning::Begins);
            return Some(());
        }
        if self.rest.starts_with("++") || self.rest.starts_with("--") {
            self.skip_bytes(2)?;
            self.push_token(AwkToken::Step, SlashMeaning::Unclear);
            return Some(());
        }
        let namespace = self.rest.starts_with("::");
        self.skip_bytes(letter.len_utf8())?;
        let slash = match letter {
            '(' => {
                let word = self.tokens.last();
                self.open.push(matches!(word, Some(AwkToken::Word("if" | "while" | "for"))));
                SlashMeaning::Begins
            }
            '[' => {
                self.open.push(false);
                SlashMeaning::Unclear
            }
            ')' if self.open.pop()? => SlashMeaning::Unclear,
            ']' => {
                self.open.pop()?;
                SlashMeaning::Divides
            }
            ')' => SlashMeaning::Divides,
            '{' | '}' if self.open.is_empty() => SlashMeaning::Begins,
            ';' | ',' | '!' | '~' => SlashMeaning::Begins,
            ':' if namespace => return None,
            '+' | '-' | '*' | '%' | '^' | '=' | '<' | '>' | '?' | ':' | '$' | '|' | '@' => {
                SlashMeaning::Unclear
            }
            _ => return None,
        };
        self.push_token(AwkToken::Sign(letter), slash);
        Some(())
    }
}

/// Returns the position of the `/` that ends a regular expression. A bracket expression that not
/// every awk ends at the same position is not understood.
fn find_regex_end(text: &str) -> Option<usize> {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '/' => return Some(at),
            '\n' => return None,
            '\\' => drop(letters.next().filter(|(_, each)| *each != '\n')?),
            '[' => {
                let inside = text.get(at + 1..)?;
                let end = at + 1 + find_bracket_end(inside)?;
                letters.by_ref().take_while(|(at, _)| *at < end).for_each(drop);
            }
            _ => {}
        }
    }
    None
}

/// Returns the position of the `]` that ends a bracket expression, if the brackets contain only
/// plain characters and classes.
pub(super) fn find_bracket_end(inside: &str) -> Option<usize> {
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
