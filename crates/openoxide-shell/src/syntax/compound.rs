//! Compound commands.

use std::borrow::Cow;

use super::{
    bytes::{is_name, is_reserved},
    cursor::{Parsed, Parser},
    tree::{Command, Compound, List, Word},
};

impl<'a> Parser<'a> {
    /// Reads the compound command that begins with the reserved word `word` at the cursor.
    pub(super) fn compound(&mut self, word: &str) -> Parsed<Command<'a>> {
        match word {
            "select" => self.unusual(self.at),
            "case" | "coproc" | "function" => self.unusual_in_substitution(self.at),
            _ => {}
        }
        self.expect_reserved(word)?;
        let compound = match word {
            "{" => Compound::Group(self.block("}")?),
            "if" => self.conditional()?,
            "while" | "until" => self.loop_(word == "until")?,
            "for" => self.for_()?,
            "select" => self.words_loop(true)?,
            "case" => self.case()?,
            "[[" => self.condition()?,
            "function" => return self.function(),
            "coproc" => return self.coprocess(),
            _ => return self.fault(),
        };
        self.finish(compound)
    }

    /// Reads commands and the word that ends them.
    fn block(&mut self, end: &str) -> Parsed<List<'a>> {
        let list = self.list()?;
        self.expect_reserved(end)?;
        Ok(list)
    }

    fn conditional(&mut self) -> Parsed<Compound<'a>> {
        let mut arms = Vec::new();
        loop {
            let condition = self.block("then")?;
            arms.push((condition, self.list()?));
            if self.eat_reserved("elif") {
                continue;
            }
            let otherwise = if self.eat_reserved("else") { self.list()? } else { List::new() };
            self.expect_reserved("fi")?;
            return Ok(Compound::If { arms, otherwise });
        }
    }

    fn loop_(&mut self, until: bool) -> Parsed<Compound<'a>> {
        let condition = self.block("do")?;
        Ok(Compound::While { condition, body: self.block("done")?, until })
    }

    fn for_(&mut self) -> Parsed<Compound<'a>> {
        self.skip_blanks();
        if !self.eat("((") {
            return self.words_loop(false);
        }
        self.unusual_in_substitution(self.at);
        self.bashisms = true;
        let mut parts = Vec::new();
        for closer in [b";", b";", b")"] {
            parts.push(self.arithmetic(closer)?);
            self.at += 1;
        }
        self.expect(")")?;
        self.skip_blanks();
        self.eat(";");
        Ok(Compound::ForArithmetic { parts, body: self.body()? })
    }

    fn words_loop(&mut self, select: bool) -> Parsed<Compound<'a>> {
        self.bashisms |= select;
        self.skip_blanks();
        let name = self.peek_plain();
        if !is_name(name) {
            return self.fault();
        }
        self.at += name.len();
        self.skip_lines()?;
        let words = if self.eat_reserved("in") { Some(self.words()?) } else { None };
        if words.is_none() && self.peek() == Some(b';') {
            self.at += 1;
        }
        Ok(Compound::For { name, words, body: self.body()?, select })
    }

    /// Reads the words of `for x in …` and the separator after them.
    fn words(&mut self) -> Parsed<Vec<Word<'a>>> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'#') => self.skip_comment(),
                Some(b';') => {
                    self.at += 1;
                    self.no_hidden(b";&")?;
                    return Ok(words);
                }
                Some(b'\n') => return self.newline().map(|()| words),
                _ => words.push(self.word()?),
            }
        }
    }

    fn body(&mut self) -> Parsed<List<'a>> {
        self.skip_lines()?;
        if self.eat_reserved("{") {
            return self.block("}");
        }
        self.expect_reserved("do")?;
        self.block("done")
    }

    fn case(&mut self) -> Parsed<Compound<'a>> {
        self.skip_blanks();
        let word = self.word()?;
        self.skip_lines()?;
        self.expect_reserved("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.eat_reserved("esac") {
                return Ok(Compound::Case { word, arms });
            }
            arms.push((self.patterns()?, self.list()?));
            if self.sees(";;&") || self.sees(";&") {
                self.unusual(self.at);
            }
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&")) {
                self.expect_reserved("esac")?;
                return Ok(Compound::Case { word, arms });
            }
            self.no_hidden(b"&;")?;
        }
    }

    fn patterns(&mut self) -> Parsed<Vec<Word<'a>>> {
        self.eat("(");
        let mut patterns = Vec::new();
        loop {
            self.skip_blanks();
            patterns.push(self.word()?);
            self.skip_blanks();
            if self.eat(")") {
                return Ok(patterns);
            }
            self.expect("|")?;
        }
    }

    fn function(&mut self) -> Parsed<Command<'a>> {
        self.bashisms = true;
        self.skip_blanks();
        let name = self.peek_plain();
        if name.is_empty() {
            return self.fault();
        }
        self.at += name.len();
        self.skip_blanks();
        if self.eat("(") {
            self.skip_blanks();
            self.expect(")")?;
        }
        self.function_body(name)
    }

    /// Reads the body of the function `name`.
    pub(super) fn function_body(&mut self, name: &'a str) -> Parsed<Command<'a>> {
        self.unusual_in_substitution(self.at);
        self.skip_lines()?;
        if !self.begins_compound() {
            return self.fault();
        }
        let body = Box::new(self.deeper(|parser| parser.command(true))?);
        let compound = Compound::Function { name: Cow::Borrowed(name), body };
        Ok(Command::Compound(Box::new(compound), Vec::new()))
    }

    fn begins_compound(&self) -> bool {
        let word = self.peek_plain();
        self.peek() == Some(b'(')
            || matches!(word, "{" | "if" | "for" | "while" | "until" | "case" | "select" | "[[")
    }

    fn coprocess(&mut self) -> Parsed<Command<'a>> {
        self.bashisms = true;
        self.skip_blanks();
        let mut name = "COPROC";
        let start = self.at;
        let word = self.peek_plain();
        if is_name(word) && !is_reserved(word) {
            self.at += word.len();
            self.skip_blanks();
            if self.begins_compound() {
                name = word;
            } else {
                self.at = start;
            }
        }
        if is_reserved(self.peek_plain()) && !self.begins_compound() {
            return self.fault();
        }
        // bash 5.2 writes substitutions out and reads them again, and what it writes for a simple coprocess is another
        // command.
        if self.in_substitution && name == "COPROC" {
            return self.fault();
        }
        let body = Box::new(self.command(true)?);
        let compound = Compound::Coprocess { name, body };
        Ok(Command::Compound(Box::new(compound), Vec::new()))
    }
}
