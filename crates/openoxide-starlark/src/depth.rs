//! How deep a file nests, at most: a parser and what follows it go down by recursion.

use starlark::{codemap::CodeMap, syntax::Dialect};
use starlark_syntax::lexer::{Lexer, Token};

/// A statement, or the blocks that it stands in, may nest so deep.
const DEEPEST: usize = 256;

/// Says whether a file may nest deeper than is safe. What is no token ends the file: the parser gets no further either.
pub(super) fn too_deep(text: &str) -> bool {
    let lexer = Lexer::new(text, &Dialect::Extended, CodeMap::new(String::new(), text.to_owned()));
    let mut nesting = Nesting::default();
    lexer.map_while(Result::ok).any(|(_, token, _)| nesting.after(&token) > DEEPEST)
}

/// A bound of the height of the tree: each operator may add a level, and what a comma parts does not add up.
#[derive(Default)]
struct Nesting {
    /// Blocks by indentation; an `elif` nests in the one before it.
    blocks: usize,
    open: Vec<Bracket>,
    /// The height of the present item.
    here: usize,
}

struct Bracket {
    /// The height of what stands before it, and itself.
    before: usize,
    /// The highest item in it so far.
    highest: usize,
}

impl Nesting {
    fn after(&mut self, token: &Token) -> usize {
        match token {
            Token::Indent | Token::Elif => self.blocks += 1,
            Token::Dedent => self.blocks = self.blocks.saturating_sub(1),
            Token::OpeningRound | Token::OpeningSquare | Token::OpeningCurly => {
                self.open.push(Bracket { before: self.here + 1, highest: 0 });
                self.here = 0;
            }
            Token::ClosingRound | Token::ClosingSquare | Token::ClosingCurly => self.close(),
            Token::Comma => self.item(),
            Token::Newline | Token::Semicolon if self.open.is_empty() => self.here = 0,
            Token::Comment(_) | Token::Newline => {}
            Token::Identifier(_) | Token::String(_) | Token::Int(_) | Token::Float(_) => {}
            _ => self.here += 1,
        }
        self.blocks + self.here + self.open.iter().map(|open| open.before).sum::<usize>()
    }

    fn item(&mut self) {
        if let Some(open) = self.open.last_mut() {
            open.highest = open.highest.max(self.here);
            self.here = 0;
        }
    }

    /// What is closed may be called, indexed or asked for a part, and all of it is then below that.
    fn close(&mut self) {
        if let Some(Bracket { before, highest }) = self.open.pop() {
            self.here = before + highest.max(self.here);
        }
    }
}
