//! How deep a file nests, at most: a parser and what follows it go down by recursion.

use starlark::{codemap::CodeMap, syntax::Dialect};
use starlark_syntax::lexer::{Lexer, Token};

/// A statement, or the blocks that it stands in, may nest so deep.
const MAX_DEPTH: usize = 256;

/// Says whether a file may nest deeper than is safe. What is no token ends the file: the parser gets no further either.
pub(super) fn is_too_deep(text: &str) -> bool {
    let lexer = Lexer::new(text, &Dialect::Extended, CodeMap::new(String::new(), text.to_owned()));
    let mut nesting = NestingDepth::default();
    lexer.map_while(Result::ok).any(|(_, token, _)| nesting.update(&token) > MAX_DEPTH)
}

/// A bound of the height of the tree: each operator may add a level, and what a comma parts does not add up.
#[derive(Default)]
struct NestingDepth {
    /// Blocks by indentation; an `elif` nests in the one before it.
    blocks: usize,
    open: Vec<OpenBracket>,
    /// The height of the present item.
    current_height: usize,
}

struct OpenBracket {
    /// The height of what stands before it, and itself.
    outer_height: usize,
    /// The highest item in it so far.
    max_height: usize,
}

impl NestingDepth {
    fn update(&mut self, token: &Token) -> usize {
        match token {
            Token::Indent | Token::Elif => self.blocks += 1,
            Token::Dedent => self.blocks = self.blocks.saturating_sub(1),
            Token::OpeningRound | Token::OpeningSquare | Token::OpeningCurly => {
                self.open
                    .push(OpenBracket { outer_height: self.current_height + 1, max_height: 0 });
                self.current_height = 0;
            }
            Token::ClosingRound | Token::ClosingSquare | Token::ClosingCurly => {
                self.close_bracket();
            }
            Token::Comma => self.end_item(),
            Token::Newline | Token::Semicolon if self.open.is_empty() => self.current_height = 0,
            Token::Comment(_) | Token::Newline => {}
            Token::Identifier(_) | Token::String(_) | Token::Int(_) | Token::Float(_) => {}
            _ => self.current_height += 1,
        }
        self.blocks
            + self.current_height
            + self.open.iter().map(|open| open.outer_height).sum::<usize>()
    }

    fn end_item(&mut self) {
        if let Some(open) = self.open.last_mut() {
            open.max_height = open.max_height.max(self.current_height);
            self.current_height = 0;
        }
    }

    /// What is closed may be called, indexed or asked for a part, and all of it is then below that.
    fn close_bracket(&mut self) {
        if let Some(OpenBracket { outer_height: before, max_height: highest }) = self.open.pop() {
            self.current_height = before + highest.max(self.current_height);
        }
    }
}
