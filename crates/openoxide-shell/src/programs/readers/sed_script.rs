//! The subset of the `sed` language that every sed reads in the same way.

/// The effect of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SedAction<'a> {
    /// Prints lines unchanged, or omits them.
    Prints,
    /// Changes text.
    Changes,
    /// Reads this file.
    Reads(&'a str),
    /// Writes this file.
    Writes(&'a str),
    /// Runs this command. If it is empty, runs the text of the pattern space.
    Runs(&'a str),
}

/// Returns the actions of a script, or `None` if it is not understood.
pub(super) fn parse_actions(script: &str) -> Option<Vec<SedAction<'_>>> {
    // In busybox, a carriage return ends a comment.
    if script.contains(|each: char| each.is_control() && !matches!(each, '\t' | '\n')) {
        return None;
    }
    let mut reader = SedReader { rest: script, depth: 0, acts: Vec::new() };
    while !reader.rest.is_empty() {
        reader.read_command()?;
    }
    (reader.depth == 0).then_some(reader.acts)
}

struct SedReader<'a> {
    rest: &'a str,
    depth: usize,
    acts: Vec<SedAction<'a>>,
}

impl<'a> SedReader<'a> {
    /// Reads a command and the addresses before it.
    fn read_command(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', ';']);
        self.read_addresses()?;
        self.rest = self.rest.trim_start_matches([' ', '\t', '!']);
        let Some(letter) = self.rest.chars().next() else { return Some(()) };
        self.rest = self.rest.get(letter.len_utf8()..)?;
        match letter {
            '#' => drop(self.take_line()),
            '{' => self.depth += 1,
            '}' => {
                self.depth = self.depth.checked_sub(1)?;
                return self.is_at_command_end();
            }
            'd' | 'p' => return self.end_command(SedAction::Prints),
            'q' | 'Q' => {
                self.skip_digits();
                return self.end_command(SedAction::Prints);
            }
            '=' | 'D' | 'F' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'P' | 'x' | 'z' => {
                return self.end_command(SedAction::Changes);
            }
            'l' | 'L' => {
                self.rest = self.rest.trim_start_matches(' ');
                self.skip_digits();
                return self.end_command(SedAction::Changes);
            }
            'a' | 'i' | 'c' => return self.read_text(),
            ':' | 'b' | 't' | 'T' => return self.read_label(),
            'y' => {
                let delimiter = self.read_delimiter()?;
                self.read_delimited(delimiter, false)?;
                self.read_delimited(delimiter, false)?;
                return self.end_command(SedAction::Changes);
            }
            's' => return self.read_substitution(),
            'r' | 'R' => {
                let file = self.read_file_name()?;
                self.acts.push(SedAction::Reads(file));
            }
            'w' | 'W' => {
                let file = self.read_file_name()?;
                self.acts.push(SedAction::Writes(file));
            }
            'e' => {
                let command = self.take_line().trim_start_matches([' ', '\t']);
                self.acts.push(SedAction::Runs(command));
            }
            _ => return None,
        }
        Some(())
    }

    fn end_command(&mut self, act: SedAction<'a>) -> Option<()> {
        self.acts.push(act);
        self.is_at_command_end()
    }

    /// Checks that a command ends here.
    fn is_at_command_end(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        (self.rest.is_empty() || self.rest.starts_with([';', '\n', '}', '#'])).then_some(())
    }

    /// Returns the rest of the line.
    fn take_line(&mut self) -> &'a str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line
    }

    fn read_file_name(&mut self) -> Option<&'a str> {
        let name = self.take_line().trim_start_matches([' ', '\t']);
        (!name.is_empty() && !name.contains('\\')).then_some(name)
    }

    fn skip_digits(&mut self) -> bool {
        let rest = self.rest.trim_start_matches(|each: char| each.is_ascii_digit());
        let some = rest.len() < self.rest.len();
        self.rest = rest;
        some
    }

    /// Reads a text that extends to the end of the line. A backslash escapes the character after
    /// it.
    fn read_text(&mut self) -> Option<()> {
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
        self.acts.push(SedAction::Changes);
        Some(())
    }

    /// Reads a label. Not every sed ends a label at a `;`, so a line with a label must be the last.
    fn read_label(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let plain = |each: char| each.is_ascii_alphanumeric() || "_-".contains(each);
        self.rest = self.rest.trim_start_matches(plain);
        let ended = self.rest.is_empty() || self.rest.starts_with('\n');
        let last = self.rest.starts_with(';') && !self.rest.contains('\n');
        // If an implementation treats the `}` as part of the label, the block has no end, and
        // nothing runs.
        let closed = self.rest.starts_with('}');
        self.acts.push(SedAction::Changes);
        (ended || last || closed).then_some(())
    }

    fn read_addresses(&mut self) -> Option<()> {
        if !self.read_address()? {
            return Some(());
        }
        let rest = self.rest.trim_start_matches(' ');
        if let Some(rest) = rest.strip_prefix(',') {
            self.rest = rest.trim_start_matches(' ');
            if let Some(rest) = self.rest.strip_prefix(['+', '~']) {
                self.rest = rest;
            }
            return self.read_address()?.then_some(());
        }
        Some(())
    }

    /// Reads an address. Returns whether there is one.
    fn read_address(&mut self) -> Option<bool> {
        if let Some(rest) = self.rest.strip_prefix('$') {
            self.rest = rest;
            return Some(true);
        }
        let delimiter = match self.rest.strip_prefix('\\') {
            Some(custom) => {
                self.rest = custom;
                self.read_delimiter()?
            }
            None if self.rest.starts_with('/') => self.read_delimiter()?,
            None => {
                let number = self.skip_digits();
                if let Some(step) = self.rest.strip_prefix('~').filter(|_| number) {
                    self.rest = step;
                    self.skip_digits();
                }
                return Some(number);
            }
        };
        self.read_delimited(delimiter, true)?;
        self.rest = self.rest.trim_start_matches(['I', 'M']);
        Some(true)
    }

    fn read_delimiter(&mut self) -> Option<char> {
        let delimiter = self.rest.chars().next()?;
        self.rest = self.rest.get(delimiter.len_utf8()..)?;
        (delimiter.is_ascii_graphic() && delimiter != '\\').then_some(delimiter)
    }

    /// Reads up to the delimiter. The delimiter must not occur in a bracket expression, because
    /// some implementations treat it as a literal there.
    fn read_delimited(&mut self, delimiter: char, regex: bool) -> Option<()> {
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
                    let end = start + find_bracket_end(self.rest.get(start..)?, delimiter)?;
                    letters.by_ref().take_while(|(at, _)| *at < end).for_each(drop);
                }
                _ => {}
            }
        }
        None
    }

    fn read_substitution(&mut self) -> Option<()> {
        let delimiter = self.read_delimiter()?;
        self.read_delimited(delimiter, true)?;
        self.read_delimited(delimiter, false)?;
        loop {
            let flag = self.rest.chars().next();
            match flag {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                    self.rest = self.rest.get(1..)?;
                }
                Some('e') => {
                    self.rest = self.rest.get(1..)?;
                    self.acts.push(SedAction::Runs(""));
                }
                Some('w') => {
                    self.rest = self.rest.get(1..)?;
                    let file = self.read_file_name()?;
                    self.acts.push(SedAction::Writes(file));
                    return Some(());
                }
                _ => return self.end_command(SedAction::Changes),
            }
        }
    }
}

/// Returns the position of the `]` that ends a bracket expression, or `None` if it is ambiguous.
/// The delimiter must be outside of the brackets whether or not backslashes are special.
fn find_bracket_end(inside: &str, delimiter: char) -> Option<usize> {
    let start = usize::from(inside.starts_with('^'));
    let mut letters = inside.char_indices().skip(start).peekable();
    letters.next_if(|(_, letter)| *letter == ']');
    while let Some((at, letter)) = letters.next() {
        match letter {
            ']' => return Some(at),
            '\n' => return None,
            _ if letter == delimiter => return None,
            // Some implementations treat the backslash as a literal, so that a `]` ends the bracket
            // expression.
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
