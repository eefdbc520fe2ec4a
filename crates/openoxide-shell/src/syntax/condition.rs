//! `[[ … ]]`.

use super::{
    cursor::{Parsed, Parser},
    tree::{Compound, Test, Word},
    word::Until,
};

impl<'a> Parser<'a> {
    /// Reads a condition after `[[`, up to and with `]]`.
    pub(super) fn condition(&mut self) -> Parsed<Compound<'a>> {
        self.bashisms = true;
        let mut tests = Vec::new();
        self.alternatives(&mut tests)?;
        self.expect_reserved("]]")?;
        Ok(Compound::Condition(tests))
    }

    fn alternatives(&mut self, tests: &mut Vec<Test<'a>>) -> Parsed<()> {
        loop {
            self.term(tests)?;
            self.skip_lines()?;
            if !self.eat("&&") && !self.eat("||") {
                return Ok(());
            }
        }
    }

    fn term(&mut self, tests: &mut Vec<Test<'a>>) -> Parsed<()> {
        self.skip_lines()?;
        while self.eat_reserved("!") {
            self.skip_lines()?;
        }
        if self.eat("(") {
            self.deeper(|parser| parser.alternatives(tests))?;
            return self.expect(")");
        }
        let left = self.operand(Until::Meta)?;
        self.skip_blanks();
        let test = match left.plain() {
            Some(operator) if is_unary(operator) => {
                Test::Unary(operator, self.operand(Until::Meta)?)
            }
            _ => self.comparison(left)?,
        };
        tests.push(test);
        Ok(())
    }

    fn comparison(&mut self, left: Word<'a>) -> Parsed<Test<'a>> {
        let start = self.at;
        let operator = match self.peek() {
            Some(b'<' | b'>') if self.ahead(1) != Some(b'(') => {
                self.at += 1;
                self.slice(start, self.at)
            }
            _ => self.peek_plain(),
        };
        if !is_binary(operator) {
            return Ok(Test::One(left));
        }
        self.at = start + operator.len();
        self.skip_blanks();
        let until = match operator {
            "=~" => Until::Regex,
            "==" | "=" | "!=" => Until::Pattern,
            _ => Until::Meta,
        };
        Ok(Test::Binary(left, operator, self.operand(until)?))
    }

    fn operand(&mut self, until: Until) -> Parsed<Word<'a>> {
        if self.peek_plain() == "]]" || self.peek() == Some(b'#') {
            return self.fault();
        }
        self.word_until(until)
    }
}

fn is_unary(text: &str) -> bool {
    let letter = text.strip_prefix('-').and_then(|rest| {
        let mut letters = rest.chars();
        letters.next().filter(|_| letters.next().is_none())
    });
    letter.is_some_and(|letter| "abcdefghknoprstuvwxzGLNORS".contains(letter))
}

fn is_binary(text: &str) -> bool {
    matches!(
        text,
        "==" | "="
            | "!="
            | "=~"
            | "<"
            | ">"
            | "-eq"
            | "-ne"
            | "-lt"
            | "-le"
            | "-gt"
            | "-ge"
            | "-nt"
            | "-ot"
            | "-ef"
    )
}
