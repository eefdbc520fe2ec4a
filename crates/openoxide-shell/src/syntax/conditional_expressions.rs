//! `[[ … ]]`.

use super::{
    parser_cursor::{ParseResult, ScriptParser},
    syntax_tree::{CompoundCommand, ConditionTest, ShellWord},
    words::WordEnd,
};

impl<'a> ScriptParser<'a> {
    /// Parses a condition after `[[`, up to and including `]]`.
    pub(super) fn parse_condition(&mut self) -> ParseResult<CompoundCommand<'a>> {
        self.uses_bashisms = true;
        let mut tests = Vec::new();
        self.parse_alternatives(&mut tests)?;
        self.expect_reserved("]]")?;
        Ok(CompoundCommand::Condition(tests))
    }

    fn parse_alternatives(&mut self, tests: &mut Vec<ConditionTest<'a>>) -> ParseResult<()> {
        loop {
            self.parse_condition_term(tests)?;
            self.skip_lines()?;
            if !self.consume("&&") && !self.consume("||") {
                return Ok(());
            }
        }
    }

    fn parse_condition_term(&mut self, tests: &mut Vec<ConditionTest<'a>>) -> ParseResult<()> {
        self.skip_lines()?;
        while self.consume_reserved("!") {
            self.skip_lines()?;
        }
        if self.consume("(") {
            self.with_deeper_nesting(|parser| parser.parse_alternatives(tests))?;
            return self.expect(")");
        }
        let left = self.parse_condition_operand(WordEnd::Meta)?;
        self.skip_blanks();
        let test = match left.as_plain_text() {
            Some(operator) if is_unary_operator(operator) => {
                ConditionTest::Unary(operator, self.parse_condition_operand(WordEnd::Meta)?)
            }
            _ => self.parse_comparison(left)?,
        };
        tests.push(test);
        Ok(())
    }

    fn parse_comparison(&mut self, left: ShellWord<'a>) -> ParseResult<ConditionTest<'a>> {
        let start = self.offset;
        let operator = match self.peek() {
            Some(b'<' | b'>') if self.peek_ahead(1) != Some(b'(') => {
                self.offset += 1;
                self.source_between(start, self.offset)
            }
            _ => self.peek_plain_word(),
        };
        if !is_binary_operator(operator) {
            return Ok(ConditionTest::One(left));
        }
        self.offset = start + operator.len();
        self.skip_blanks();
        let until = match operator {
            "=~" => WordEnd::Regex,
            "==" | "=" | "!=" => WordEnd::Pattern,
            _ => WordEnd::Meta,
        };
        Ok(ConditionTest::Binary(left, operator, self.parse_condition_operand(until)?))
    }

    fn parse_condition_operand(&mut self, until: WordEnd) -> ParseResult<ShellWord<'a>> {
        if self.peek_plain_word() == "]]" || self.peek() == Some(b'#') {
            return self.syntax_error();
        }
        self.parse_word_until(until)
    }
}

fn is_unary_operator(text: &str) -> bool {
    let letter = text.strip_prefix('-').and_then(|rest| {
        let mut letters = rest.chars();
        letters.next().filter(|_| letters.next().is_none())
    });
    letter.is_some_and(|letter| "abcdefghknoprstuvwxzGLNORS".contains(letter))
}

fn is_binary_operator(text: &str) -> bool {
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
