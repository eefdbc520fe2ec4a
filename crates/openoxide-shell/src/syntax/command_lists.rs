//! Parsing of lists and pipelines, and recognition of the kind of command at the cursor.

use super::{
    byte_classes::{is_list_terminator, is_reserved_word},
    parser_cursor::{ParseResult, ScriptParser},
    syntax_tree::{CommandList, CompoundCommand, ListItem, ListOperator, Pipeline, ShellCommand},
};

impl<'a> ScriptParser<'a> {
    /// Parses commands up to the end of the list: a closing word or parenthesis, `;;`, or the end
    /// of the text.
    pub(super) fn parse_list(&mut self) -> ParseResult<CommandList<'a>> {
        let mut list = CommandList::new();
        self.parse_list_into(&mut list)?;
        Ok(list)
    }

    /// Parses a list into `list`. After an error, `list` keeps the items that were read before it.
    pub(super) fn parse_list_into(&mut self, list: &mut CommandList<'a>) -> ParseResult<()> {
        let mut end = self.offset;
        loop {
            self.skip_lines()?;
            if self.is_at_list_end() {
                return Ok(());
            }
            let begins = self.source_between(end, self.offset).contains('\n');
            let mut item = ListItem { starts_line: begins, ..self.parse_item()? };
            end = self.offset;
            let goes_on = self.parse_separator(&mut item);
            list.push(item);
            if !goes_on? {
                return Ok(());
            }
        }
    }

    fn is_at_list_end(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.peek_ahead(1), Some(b';' | b'&')),
            _ => is_list_terminator(self.peek_plain_word()),
        }
    }

    /// Consumes the separator after an item. Returns whether another item may follow.
    fn parse_separator(&mut self, item: &mut ListItem<'a>) -> ParseResult<bool> {
        self.skip_blanks();
        match self.peek() {
            None | Some(b')') => Ok(false),
            Some(b';') if matches!(self.peek_ahead(1), Some(b';' | b'&')) => Ok(false),
            Some(b';') => {
                self.offset += 1;
                self.reject_hidden_operator(b";&")?;
                Ok(true)
            }
            Some(b'&') => {
                self.offset += 1;
                self.reject_hidden_operator(b"&>")?;
                item.is_background = true;
                Ok(true)
            }
            Some(b'\n') => self.consume_newline().map(|()| true),
            Some(b'#') => {
                self.skip_comment();
                Ok(true)
            }
            // `{ a; } }` and `( a ) fi`: a closing word may directly follow a compound command.
            _ if is_list_terminator(self.peek_plain_word()) => Ok(false),
            _ => self.syntax_error(),
        }
    }

    fn parse_item(&mut self) -> ParseResult<ListItem<'a>> {
        let first = self.parse_pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let join = if self.consume("&&") {
                ListOperator::And
            } else if self.consume("||") {
                ListOperator::Or
            } else {
                return Ok(ListItem { first, rest, is_background: false, starts_line: false });
            };
            self.skip_lines()?;
            rest.push((join, self.parse_pipeline()?));
        }
    }

    fn parse_pipeline(&mut self) -> ParseResult<Pipeline<'a>> {
        let mut pipeline = Pipeline::default();
        if self.parse_pipeline_prefixes(&mut pipeline.is_negated)? {
            if self.is_at_pipeline_end() {
                return Ok(pipeline);
            }
            // In `$(time case …)`, bash 5.2 reads `case` as a program and the first `)` as the end.
            if self.in_substitution
                && (self.peek() == Some(b'(') || is_reserved_word(self.peek_plain_word()))
            {
                return self.syntax_error();
            }
        }
        loop {
            let command = self.parse_command(pipeline.commands.is_empty())?;
            pipeline.commands.push(command);
            self.skip_blanks();
            if self.peek() != Some(b'|') || self.peek_ahead(1) == Some(b'|') {
                return Ok(pipeline);
            }
            self.offset += 1;
            self.uses_bashisms |= self.consume("&");
            self.reject_hidden_operator(b"|&")?;
            self.skip_lines()?;
        }
    }

    /// Parses any number of `!` and `time`. Returns whether `time` was one of them.
    fn parse_pipeline_prefixes(&mut self, negated: &mut bool) -> ParseResult<bool> {
        let (mut timed, mut count) = (false, 0_u32);
        loop {
            self.skip_blanks();
            self.reject_split_reserved_word()?;
            let start = self.offset;
            if count > 0 && matches!(self.peek_plain_word(), "!" | "time" | "-p" | "--") {
                self.note_unusual(start);
            }
            count += 1;
            if self.consume_reserved("time") {
                self.note_unusual_in_substitution(start);
                self.uses_bashisms = true;
                timed = true;
                for option in ["-p", "--"] {
                    self.skip_blanks();
                    self.consume_reserved(option);
                }
            } else if self.consume_reserved("!") {
                *negated = true;
            } else {
                return Ok(timed);
            }
        }
    }

    fn is_at_pipeline_end(&self) -> bool {
        matches!(self.peek(), None | Some(b'\n' | b';' | b')' | b'#'))
    }

    /// Parses one command. After a `|`, `time` is a program.
    pub(super) fn parse_command(&mut self, first: bool) -> ParseResult<ShellCommand<'a>> {
        self.skip_blanks();
        if self.peek() == Some(b'(') {
            return self.parse_parenthesis();
        }
        self.reject_split_reserved_word()?;
        let word = self.peek_plain_word();
        if word == "time" && !first {
            self.uses_bashisms = true;
            return self.parse_simple_command();
        }
        if is_reserved_word(word) {
            return self.with_deeper_nesting(|parser| parser.parse_compound(word));
        }
        self.parse_simple_command()
    }

    /// Parses the redirections after the last word of a compound command.
    pub(super) fn finish_compound(
        &mut self,
        compound: CompoundCommand<'a>,
    ) -> ParseResult<ShellCommand<'a>> {
        let redirects = self.parse_redirections()?;
        Ok(ShellCommand::Compound(Box::new(compound), redirects))
    }

    fn parse_parenthesis(&mut self) -> ParseResult<ShellCommand<'a>> {
        self.offset += 1;
        self.reject_hidden_operator(b"(")?;
        if self.peek() == Some(b'(')
            && let Some(pieces) = self.parse_double_parenthesis()?
        {
            self.uses_bashisms = true;
            return self.finish_compound(CompoundCommand::Arithmetic(pieces));
        }
        let list = self.with_deeper_nesting(Self::parse_list)?;
        self.expect(")")?;
        self.finish_compound(CompoundCommand::Subshell(list))
    }
}
