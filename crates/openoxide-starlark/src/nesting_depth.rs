//! The limit of the nesting depth of a file. The parser and the later passes are recursive.

use starlark::{codemap::CodeMap, syntax::Dialect};
use starlark_syntax::lexer::{Lexer, Token};

/// The maximum nesting depth of a statement, including the blocks that contain it.
const MAX_DEPTH: usize = 256;

/// Returns whether a file may be nested more deeply than is safe. An invalid token ends the check,
/// because the parser stops there as well.
pub(super) fn is_too_deep(text: &str) -> bool {
    let lexer = Lexer::new(text, &Dialect::Extended, CodeMap::new(String::new(), text.to_owned()));
    let mut nesting = NestingDepth::default();
    lexer.map_while(Result::ok).any(|(_, token, _)| nesting.update(&token) > MAX_DEPTH)
}

/// An upper bound of the height of the syntax tree. Each operator may add a level. Items separated
/// by commas do not add up.
#[derive(Default)]
struct NestingDepth {
    /// The open blocks, by indentation. An `elif` is nested in the branch before it.
    blocks: usize,
    open: Vec<OpenBracket>,
    /// The height of the current item.
    current_height: usize,
}

struct OpenBracket {
    /// The height of the text before the bracket, plus the bracket itself.
    outer_height: usize,
    /// The height of the highest item so far.
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

    /// Closes a bracket. The closed expression may be called, indexed or used for an attribute
    /// access, so its whole height is below the next operator.
    fn close_bracket(&mut self) {
        if let Some(OpenBracket { outer_height: before, max_height: highest }) = self.open.pop() {
            self.current_height = before + highest.max(self.current_height);
        }
    }
}
