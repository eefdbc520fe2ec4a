//! Compound commands.

use std::borrow::Cow;

use super::{
    byte_classes::{is_name, is_reserved_word},
    parser_cursor::{ParseResult, ScriptParser},
    syntax_tree::{CommandList, CompoundCommand, ShellCommand, ShellWord},
};

impl<'a> ScriptParser<'a> {
    /// Parses the compound command that begins with the reserved word `word` at the cursor.
    pub(super) fn parse_compound(&mut self, word: &str) -> ParseResult<ShellCommand<'a>> {
        match word {
            "select" => self.note_unusual(self.offset),
            "case" | "coproc" | "function" => self.note_unusual_in_substitution(self.offset),
            _ => {}
        }
        self.expect_reserved(word)?;
        let compound = match word {
            "{" => CompoundCommand::Group(self.parse_block("}")?),
            "if" => self.parse_if()?,
            "while" | "until" => self.parse_loop(word == "until")?,
            "for" => self.parse_for()?,
            "select" => self.parse_for_in(true)?,
            "case" => self.parse_case()?,
            "[[" => self.parse_condition()?,
            "function" => return self.parse_function(),
            "coproc" => return self.parse_coprocess(),
            _ => return self.syntax_error(),
        };
        self.finish_compound(compound)
    }

    /// Parses commands and the word that ends them.
    fn parse_block(&mut self, end: &str) -> ParseResult<CommandList<'a>> {
        let list = self.parse_list()?;
        self.expect_reserved(end)?;
        Ok(list)
    }

    fn parse_if(&mut self) -> ParseResult<CompoundCommand<'a>> {
        let mut arms = Vec::new();
        loop {
            let condition = self.parse_block("then")?;
            arms.push((condition, self.parse_list()?));
            if self.consume_reserved("elif") {
                continue;
            }
            let otherwise =
                if self.consume_reserved("else") { self.parse_list()? } else { CommandList::new() };
            self.expect_reserved("fi")?;
            return Ok(CompoundCommand::If { arms, else_body: otherwise });
        }
    }

    fn parse_loop(&mut self, until: bool) -> ParseResult<CompoundCommand<'a>> {
        let condition = self.parse_block("do")?;
        Ok(CompoundCommand::While { condition, body: self.parse_block("done")?, until })
    }

    fn parse_for(&mut self) -> ParseResult<CompoundCommand<'a>> {
        self.skip_blanks();
        if !self.consume("((") {
            return self.parse_for_in(false);
        }
        self.note_unusual_in_substitution(self.offset);
        self.uses_bashisms = true;
        let mut parts = Vec::new();
        for closer in [b";", b";", b")"] {
            parts.push(self.parse_arithmetic(closer)?);
            self.offset += 1;
        }
        self.expect(")")?;
        self.skip_blanks();
        self.consume(";");
        Ok(CompoundCommand::ForArithmetic { parts, body: self.parse_loop_body()? })
    }

    fn parse_for_in(&mut self, select: bool) -> ParseResult<CompoundCommand<'a>> {
        self.uses_bashisms |= select;
        self.skip_blanks();
        let name = self.peek_plain_word();
        if !is_name(name) {
            return self.syntax_error();
        }
        self.offset += name.len();
        self.skip_lines()?;
        let words = if self.consume_reserved("in") { Some(self.parse_for_words()?) } else { None };
        if words.is_none() && self.peek() == Some(b';') {
            self.offset += 1;
        }
        Ok(CompoundCommand::For { name, words, body: self.parse_loop_body()?, select })
    }

    /// Parses the words of `for x in …` and the separator after them.
    fn parse_for_words(&mut self) -> ParseResult<Vec<ShellWord<'a>>> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'#') => self.skip_comment(),
                Some(b';') => {
                    self.offset += 1;
                    self.reject_hidden_operator(b";&")?;
                    return Ok(words);
                }
                Some(b'\n') => return self.consume_newline().map(|()| words),
                _ => words.push(self.parse_word()?),
            }
        }
    }

    fn parse_loop_body(&mut self) -> ParseResult<CommandList<'a>> {
        self.skip_lines()?;
        if self.consume_reserved("{") {
            return self.parse_block("}");
        }
        self.expect_reserved("do")?;
        self.parse_block("done")
    }

    fn parse_case(&mut self) -> ParseResult<CompoundCommand<'a>> {
        self.skip_blanks();
        let word = self.parse_word()?;
        self.skip_lines()?;
        self.expect_reserved("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.consume_reserved("esac") {
                return Ok(CompoundCommand::Case { word, arms });
            }
            arms.push((self.parse_case_patterns()?, self.parse_list()?));
            if self.starts_with(";;&") || self.starts_with(";&") {
                self.note_unusual(self.offset);
            }
            if !(self.consume(";;&") || self.consume(";;") || self.consume(";&")) {
                self.expect_reserved("esac")?;
                return Ok(CompoundCommand::Case { word, arms });
            }
            self.reject_hidden_operator(b"&;")?;
        }
    }

    fn parse_case_patterns(&mut self) -> ParseResult<Vec<ShellWord<'a>>> {
        self.consume("(");
        let mut patterns = Vec::new();
        loop {
            self.skip_blanks();
            patterns.push(self.parse_word()?);
            self.skip_blanks();
            if self.consume(")") {
                return Ok(patterns);
            }
            self.expect("|")?;
        }
    }

    fn parse_function(&mut self) -> ParseResult<ShellCommand<'a>> {
        self.uses_bashisms = true;
        self.skip_blanks();
        let name = self.peek_plain_word();
        if name.is_empty() {
            return self.syntax_error();
        }
        self.offset += name.len();
        self.skip_blanks();
        if self.consume("(") {
            self.skip_blanks();
            self.expect(")")?;
        }
        self.parse_function_body(name)
    }

    /// Parses the body of the function `name`.
    pub(super) fn parse_function_body(&mut self, name: &'a str) -> ParseResult<ShellCommand<'a>> {
        self.note_unusual_in_substitution(self.offset);
        self.skip_lines()?;
        if !self.is_at_compound() {
            return self.syntax_error();
        }
        let body = Box::new(self.with_deeper_nesting(|parser| parser.parse_command(true))?);
        let compound = CompoundCommand::Function { name: Cow::Borrowed(name), body };
        Ok(ShellCommand::Compound(Box::new(compound), Vec::new()))
    }

    fn is_at_compound(&self) -> bool {
        let word = self.peek_plain_word();
        self.peek() == Some(b'(')
            || matches!(word, "{" | "if" | "for" | "while" | "until" | "case" | "select" | "[[")
    }

    fn parse_coprocess(&mut self) -> ParseResult<ShellCommand<'a>> {
        self.uses_bashisms = true;
        self.skip_blanks();
        let mut name = "COPROC";
        let start = self.offset;
        let word = self.peek_plain_word();
        if is_name(word) && !is_reserved_word(word) {
            self.offset += word.len();
            self.skip_blanks();
            if self.is_at_compound() {
                name = word;
            } else {
                self.offset = start;
            }
        }
        if is_reserved_word(self.peek_plain_word()) && !self.is_at_compound() {
            return self.syntax_error();
        }
        // bash 5.2 prints substitutions and parses the result again. What it prints for a simple
        // coprocess is a different command.
        if self.in_substitution && name == "COPROC" {
            return self.syntax_error();
        }
        let body = Box::new(self.parse_command(true)?);
        let compound = CompoundCommand::Coprocess { name, body };
        Ok(ShellCommand::Compound(Box::new(compound), Vec::new()))
    }
}
