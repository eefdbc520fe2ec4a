//! Parsing of redirections.

use super::{
    byte_classes::is_name,
    parser_cursor::{ParseResult, ScriptParser},
    syntax_tree::{RedirectionTarget, ShellRedirection, ShellWord, WordPiece},
};

/// The maximum number of digits of a descriptor. bash reads longer numbers as words.
const MAX_DIGITS: usize = 4;

impl<'a> ScriptParser<'a> {
    /// Parses a redirection, if one begins at the cursor.
    pub(super) fn parse_redirection(&mut self) -> ParseResult<Option<ShellRedirection<'a>>> {
        let start = self.offset;
        if !matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'{' | b'0'..=b'9')) {
            return Ok(None);
        }
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        let variable = if digits.is_empty() { self.parse_descriptor_variable()? } else { None };
        let named = !digits.is_empty() || variable.is_some();
        let begins = match (self.peek(), self.peek_ahead(1)) {
            (Some(b'<' | b'>'), Some(b'(')) => false,
            (Some(b'<' | b'>'), _) => true,
            (Some(b'&'), Some(b'>')) => !named,
            _ => false,
        };
        if !begins {
            self.offset = start;
            return Ok(None);
        }
        if digits.len() > MAX_DIGITS {
            return self.syntax_error();
        }
        let reads = self.peek() == Some(b'<');
        let input = variable.is_none() && is_stdin_number(digits) && (reads || !digits.is_empty());
        let target =
            self.parse_redirection_target(matches!(digits, "" | "1") && variable.is_none())?;
        // A plain shell reads more than one digit as a word.
        if variable.is_some() {
            self.note_unusual_in_substitution(start);
        }
        self.uses_bashisms |= variable.is_some() || digits.len() > 1;
        Ok(Some(ShellRedirection {
            target,
            feeds_stdin: input,
            variable,
            span: self.span_from(start),
        }))
    }

    /// Parses the redirections after a compound command.
    pub(super) fn parse_redirections(&mut self) -> ParseResult<Vec<ShellRedirection<'a>>> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.parse_redirection()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(redirects),
            }
        }
    }

    fn parse_descriptor_variable(&mut self) -> ParseResult<Option<&'a str>> {
        let start = self.offset;
        if !self.consume("{") {
            return Ok(None);
        }
        let name = self.take_while(super::byte_classes::is_name_continue);
        if is_name(name) && self.consume("}") && matches!(self.peek(), Some(b'<' | b'>')) {
            return Ok(Some(name));
        }
        // `{array[subscript]}>file` is a descriptor as well.
        if is_name(name) && self.peek() == Some(b'[') {
            return self.syntax_error();
        }
        self.offset = start;
        Ok(None)
    }

    fn parse_redirection_target(
        &mut self,
        standard_output: bool,
    ) -> ParseResult<RedirectionTarget<'a>> {
        if self.consume("&>>") || self.consume("&>") {
            self.uses_bashisms = true;
            return self.parse_file_target(RedirectionTarget::Write);
        }
        if self.consume("<<<") {
            self.uses_bashisms = true;
            return self.parse_file_target(RedirectionTarget::HereString);
        }
        if self.consume("<<-") {
            return self.parse_heredoc_operator(true).map(RedirectionTarget::Heredoc);
        }
        if self.consume("<<") {
            self.reject_hidden_operator(b"-<")?;
            return self.parse_heredoc_operator(false).map(RedirectionTarget::Heredoc);
        }
        if self.consume("<&") || self.consume(">&") {
            self.skip_blanks();
            let word = if self.starts_with("-") {
                self.parse_close_marker()
            } else {
                self.parse_target_word()?
            };
            return Ok(RedirectionTarget::Duplicate { word, may_open: standard_output });
        }
        if self.consume("<>") || self.consume(">>") || self.consume(">|") {
            return self.parse_file_target(RedirectionTarget::Write);
        }
        let read = self.peek() == Some(b'<');
        self.offset += 1;
        self.reject_hidden_operator(b"<>&|-(")?;
        self.parse_file_target(if read {
            RedirectionTarget::Read
        } else {
            RedirectionTarget::Write
        })
    }

    /// Parses the `-` that is part of the operator. The text after it is another word.
    fn parse_close_marker(&mut self) -> ShellWord<'a> {
        let start = self.offset;
        self.offset += 1;
        let pieces = vec![WordPiece::Unquoted(self.source_between(start, self.offset))];
        ShellWord { pieces, span: self.span_from(start) }
    }

    fn parse_file_target(
        &mut self,
        target: impl FnOnce(ShellWord<'a>) -> RedirectionTarget<'a>,
    ) -> ParseResult<RedirectionTarget<'a>> {
        self.parse_target_word().map(target)
    }

    fn parse_target_word(&mut self) -> ParseResult<ShellWord<'a>> {
        self.reject_hidden_operator(b"<>&|-(")?;
        self.skip_blanks();
        self.parse_word()
    }
}

fn is_stdin_number(digits: &str) -> bool {
    digits.bytes().all(|digit| digit == b'0')
}
