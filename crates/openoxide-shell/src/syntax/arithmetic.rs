//! Arithmetic: not evaluated, but searched for what it would run.

use super::{
    cursor::{Parsed, Parser},
    tree::Piece,
};

/// The maximum number of times that `((` may turn out to be two parentheses. Each time, the text
/// after it is read twice.
const MOST_RETRIES: u8 = 12;

impl<'a> Parser<'a> {
    /// Reads the rest of `((…))`, the cursor at the second parenthesis. Returns nothing, and does not move, where bash
    /// takes the two parentheses for a subshell in a subshell or substitution.
    pub(super) fn double_parenthesis(&mut self) -> Parsed<Option<Vec<Piece<'a>>>> {
        let (start, bodies) = (self.at, self.heredocs.len());
        self.at += 1;
        let pieces = self.deeper(|parser| parser.arithmetic(b")"))?;
        if self.eat("))") {
            return Ok(Some(pieces));
        }
        if self.retries >= MOST_RETRIES || !self.pending.is_empty() {
            return self.fault();
        }
        self.retries += 1;
        self.unusual(start);
        self.heredocs.truncate(bodies);
        self.at = start;
        Ok(None)
    }

    /// Reads arithmetic up to one of `closers` outside parentheses and brackets, which is left standing.
    pub(super) fn arithmetic(&mut self, closers: &[u8]) -> Parsed<Vec<Piece<'a>>> {
        let mut pieces = Vec::new();
        let (mut open, mut brackets) = (0_usize, 0_usize);
        loop {
            let text = self.take_while(|byte| !stops(byte));
            if !text.is_empty() {
                pieces.push(Piece::Fixed(text.into()));
            }
            let Some(byte) = self.peek() else { return self.fault() };
            if open == 0 && brackets == 0 && closers.contains(&byte) {
                return Ok(pieces);
            }
            match byte {
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b'[' => brackets += 1,
                b']' if brackets > 0 => brackets -= 1,
                b'<' | b'>' if self.ahead(1) != Some(b'(') => {}
                _ => {
                    pieces.push(self.arithmetic_special(byte)?);
                    continue;
                }
            }
            let start = self.at;
            self.at += 1;
            pieces.push(Piece::Fixed(self.slice(start, self.at).into()));
        }
    }

    fn arithmetic_special(&mut self, byte: u8) -> Parsed<Piece<'a>> {
        if byte != b'$' {
            self.unusual(self.at);
        }
        match byte {
            b'$' => self.dollar(true),
            b'`' => self.backquote(true),
            b'"' => self.inner_quotes(),
            b'\'' => self.ambiguous_quote(),
            _ => self.fault(),
        }
    }
}

/// Returns whether `byte` needs special handling.
fn stops(byte: u8) -> bool {
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
