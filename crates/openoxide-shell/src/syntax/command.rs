//! Lists, pipelines, and what kind of command begins at the cursor.

use super::{
    bytes::{ends_list, is_reserved},
    cursor::{Parsed, Parser},
    tree::{Command, Compound, Item, Join, List, Pipeline},
};

impl<'a> Parser<'a> {
    /// Reads commands up to what ends a list: a closing word or parenthesis, `;;`, or the end of the text.
    pub(super) fn list(&mut self) -> Parsed<List<'a>> {
        let mut list = List::new();
        self.list_into(&mut list)?;
        Ok(list)
    }

    /// Like [`Self::list`], but keeps the items that were read before a fault.
    pub(super) fn list_into(&mut self, list: &mut List<'a>) -> Parsed<()> {
        let mut end = self.at;
        loop {
            self.skip_lines()?;
            if self.ends_list() {
                return Ok(());
            }
            let begins = self.slice(end, self.at).contains('\n');
            let mut item = Item { begins, ..self.item()? };
            end = self.at;
            let goes_on = self.separator(&mut item);
            list.push(item);
            if !goes_on? {
                return Ok(());
            }
        }
    }

    fn ends_list(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.ahead(1), Some(b';' | b'&')),
            _ => ends_list(self.peek_plain()),
        }
    }

    /// Reads the separator after an item. Returns whether another item may follow.
    fn separator(&mut self, item: &mut Item<'a>) -> Parsed<bool> {
        self.skip_blanks();
        match self.peek() {
            None | Some(b')') => Ok(false),
            Some(b';') if matches!(self.ahead(1), Some(b';' | b'&')) => Ok(false),
            Some(b';') => {
                self.at += 1;
                self.no_hidden(b";&")?;
                Ok(true)
            }
            Some(b'&') => {
                self.at += 1;
                self.no_hidden(b"&>")?;
                item.background = true;
                Ok(true)
            }
            Some(b'\n') => self.newline().map(|()| true),
            Some(b'#') => {
                self.skip_comment();
                Ok(true)
            }
            // `{ a; } }` and `( a ) fi`: a closing word may directly follow a compound command.
            _ if ends_list(self.peek_plain()) => Ok(false),
            _ => self.fault(),
        }
    }

    fn item(&mut self) -> Parsed<Item<'a>> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let join = if self.eat("&&") {
                Join::And
            } else if self.eat("||") {
                Join::Or
            } else {
                return Ok(Item { first, rest, background: false, begins: false });
            };
            self.skip_lines()?;
            rest.push((join, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Parsed<Pipeline<'a>> {
        let mut pipeline = Pipeline::default();
        if self.prefixes(&mut pipeline.negated)? {
            if self.ends_pipeline() {
                return Ok(pipeline);
            }
            // In `$(time case …)` bash 5.2 takes `case` for a program, and the first `)` for the end.
            if self.in_substitution && (self.peek() == Some(b'(') || is_reserved(self.peek_plain()))
            {
                return self.fault();
            }
        }
        loop {
            let command = self.command(pipeline.commands.is_empty())?;
            pipeline.commands.push(command);
            self.skip_blanks();
            if self.peek() != Some(b'|') || self.ahead(1) == Some(b'|') {
                return Ok(pipeline);
            }
            self.at += 1;
            self.bashisms |= self.eat("&");
            self.no_hidden(b"|&")?;
            self.skip_lines()?;
        }
    }

    /// Reads any number of `!` and `time`. Returns whether `time` was one of them.
    fn prefixes(&mut self, negated: &mut bool) -> Parsed<bool> {
        let (mut timed, mut count) = (false, 0_u32);
        loop {
            self.skip_blanks();
            self.no_torn_word()?;
            let start = self.at;
            if count > 0 && matches!(self.peek_plain(), "!" | "time" | "-p" | "--") {
                self.unusual(start);
            }
            count += 1;
            if self.eat_reserved("time") {
                self.unusual_in_substitution(start);
                self.bashisms = true;
                timed = true;
                for option in ["-p", "--"] {
                    self.skip_blanks();
                    self.eat_reserved(option);
                }
            } else if self.eat_reserved("!") {
                *negated = true;
            } else {
                return Ok(timed);
            }
        }
    }

    fn ends_pipeline(&self) -> bool {
        matches!(self.peek(), None | Some(b'\n' | b';' | b')' | b'#'))
    }

    /// Reads one command. After a `|`, `time` is a program.
    pub(super) fn command(&mut self, first: bool) -> Parsed<Command<'a>> {
        self.skip_blanks();
        if self.peek() == Some(b'(') {
            return self.parenthesis();
        }
        self.no_torn_word()?;
        let word = self.peek_plain();
        if word == "time" && !first {
            self.bashisms = true;
            return self.simple();
        }
        if is_reserved(word) {
            return self.deeper(|parser| parser.compound(word));
        }
        self.simple()
    }

    /// Reads a compound command after its last word: redirections may follow.
    pub(super) fn finish(&mut self, compound: Compound<'a>) -> Parsed<Command<'a>> {
        let redirects = self.redirects()?;
        Ok(Command::Compound(Box::new(compound), redirects))
    }

    fn parenthesis(&mut self) -> Parsed<Command<'a>> {
        self.at += 1;
        self.no_hidden(b"(")?;
        if self.peek() == Some(b'(')
            && let Some(pieces) = self.double_parenthesis()?
        {
            self.bashisms = true;
            return self.finish(Compound::Arithmetic(pieces));
        }
        let list = self.deeper(Self::list)?;
        self.expect(")")?;
        self.finish(Compound::Subshell(list))
    }
}
