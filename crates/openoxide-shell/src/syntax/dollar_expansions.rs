//! Parsing of expansions that begin with `$`, and of backquotes.

use std::borrow::Cow;

use super::{
    byte_classes::{is_name_continue, is_name_start},
    common_operands,
    parser_cursor::{ParseResult, ScriptParser},
    quoting::QuoteEnd,
    syntax_tree::{
        ArraySubscript, CommandList, ExpansionForm, ListItem, ParameterExpansion, ShellCommand,
        WordPiece,
    },
    words::WordEnd,
};

impl<'a> ScriptParser<'a> {
    /// Parses an expansion that begins with `$`. A `$` that begins no expansion is text.
    pub(super) fn parse_dollar(&mut self, quoted: bool) -> ParseResult<WordPiece<'a>> {
        match self.peek_ahead(1) {
            Some(b'(') => self.parse_dollar_parenthesis(),
            Some(b'{') => self.parse_braced_parameter(quoted),
            // `$[…]` is the arithmetic of bash 1. A line continuation here could hide anything.
            Some(b'[') => self.syntax_error(),
            Some(b'\\') if self.peek_ahead(2) == Some(b'\n') => self.syntax_error(),
            Some(b'\'') if !quoted => {
                self.offset += 1;
                self.parse_ansi_quoted()
            }
            Some(b'"') if !quoted => self.parse_translated_string(),
            Some(byte) if is_name_start(byte) => self.parse_named_parameter(),
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => {
                Ok(self.build_parameter(2))
            }
            _ => {
                self.offset += 1;
                Ok(WordPiece::Literal(Cow::Borrowed("$")))
            }
        }
    }

    fn parse_named_parameter(&mut self) -> ParseResult<WordPiece<'a>> {
        let rest = self.source.as_bytes().get(self.offset + 1..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| is_name_continue(**byte)).count();
        let piece = self.build_parameter(1 + length);
        // The name would continue on the next line.
        if self.starts_with("\\\n") { self.syntax_error() } else { Ok(piece) }
    }

    fn build_parameter(&mut self, length: usize) -> WordPiece<'a> {
        let start = self.offset;
        self.offset += length;
        WordPiece::Parameter(Box::new(ParameterExpansion {
            name: self.source_between(start + 1, self.offset),
            form: ExpansionForm::Value,
            subscript: None,
            operand: Vec::new(),
            span: self.span_from(start),
        }))
    }

    fn parse_translated_string(&mut self) -> ParseResult<WordPiece<'a>> {
        self.note_unusual(self.offset);
        self.uses_bashisms = true;
        self.offset += 1;
        Ok(match self.parse_double_quoted()? {
            WordPiece::Quoted(pieces) => WordPiece::Translated(pieces),
            _ => WordPiece::Translated(Vec::new()),
        })
    }

    fn parse_dollar_parenthesis(&mut self) -> ParseResult<WordPiece<'a>> {
        self.offset += 2;
        self.reject_hidden_operator(b"(")?;
        if self.peek() == Some(b'(')
            && let Some(pieces) = self.parse_double_parenthesis()?
        {
            return Ok(WordPiece::Arithmetic(pieces));
        }
        Ok(WordPiece::Command(self.parse_substitution()?))
    }

    /// Parses the commands of `$(…)`, `<(…)` and `>(…)`, with the cursor after the parenthesis.
    pub(super) fn parse_substitution(&mut self) -> ParseResult<CommandList<'a>> {
        let outer = std::mem::take(&mut self.pending);
        let was = std::mem::replace(&mut self.in_substitution, true);
        let documents = std::mem::take(&mut self.heredoc_count);
        let start = self.offset;
        if self.peek() == Some(b'(') {
            self.note_unusual(start);
        }
        let list = self.with_deeper_nesting(Self::parse_list)?;
        // bash 5.2 prints a substitution and parses the result again. After a here-document it does
        // not print a `;`.
        if self.heredoc_count > 0 && !is_single_pipeline(&list) {
            return self.syntax_error();
        }
        self.heredoc_count = documents;
        // A here-document of the outer line would begin at a newline in here, or at the next one.
        // bash versions differ.
        let torn = !outer.is_empty() && self.source_between(start, self.offset).contains('\n');
        if torn || !self.pending.is_empty() {
            return self.syntax_error();
        }
        self.pending = outer;
        self.in_substitution = was;
        if !has_unambiguous_end(self.source_between(start, self.offset)) {
            return self.syntax_error();
        }
        self.expect(")")?;
        Ok(list)
    }

    /// Parses `` `…` ``. Its text is parsed as a separate script later.
    pub(super) fn parse_backquote(&mut self, quoted: bool) -> ParseResult<WordPiece<'a>> {
        let start = self.offset;
        self.offset += 1;
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|byte| !matches!(byte, b'`' | b'\\')));
            match (self.peek(), self.peek_ahead(1)) {
                (Some(b'`'), _) => break,
                (Some(_), Some(b'`' | b'$' | b'\\')) => {
                    text.push_str(self.source_between(self.offset + 1, self.offset + 2));
                }
                // Depending on the quotes, lines are joined when the substitution is found or when
                // it is parsed.
                (Some(_), Some(b'\n')) => return self.syntax_error(),
                // Inside double quotes and here-documents, `\"` may or may not lose its backslash.
                (Some(_), Some(b'"')) if quoted => return self.syntax_error(),
                (Some(_), Some(next)) if next.is_ascii() => {
                    text.push_str(self.source_between(self.offset, self.offset + 2));
                }
                _ => return self.syntax_error(),
            }
            self.offset += 2;
        }
        self.offset += 1;
        if self.source_between(start, self.offset).contains('\\') {
            self.note_unusual(start); // The text has nested quoting.
        }
        // Braces are expanded before quotes inside backquotes are interpreted.
        if quoted && text.contains('{') && text.contains('"') {
            return self.syntax_error();
        }
        if self.in_heredoc && text.contains("<<") {
            return self.syntax_error();
        }
        Ok(WordPiece::Backquote(Cow::Owned(text), self.span_from(start)))
    }

    fn parse_braced_parameter(&mut self, quoted: bool) -> ParseResult<WordPiece<'a>> {
        let start = self.offset;
        self.offset += 2;
        let mut form = self.parse_parameter_prefix();
        let name = self.parse_parameter_name()?;
        let subscript = self.parse_subscript()?;
        let mut operand = Vec::new();
        if self.peek() != Some(b'}') {
            let from = self.offset;
            operand = self.with_deeper_nesting(|parser| {
                parser.parse_operator_and_operand(&mut form, quoted)
            })?;
            // `${!#i}` is an error in bash. `${##i}` and similar forms may be lengths, depending on
            // the text after them.
            if matches!(name, "!" | "#") {
                self.note_unusual(start);
            }
            if form != ExpansionForm::Substring
                && !common_operands::is_common_operand(
                    &operand,
                    self.source_between(from, self.offset),
                )
            {
                self.note_unusual(from);
            }
        }
        self.expect("}")?;
        if form == ExpansionForm::Indirect && matches!(subscript, Some(ArraySubscript::All)) {
            form = ExpansionForm::Names;
        }
        let span = self.span_from(start);
        Ok(WordPiece::Parameter(Box::new(ParameterExpansion {
            name,
            form,
            subscript,
            operand,
            span,
        })))
    }

    /// Consumes a `#` or `!` before a name.
    fn parse_parameter_prefix(&mut self) -> ExpansionForm {
        let form = match (self.peek(), self.peek_ahead(1)) {
            (Some(b'#'), Some(b'@' | b'*')) => ExpansionForm::Length,
            (Some(b'#'), Some(byte)) if is_name_continue(byte) => ExpansionForm::Length,
            (Some(b'!'), Some(byte)) if is_name_continue(byte) => ExpansionForm::Indirect,
            _ => return ExpansionForm::Value,
        };
        self.offset += 1;
        form
    }

    fn parse_parameter_name(&mut self) -> ParseResult<&'a str> {
        match self.peek() {
            Some(byte) if is_name_start(byte) => Ok(self.take_while(is_name_continue)),
            Some(b'0'..=b'9') => Ok(self.take_while(|byte| byte.is_ascii_digit())),
            Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => {
                self.offset += 1;
                Ok(self.source_between(self.offset - 1, self.offset))
            }
            _ => self.syntax_error(),
        }
    }

    fn parse_subscript(&mut self) -> ParseResult<Option<ArraySubscript<'a>>> {
        if self.peek() != Some(b'[') {
            return Ok(None);
        }
        self.uses_bashisms = true;
        if self.consume("[@]") || self.consume("[*]") {
            return Ok(Some(ArraySubscript::All));
        }
        self.offset += 1;
        let text = self.with_deeper_nesting(|parser| parser.parse_arithmetic(b"]"))?;
        self.expect("]")?;
        Ok(Some(ArraySubscript::Text(text)))
    }

    fn parse_operator_and_operand(
        &mut self,
        form: &mut ExpansionForm,
        quoted: bool,
    ) -> ParseResult<Vec<WordPiece<'a>>> {
        let colon = self.consume(":");
        let operator = self.peek();
        match operator {
            Some(b'=') => *form = self.expansion_form(*form, ExpansionForm::Assign)?,
            Some(b'-' | b'?' | b'+') => *form = self.expansion_form(*form, ExpansionForm::Other)?,
            _ if colon => {
                self.uses_bashisms = true;
                *form = self.expansion_form(*form, ExpansionForm::Substring)?;
                return self.parse_arithmetic(b"}");
            }
            Some(b'#' | b'%') => *form = self.expansion_form(*form, ExpansionForm::Other)?,
            Some(b'/' | b'^' | b',' | b'~') => {
                self.uses_bashisms = true;
                *form = self.expansion_form(*form, ExpansionForm::Other)?;
            }
            Some(b'@' | b'*') => return self.parse_transformation(form),
            _ => return self.syntax_error(),
        }
        self.offset += 1;
        if quoted {
            self.parse_quoted_text(QuoteEnd::Brace)
        } else {
            self.parse_pieces(WordEnd::Brace)
        }
    }

    /// Returns the form that an operator gives to a parameter. An indirect expansion stays
    /// indirect, which is the stricter form.
    fn expansion_form(&self, form: ExpansionForm, by: ExpansionForm) -> ParseResult<ExpansionForm> {
        match (form, by) {
            (ExpansionForm::Value, by) => Ok(by),
            (ExpansionForm::Indirect, ExpansionForm::Other) => Ok(ExpansionForm::Indirect),
            _ => self.syntax_error(),
        }
    }

    fn parse_transformation(
        &mut self,
        form: &mut ExpansionForm,
    ) -> ParseResult<Vec<WordPiece<'a>>> {
        self.uses_bashisms = true;
        *form = match (*form, self.peek(), self.peek_ahead(1)) {
            (ExpansionForm::Indirect, _, Some(b'}')) => ExpansionForm::Names,
            (ExpansionForm::Value, Some(b'@'), Some(b'P')) => ExpansionForm::Prompt,
            (
                ExpansionForm::Value,
                Some(b'@'),
                Some(b'Q' | b'E' | b'A' | b'K' | b'a' | b'k' | b'U' | b'u' | b'L'),
            ) => ExpansionForm::Transformation,
            _ => return self.syntax_error(),
        };
        self.offset += if *form == ExpansionForm::Names { 1 } else { 2 };
        Ok(Vec::new())
    }
}

/// Returns whether bash ends a substitution of this text where its commands end. After `$((` it
/// looks for arithmetic first. That search counts parentheses and quotes, and it ignores `case` and
/// comments.
fn has_unambiguous_end(text: &str) -> bool {
    !text.starts_with('(')
        || !text.contains(['\'', '"', '\\', '`', '#'])
            && !text.contains("case")
            && !text.contains("<<")
}

/// Returns whether a list consists of a single pipeline of simple commands.
fn is_single_pipeline(list: &CommandList<'_>) -> bool {
    match list.as_slice() {
        [ListItem { first, rest, is_background: false, .. }] => {
            rest.is_empty()
                && first.commands.iter().all(|command| matches!(command, ShellCommand::Simple(_)))
        }
        _ => false,
    }
}
