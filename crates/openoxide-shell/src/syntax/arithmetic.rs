//! Parsing of arithmetic. It is not evaluated, but searched for commands that it would run.

use super::{
    parser_cursor::{ParseResult, ScriptParser},
    syntax_tree::WordPiece,
};

/// The maximum number of times that `((` may turn out to be two separate parentheses. Each time,
/// the text after it is parsed twice.
const MAX_RETRIES: u8 = 12;

impl<'a> ScriptParser<'a> {
    /// Parses the rest of `((…))`, with the cursor at the second parenthesis. Returns `None` and
    /// leaves the cursor in place where bash reads the two parentheses as a subshell inside a
    /// subshell or substitution.
    pub(super) fn parse_double_parenthesis(&mut self) -> ParseResult<Option<Vec<WordPiece<'a>>>> {
        let (start, bodies) = (self.offset, self.heredocs.len());
        self.offset += 1;
        let pieces = self.with_deeper_nesting(|parser| parser.parse_arithmetic(b")"))?;
        if self.consume("))") {
            return Ok(Some(pieces));
        }
        if self.retries >= MAX_RETRIES || !self.pending.is_empty() {
            return self.syntax_error();
        }
        self.retries += 1;
        self.note_unusual(start);
        self.heredocs.truncate(bodies);
        self.offset = start;
        Ok(None)
    }

    /// Parses arithmetic up to one of `closers` outside parentheses and brackets. The closer is not
    /// consumed.
    pub(super) fn parse_arithmetic(&mut self, closers: &[u8]) -> ParseResult<Vec<WordPiece<'a>>> {
        let mut pieces = Vec::new();
        let (mut open, mut brackets) = (0_usize, 0_usize);
        loop {
            let text = self.take_while(|byte| !is_special_byte(byte));
            if !text.is_empty() {
                pieces.push(WordPiece::Literal(text.into()));
            }
            let Some(byte) = self.peek() else { return self.syntax_error() };
            if open == 0 && brackets == 0 && closers.contains(&byte) {
                return Ok(pieces);
            }
            match byte {
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b'[' => brackets += 1,
                b']' if brackets > 0 => brackets -= 1,
                b'<' | b'>' if self.peek_ahead(1) != Some(b'(') => {}
                _ => {
                    pieces.push(self.parse_arithmetic_special(byte)?);
                    continue;
                }
            }
            let start = self.offset;
            self.offset += 1;
            pieces.push(WordPiece::Literal(self.source_between(start, self.offset).into()));
        }
    }

    fn parse_arithmetic_special(&mut self, byte: u8) -> ParseResult<WordPiece<'a>> {
        if byte != b'$' {
            self.note_unusual(self.offset);
        }
        match byte {
            b'$' => self.parse_dollar(true),
            b'`' => self.parse_backquote(true),
            b'"' => self.parse_inner_quotes(),
            b'\'' => self.parse_ambiguous_quote(),
            _ => self.syntax_error(),
        }
    }
}

/// Returns whether `byte` needs special handling.
fn is_special_byte(byte: u8) -> bool {
    matches!(
        byte,
        b'$' | b'`'
            | b'"'
            | b'\''
            | b'\\'
            | b'('
            | b')'
            | b'['
            | b']'
            | b';'
            | b'{'
            | b'}'
            | b'<'
            | b'>'
    )
}
