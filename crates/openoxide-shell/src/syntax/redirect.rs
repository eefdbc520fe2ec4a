//! Redirections.

use super::{
    bytes::is_name,
    cursor::{Parsed, Parser},
    tree::{Piece, Redirect, Target, Word},
};

/// More digits than any descriptor has: bash takes longer ones for words.
const MOST_DIGITS: usize = 4;

impl<'a> Parser<'a> {
    /// Reads a redirection, if one begins here.
    pub(super) fn redirect(&mut self) -> Parsed<Option<Redirect<'a>>> {
        let start = self.at;
        if !matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'{' | b'0'..=b'9')) {
            return Ok(None);
        }
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        let variable = if digits.is_empty() { self.descriptor_variable()? } else { None };
        let named = !digits.is_empty() || variable.is_some();
        let begins = match (self.peek(), self.ahead(1)) {
            (Some(b'<' | b'>'), Some(b'(')) => false,
            (Some(b'<' | b'>'), _) => true,
            (Some(b'&'), Some(b'>')) => !named,
            _ => false,
        };
        if !begins {
            self.at = start;
            return Ok(None);
        }
        if digits.len() > MOST_DIGITS {
            return self.fault();
        }
        let reads = self.peek() == Some(b'<');
        let input = variable.is_none() && is_zero(digits) && (reads || !digits.is_empty());
        let target = self.target(matches!(digits, "" | "1") && variable.is_none())?;
        // To a plain shell, more than one digit is a word.
        if variable.is_some() {
            self.unusual_in_substitution(start);
        }
        self.bashisms |= variable.is_some() || digits.len() > 1;
        Ok(Some(Redirect { target, input, variable, span: self.span_from(start) }))
    }

    /// Reads the redirections after a compound command.
    pub(super) fn redirects(&mut self) -> Parsed<Vec<Redirect<'a>>> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(redirects),
            }
        }
    }

    fn descriptor_variable(&mut self) -> Parsed<Option<&'a str>> {
        let start = self.at;
        if !self.eat("{") {
            return Ok(None);
        }
        let name = self.take_while(super::bytes::continues_name);
        if is_name(name) && self.eat("}") && matches!(self.peek(), Some(b'<' | b'>')) {
            return Ok(Some(name));
        }
        // `{array[subscript]}>file` is a descriptor as well.
        if is_name(name) && self.peek() == Some(b'[') {
            return self.fault();
        }
        self.at = start;
        Ok(None)
    }

    fn target(&mut self, standard_output: bool) -> Parsed<Target<'a>> {
        if self.eat("&>>") || self.eat("&>") {
            self.bashisms = true;
            return self.file(Target::Write);
        }
        if self.eat("<<<") {
            self.bashisms = true;
            return self.file(Target::HereString);
        }
        if self.eat("<<-") {
            return self.announce_heredoc(true).map(Target::Heredoc);
        }
        if self.eat("<<") {
            self.no_hidden(b"-<")?;
            return self.announce_heredoc(false).map(Target::Heredoc);
        }
        if self.eat("<&") || self.eat(">&") {
            self.skip_blanks();
            let word = if self.sees("-") { self.closing() } else { self.target_word()? };
            return Ok(Target::Duplicate { word, may_open: standard_output });
        }
        if self.eat("<>") || self.eat(">>") || self.eat(">|") {
            return self.file(Target::Write);
        }
        let read = self.peek() == Some(b'<');
        self.at += 1;
        self.no_hidden(b"<>&|-(")?;
        self.file(if read { Target::Read } else { Target::Write })
    }

    /// Reads the `-` that is a part of the operator: what follows it is another word.
    fn closing(&mut self) -> Word<'a> {
        let start = self.at;
        self.at += 1;
        let pieces = vec![Piece::Plain(self.slice(start, self.at))];
        Word { pieces, span: self.span_from(start) }
    }

    fn file(&mut self, target: impl FnOnce(Word<'a>) -> Target<'a>) -> Parsed<Target<'a>> {
        self.target_word().map(target)
    }

    fn target_word(&mut self) -> Parsed<Word<'a>> {
        self.no_hidden(b"<>&|-(")?;
        self.skip_blanks();
        self.word()
    }
}

fn is_zero(digits: &str) -> bool {
    digits.bytes().all(|digit| digit == b'0')
}
