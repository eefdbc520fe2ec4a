//! Parsing of expansions that begin with `$`, and of backquotes.

use std::borrow::Cow;

use super::{
    bytes::{begins_name, continues_name},
    cursor::{Parsed, Parser},
    operand,
    quote::End,
    tree::{Command, Form, Item, List, Parameter, Piece, Subscript},
    word::Until,
};

impl<'a> Parser<'a> {
    /// Reads what begins with `$`; a `$` that begins nothing is text.
    pub(super) fn dollar(&mut self, quoted: bool) -> Parsed<Piece<'a>> {
        match self.ahead(1) {
            Some(b'(') => self.dollar_parenthesis(),
            Some(b'{') => self.brace(quoted),
            // `$[…]` is the arithmetic of bash 1; a continuation here could hide anything.
            Some(b'[') => self.fault(),
            Some(b'\\') if self.ahead(2) == Some(b'\n') => self.fault(),
            Some(b'\'') if !quoted => {
                self.at += 1;
                self.ansi_quoted()
            }
            Some(b'"') if !quoted => self.translated(),
            Some(byte) if begins_name(byte) => self.named(),
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => {
                Ok(self.parameter(2))
            }
            _ => {
                self.at += 1;
                Ok(Piece::Fixed(Cow::Borrowed("$")))
            }
        }
    }

    fn named(&mut self) -> Parsed<Piece<'a>> {
        let rest = self.src.as_bytes().get(self.at + 1..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| continues_name(**byte)).count();
        let piece = self.parameter(1 + length);
        // The name would go on in the next line.
        if self.sees("\\\n") { self.fault() } else { Ok(piece) }
    }

    fn parameter(&mut self, length: usize) -> Piece<'a> {
        let start = self.at;
        self.at += length;
        Piece::Parameter(Box::new(Parameter {
            name: self.slice(start + 1, self.at),
            form: Form::Value,
            subscript: None,
            operand: Vec::new(),
            span: self.span_from(start),
        }))
    }

    fn translated(&mut self) -> Parsed<Piece<'a>> {
        self.unusual(self.at);
        self.bashisms = true;
        self.at += 1;
        Ok(match self.double_quoted()? {
            Piece::Quoted(pieces) => Piece::Translated(pieces),
            _ => Piece::Translated(Vec::new()),
        })
    }

    fn dollar_parenthesis(&mut self) -> Parsed<Piece<'a>> {
        self.at += 2;
        self.no_hidden(b"(")?;
        if self.peek() == Some(b'(')
            && let Some(pieces) = self.double_parenthesis()?
        {
            return Ok(Piece::Arithmetic(pieces));
        }
        Ok(Piece::Command(self.substitution()?))
    }

    /// Reads the commands of `$(…)`, `<(…)` and `>(…)`, the cursor after the parenthesis.
    pub(super) fn substitution(&mut self) -> Parsed<List<'a>> {
        let outer = std::mem::take(&mut self.pending);
        let was = std::mem::replace(&mut self.in_substitution, true);
        let documents = std::mem::take(&mut self.documents);
        let start = self.at;
        if self.peek() == Some(b'(') {
            self.unusual(start);
        }
        let list = self.deeper(Self::list)?;
        // bash 5.2 writes a substitution out and reads it again; after a document it forgets to write a `;`.
        if self.documents > 0 && !is_one_command(&list) {
            return self.fault();
        }
        self.documents = documents;
        // A document of the outer line would begin at a newline in here, or at the next one: bash versions differ.
        let torn = !outer.is_empty() && self.slice(start, self.at).contains('\n');
        if torn || !self.pending.is_empty() {
            return self.fault();
        }
        self.pending = outer;
        self.in_substitution = was;
        if !ends_at_its_parenthesis(self.slice(start, self.at)) {
            return self.fault();
        }
        self.expect(")")?;
        Ok(list)
    }

    /// Reads `` `…` ``. Its text is parsed as a separate script later.
    pub(super) fn backquote(&mut self, quoted: bool) -> Parsed<Piece<'a>> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|byte| !matches!(byte, b'`' | b'\\')));
            match (self.peek(), self.ahead(1)) {
                (Some(b'`'), _) => break,
                (Some(_), Some(b'`' | b'$' | b'\\')) => {
                    text.push_str(self.slice(self.at + 1, self.at + 2));
                }
                // Lines are joined when the substitution is found, or when it is read: quotes differ.
                (Some(_), Some(b'\n')) => return self.fault(),
                // Inside double quotes and documents `\"` loses its backslash, or not.
                (Some(_), Some(b'"')) if quoted => return self.fault(),
                (Some(_), Some(next)) if next.is_ascii() => {
                    text.push_str(self.slice(self.at, self.at + 2));
                }
                _ => return self.fault(),
            }
            self.at += 2;
        }
        self.at += 1;
        if self.slice(start, self.at).contains('\\') {
            self.unusual(start); // Quotes of quotes.
        }
        // Braces are expanded before quotes inside backquotes are understood.
        if quoted && text.contains('{') && text.contains('"') {
            return self.fault();
        }
        if self.in_heredoc && text.contains("<<") {
            return self.fault();
        }
        Ok(Piece::Backquote(Cow::Owned(text), self.span_from(start)))
    }

    fn brace(&mut self, quoted: bool) -> Parsed<Piece<'a>> {
        let start = self.at;
        self.at += 2;
        let mut form = self.prefix();
        let name = self.parameter_name()?;
        let subscript = self.subscript()?;
        let mut operand = Vec::new();
        if self.peek() != Some(b'}') {
            let from = self.at;
            operand = self.deeper(|parser| parser.operator_and_operand(&mut form, quoted))?;
            // `${!#i}` is a mistake to bash, `${##i}` and its like are lengths or not: it depends on what follows.
            if matches!(name, "!" | "#") {
                self.unusual(start);
            }
            if form != Form::Substring && !operand::is_common(&operand, self.slice(from, self.at)) {
                self.unusual(from);
            }
        }
        self.expect("}")?;
        if form == Form::Indirect && matches!(subscript, Some(Subscript::All)) {
            form = Form::Names;
        }
        let span = self.span_from(start);
        Ok(Piece::Parameter(Box::new(Parameter { name, form, subscript, operand, span })))
    }

    /// Reads a `#` or `!` before a name.
    fn prefix(&mut self) -> Form {
        let form = match (self.peek(), self.ahead(1)) {
            (Some(b'#'), Some(b'@' | b'*')) => Form::Length,
            (Some(b'#'), Some(byte)) if continues_name(byte) => Form::Length,
            (Some(b'!'), Some(byte)) if continues_name(byte) => Form::Indirect,
            _ => return Form::Value,
        };
        self.at += 1;
        form
    }

    fn parameter_name(&mut self) -> Parsed<&'a str> {
        match self.peek() {
            Some(byte) if begins_name(byte) => Ok(self.take_while(continues_name)),
            Some(b'0'..=b'9') => Ok(self.take_while(|byte| byte.is_ascii_digit())),
            Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => {
                self.at += 1;
                Ok(self.slice(self.at - 1, self.at))
            }
            _ => self.fault(),
        }
    }

    fn subscript(&mut self) -> Parsed<Option<Subscript<'a>>> {
        if self.peek() != Some(b'[') {
            return Ok(None);
        }
        self.bashisms = true;
        if self.eat("[@]") || self.eat("[*]") {
            return Ok(Some(Subscript::All));
        }
        self.at += 1;
        let text = self.deeper(|parser| parser.arithmetic(b"]"))?;
        self.expect("]")?;
        Ok(Some(Subscript::Text(text)))
    }

    fn operator_and_operand(&mut self, form: &mut Form, quoted: bool) -> Parsed<Vec<Piece<'a>>> {
        let colon = self.eat(":");
        let operator = self.peek();
        match operator {
            Some(b'=') => *form = self.changed(*form, Form::Assign)?,
            Some(b'-' | b'?' | b'+') => *form = self.changed(*form, Form::Other)?,
            _ if colon => {
                self.bashisms = true;
                *form = self.changed(*form, Form::Substring)?;
                return self.arithmetic(b"}");
            }
            Some(b'#' | b'%') => *form = self.changed(*form, Form::Other)?,
            Some(b'/' | b'^' | b',' | b'~') => {
                self.bashisms = true;
                *form = self.changed(*form, Form::Other)?;
            }
            Some(b'@' | b'*') => return self.transformation(form),
            _ => return self.fault(),
        }
        self.at += 1;
        if quoted { self.quoted_text(End::Brace) } else { self.pieces(Until::Brace) }
    }

    /// Returns the form that an operator gives to a parameter. An indirect one stays indirect: that is the worse.
    fn changed(&self, form: Form, by: Form) -> Parsed<Form> {
        match (form, by) {
            (Form::Value, by) => Ok(by),
            (Form::Indirect, Form::Other) => Ok(Form::Indirect),
            _ => self.fault(),
        }
    }

    fn transformation(&mut self, form: &mut Form) -> Parsed<Vec<Piece<'a>>> {
        self.bashisms = true;
        *form = match (*form, self.peek(), self.ahead(1)) {
            (Form::Indirect, _, Some(b'}')) => Form::Names,
            (Form::Value, Some(b'@'), Some(b'P')) => Form::Prompt,
            (
                Form::Value,
                Some(b'@'),
                Some(b'Q' | b'E' | b'A' | b'K' | b'a' | b'k' | b'U' | b'u' | b'L'),
            ) => Form::Other,
            _ => return self.fault(),
        };
        self.at += if *form == Form::Names { 1 } else { 2 };
        Ok(Vec::new())
    }
}

/// Returns whether bash ends a substitution of this text where its commands end. After `$((` it
/// looks for arithmetic first. That search counts parentheses and quotes, and it ignores `case` and
/// comments.
fn ends_at_its_parenthesis(text: &str) -> bool {
    !text.starts_with('(')
        || !text.contains(['\'', '"', '\\', '`', '#'])
            && !text.contains("case")
            && !text.contains("<<")
}

/// Returns whether a list consists of a single pipeline of simple commands.
fn is_one_command(list: &List<'_>) -> bool {
    match list.as_slice() {
        [Item { first, rest, background: false, .. }] => {
            rest.is_empty()
                && first.commands.iter().all(|command| matches!(command, Command::Simple(_)))
        }
        _ => false,
    }
}
