//! Parsing of tokens into calls, each with the name of a function and its arguments.

use std::ops::Range;

use super::rule_lexer::{PLAIN_CALLS_ONLY, SpannedToken, StarlarkToken, tokenize};
use openoxide_adapters::policy_translation::PolicyTextError;

/// The maximum nesting depth of lists.
const MAX_DEPTH: usize = 4;

/// A value with its location.
#[derive(Clone, Debug)]
pub(super) struct LiteralValue {
    pub(super) kind: LiteralKind,
    pub(super) span: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum LiteralKind {
    Text(String),
    List(Vec<LiteralValue>),
    /// `True`, `False` or `None`.
    Word(String),
}

impl LiteralValue {
    /// Returns the text, if the value is a string.
    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.kind {
            LiteralKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items, if the value is a list.
    pub(super) fn as_list(&self) -> Option<&[Self]> {
        match &self.kind {
            LiteralKind::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the value as a `bool`, if it is `True` or `False`.
    pub(super) fn as_bool(&self) -> Option<bool> {
        match &self.kind {
            LiteralKind::Word(word) if word == "True" => Some(true),
            LiteralKind::Word(word) if word == "False" => Some(false),
            _ => None,
        }
    }
}

/// A call with its named and positional arguments. Positional arguments come first.
#[derive(Clone, Debug)]
pub(super) struct FunctionCall {
    pub(super) function: String,
    pub(super) span: Range<usize>,
    pub(super) arguments: Vec<(Option<String>, LiteralValue)>,
}

/// Parses all calls of a file.
///
/// # Errors
/// Returns an error at the first statement that is not a plain call.
pub(super) fn parse_calls(source: &str) -> Result<Vec<FunctionCall>, PolicyTextError> {
    let tokens = tokenize(source)?;
    let mut parser = CallParser { tokens: &tokens, end: source.len() };
    let mut calls = Vec::new();
    loop {
        while parser.take_mark(';') {}
        if parser.tokens.is_empty() {
            return Ok(calls);
        }
        calls.push(parser.parse_call()?);
        if !parser.tokens.is_empty() && !parser.take_mark(';') {
            return Err(parser.unexpected_token_error());
        }
    }
}

struct CallParser<'t> {
    tokens: &'t [SpannedToken],
    end: usize,
}

impl<'t> CallParser<'t> {
    fn next_token(&mut self) -> Option<&'t SpannedToken> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn is_mark(&self, mark: char) -> bool {
        matches!(self.tokens.first(), Some((StarlarkToken::Mark(found), _)) if *found == mark)
    }

    fn take_mark(&mut self, mark: char) -> bool {
        let there = self.is_mark(mark);
        if there {
            self.next_token();
        }
        there
    }

    fn current_span(&self) -> Range<usize> {
        self.tokens.first().map_or(self.end..self.end, |(_, span)| span.clone())
    }

    fn unexpected_token_error(&self) -> PolicyTextError {
        let what = if self.tokens.is_empty() {
            "the file ends too early"
        } else {
            "this is not a plain call"
        };
        PolicyTextError::new(what, self.current_span()).with_help(PLAIN_CALLS_ONLY)
    }

    fn parse_call(&mut self) -> Result<FunctionCall, PolicyTextError> {
        let Some((StarlarkToken::Name(function), span)) = self.tokens.first() else {
            return Err(self.unexpected_token_error());
        };
        self.next_token();
        if !self.take_mark('(') {
            return Err(self.unexpected_token_error());
        }
        let mut arguments = Vec::new();
        while !self.take_mark(')') {
            arguments.push(self.parse_argument()?);
            if !self.take_mark(',') && !self.is_mark(')') {
                return Err(self.unexpected_token_error());
            }
        }
        Ok(FunctionCall { function: function.clone(), span: span.clone(), arguments })
    }

    fn parse_argument(&mut self) -> Result<(Option<String>, LiteralValue), PolicyTextError> {
        if let [(StarlarkToken::Name(name), _), (StarlarkToken::Mark('='), _), rest @ ..] =
            self.tokens
        {
            self.tokens = rest;
            return Ok((Some(name.clone()), self.parse_value(0)?));
        }
        Ok((None, self.parse_value(0)?))
    }

    fn parse_value(&mut self, depth: usize) -> Result<LiteralValue, PolicyTextError> {
        let span = self.current_span();
        let kind = match self.tokens.first() {
            Some((StarlarkToken::Text(text), _)) => LiteralKind::Text(text.clone()),
            Some((StarlarkToken::Name(name), _))
                if ["True", "False", "None"].contains(&name.as_str()) =>
            {
                LiteralKind::Word(name.clone())
            }
            Some((StarlarkToken::Mark('['), _)) if depth < MAX_DEPTH => {
                return self.parse_list(depth);
            }
            _ => return Err(self.unexpected_token_error()),
        };
        self.next_token();
        Ok(LiteralValue { kind, span })
    }

    fn parse_list(&mut self, depth: usize) -> Result<LiteralValue, PolicyTextError> {
        let start = self.current_span().start;
        self.next_token();
        let mut items = Vec::new();
        loop {
            let end = self.current_span().end;
            if self.take_mark(']') {
                return Ok(LiteralValue { kind: LiteralKind::List(items), span: start..end });
            }
            items.push(self.parse_value(depth + 1)?);
            if !self.take_mark(',') && !self.is_mark(']') {
                return Err(self.unexpected_token_error());
            }
        }
    }
}
