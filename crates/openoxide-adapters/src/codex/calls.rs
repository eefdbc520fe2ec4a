//! Tokens to calls: a function's name and its arguments.

use std::ops::Range;

use super::lexer::{ONLY_CALLS, Placed, Token, tokens};
use crate::foreign::Fault;

/// Lists lie inside of lists so deep at most.
const DEEPEST: usize = 4;

/// A value, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Text(String),
    List(Vec<Value>),
    /// `True`, `False` or `None`.
    Word(String),
}

/// A call: its arguments with their names; those without one stand first.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) function: String,
    pub(super) span: Range<usize>,
    pub(super) arguments: Vec<(Option<String>, Value)>,
}

/// Reads all calls of a file.
///
/// # Errors
/// At the first thing that is no plain call.
pub(super) fn calls(source: &str) -> Result<Vec<Call>, Fault> {
    let tokens = tokens(source)?;
    let mut parser = Parser { tokens: &tokens, end: source.len() };
    let mut calls = Vec::new();
    loop {
        while parser.take(';') {}
        if parser.tokens.is_empty() {
            return Ok(calls);
        }
        calls.push(parser.call()?);
        if !parser.tokens.is_empty() && !parser.take(';') {
            return Err(parser.unexpected());
        }
    }
}

struct Parser<'t> {
    tokens: &'t [Placed],
    end: usize,
}

impl<'t> Parser<'t> {
    fn next(&mut self) -> Option<&'t Placed> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn is(&self, mark: char) -> bool {
        matches!(self.tokens.first(), Some((Token::Mark(found), _)) if *found == mark)
    }

    fn take(&mut self, mark: char) -> bool {
        let there = self.is(mark);
        if there {
            self.next();
        }
        there
    }

    fn here(&self) -> Range<usize> {
        self.tokens.first().map_or(self.end..self.end, |(_, span)| span.clone())
    }

    fn unexpected(&self) -> Fault {
        let what = if self.tokens.is_empty() {
            "the file ends too early"
        } else {
            "this is no plain call"
        };
        Fault::new(what, self.here()).help(ONLY_CALLS)
    }

    fn call(&mut self) -> Result<Call, Fault> {
        let Some((Token::Name(function), span)) = self.tokens.first() else {
            return Err(self.unexpected());
        };
        self.next();
        if !self.take('(') {
            return Err(self.unexpected());
        }
        let mut arguments = Vec::new();
        while !self.take(')') {
            arguments.push(self.argument()?);
            if !self.take(',') && !self.is(')') {
                return Err(self.unexpected());
            }
        }
        Ok(Call { function: function.clone(), span: span.clone(), arguments })
    }

    fn argument(&mut self) -> Result<(Option<String>, Value), Fault> {
        if let [(Token::Name(name), _), (Token::Mark('='), _), rest @ ..] = self.tokens {
            self.tokens = rest;
            return Ok((Some(name.clone()), self.value(0)?));
        }
        Ok((None, self.value(0)?))
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        let span = self.here();
        let kind = match self.tokens.first() {
            Some((Token::Text(text), _)) => Kind::Text(text.clone()),
            Some((Token::Name(name), _)) if ["True", "False", "None"].contains(&name.as_str()) => {
                Kind::Word(name.clone())
            }
            Some((Token::Mark('['), _)) if depth < DEEPEST => return self.list(depth),
            _ => return Err(self.unexpected()),
        };
        self.next();
        Ok(Value { kind, span })
    }

    fn list(&mut self, depth: usize) -> Result<Value, Fault> {
        let start = self.here().start;
        self.next();
        let mut items = Vec::new();
        loop {
            let end = self.here().end;
            if self.take(']') {
                return Ok(Value { kind: Kind::List(items), span: start..end });
            }
            items.push(self.value(depth + 1)?);
            if !self.take(',') && !self.is(']') {
                return Err(self.unexpected());
            }
        }
    }
}
