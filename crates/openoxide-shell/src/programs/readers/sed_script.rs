//! The subset of the `sed` language that every sed reads in the same way.

/// The effect of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act<'a> {
    /// Prints lines unchanged, or omits them.
    Prints,
    /// Changes text.
    Changes,
    /// Reads this file.
    Reads(&'a str),
    /// Writes this file.
    Writes(&'a str),
    /// Runs this command or, if it is empty, the text of the pattern space.
    Runs(&'a str),
}

/// Returns what a script does; nothing if it is not understood.
pub(super) fn acts(script: &str) -> Option<Vec<Act<'_>>> {
    // For busybox a carriage return ends a comment.
    if script.contains(|each: char| each.is_control() && !matches!(each, '\t' | '\n')) {
        return None;
    }
    let mut reader = Reader { rest: script, depth: 0, acts: Vec::new() };
    while !reader.rest.is_empty() {
        reader.command()?;
    }
    (reader.depth == 0).then_some(reader.acts)
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
    acts: Vec<Act<'a>>,
}

impl<'a> Reader<'a> {
    /// Reads a command and the addresses before it.
    fn command(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', ';']);
        self.addresses()?;
        self.rest = self.rest.trim_start_matches([' ', '\t', '!']);
        let Some(letter) = self.rest.chars().next() else { return Some(()) };
        self.rest = self.rest.get(letter.len_utf8()..)?;
        match letter {
            '#' => drop(self.line()),
            '{' => self.depth += 1,
            '}' => {
                self.depth = self.depth.checked_sub(1)?;
                return self.end();
            }
            'd' | 'p' => return self.done(Act::Prints),
            'q' | 'Q' => {
                self.digits();
                return self.done(Act::Prints);
            }
            '=' | 'D' | 'F' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'P' | 'x' | 'z' => {
                return self.done(Act::Changes);
            }
            'l' | 'L' => {
                self.rest = self.rest.trim_start_matches(' ');
                self.digits();
                return self.done(Act::Changes);
            }
            'a' | 'i' | 'c' => return self.text(),
            ':' | 'b' | 't' | 'T' => return self.label(),
            'y' => {
                let delimiter = self.delimiter()?;
                self.part(delimiter, false)?;
                self.part(delimiter, false)?;
                return self.done(Act::Changes);
            }
            's' => return self.substitution(),
            'r' | 'R' => {
                let file = self.name()?;
                self.acts.push(Act::Reads(file));
            }
            'w' | 'W' => {
                let file = self.name()?;
                self.acts.push(Act::Writes(file));
            }
            'e' => {
                let command = self.line().trim_start_matches([' ', '\t']);
                self.acts.push(Act::Runs(command));
            }
            _ => return None,
        }
        Some(())
    }

    fn done(&mut self, act: Act<'a>) -> Option<()> {
        self.acts.push(act);
        self.end()
    }

    /// Checks that a command ends here.
    fn end(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        (self.rest.is_empty() || self.rest.starts_with([';', '\n', '}', '#'])).then_some(())
    }

    /// Takes the rest of the line.
    fn line(&mut self) -> &'a str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line
    }

    fn name(&mut self) -> Option<&'a str> {
        let name = self.line().trim_start_matches([' ', '\t']);
        (!name.is_empty() && !name.contains('\\')).then_some(name)
    }

    fn digits(&mut self) -> bool {
        let rest = self.rest.trim_start_matches(|each: char| each.is_ascii_digit());
        let some = rest.len() < self.rest.len();
        self.rest = rest;
        some
    }

    /// A text goes to the end of the line; a backslash takes the letter behind it.
    fn text(&mut self) -> Option<()> {
        let mut letters = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => drop(letters.next()),
                '\n' => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        self.rest = self.rest.get(end..)?;
        self.acts.push(Act::Changes);
        Some(())
    }

    /// Not every sed ends a label at a `;`, so a line with one must be the last.
    fn label(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let plain = |each: char| each.is_ascii_alphanumeric() || "_-".contains(each);
        self.rest = self.rest.trim_start_matches(plain);
        let ended = self.rest.is_empty() || self.rest.starts_with('\n');
        let last = self.rest.starts_with(';') && !self.rest.contains('\n');
        // Where some take the `}` for a part of the label, the block has no end, and nothing runs.
        let closed = self.rest.starts_with('}');
        self.acts.push(Act::Changes);
        (ended || last || closed).then_some(())
    }

    fn addresses(&mut self) -> Option<()> {
        if !self.address()? {
            return Some(());
        }
        let rest = self.rest.trim_start_matches(' ');
        if let Some(rest) = rest.strip_prefix(',') {
            self.rest = rest.trim_start_matches(' ');
            if let Some(rest) = self.rest.strip_prefix(['+', '~']) {
                self.rest = rest;
            }
            return self.address()?.then_some(());
        }
        Some(())
    }

    /// Reads an address. Returns whether there is one.
    fn address(&mut self) -> Option<bool> {
        if let Some(rest) = self.rest.strip_prefix('$') {
            self.rest = rest;
            return Some(true);
        }
        let delimiter = match self.rest.strip_prefix('\\') {
            Some(custom) => {
                self.rest = custom;
                self.delimiter()?
            }
            None if self.rest.starts_with('/') => self.delimiter()?,
            None => {
                let number = self.digits();
                if let Some(step) = self.rest.strip_prefix('~').filter(|_| number) {
                    self.rest = step;
                    self.digits();
                }
                return Some(number);
            }
        };
        self.part(delimiter, true)?;
        self.rest = self.rest.trim_start_matches(['I', 'M']);
        Some(true)
    }

    fn delimiter(&mut self) -> Option<char> {
        let delimiter = self.rest.chars().next()?;
        self.rest = self.rest.get(delimiter.len_utf8()..)?;
        (delimiter.is_ascii_graphic() && delimiter != '\\').then_some(delimiter)
    }

    /// Reads up to the delimiter. The delimiter must not occur in a bracket expression, because
    /// some implementations treat it as a literal there.
    fn part(&mut self, delimiter: char, regex: bool) -> Option<()> {
        let mut letters = self.rest.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                _ if letter == delimiter => {
                    self.rest = self.rest.get(at + letter.len_utf8()..)?;
                    return Some(());
                }
                '\n' => return None,
                '\\' => drop(letters.next()?),
                '[' if regex => {
                    let start = at + 1;
                    let end = start + end_of_brackets(self.rest.get(start..)?, delimiter)?;
                    letters.by_ref().take_while(|(at, _)| *at < end).for_each(drop);
                }
                _ => {}
            }
        }
        None
    }

    fn substitution(&mut self) -> Option<()> {
        let delimiter = self.delimiter()?;
        self.part(delimiter, true)?;
        self.part(delimiter, false)?;
        loop {
            let flag = self.rest.chars().next();
            match flag {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                    self.rest = self.rest.get(1..)?;
                }
                Some('e') => {
                    self.rest = self.rest.get(1..)?;
                    self.acts.push(Act::Runs(""));
                }
                Some('w') => {
                    self.rest = self.rest.get(1..)?;
                    let file = self.name()?;
                    self.acts.push(Act::Writes(file));
                    return Some(());
                }
                _ => return self.done(Act::Changes),
            }
        }
    }
}

/// Returns the position of the `]` that ends a bracket expression, or `None` if it is ambiguous.
/// The delimiter must be outside of the brackets whether or not backslashes are special.
fn end_of_brackets(inside: &str, delimiter: char) -> Option<usize> {
    let start = usize::from(inside.starts_with('^'));
    let mut letters = inside.char_indices().skip(start).peekable();
    letters.next_if(|(_, letter)| *letter == ']');
    while let Some((at, letter)) = letters.next() {
        match letter {
            ']' => return Some(at),
            '\n' => return None,
            _ if letter == delimiter => return None,
            // Some take the backslash for a letter, and then a `]` ends the bracket.
            '\\' => drop(letters.next().filter(|(_, each)| !"]\n".contains(*each))?),
            '[' => {
                if let Some((_, kind)) = letters.next_if(|(_, each)| ":.=".contains(*each)) {
                    let name = |(_, each): &(usize, char)| each.is_ascii_alphanumeric();
                    while letters.next_if(name).is_some() {}
                    letters.next_if(|(_, each)| *each == kind)?;
                    letters.next_if(|(_, each)| *each == ']')?;
                }
            }
            _ => {}
        }
    }
    None
}
