//! A patch as Codex reads it, and what it says of one that is none.

use std::fmt;

use super::change::{Kind, Named, Patch};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const MACHINE: &str = "*** Environment ID:";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";
/// A patch may come with the marks of the here-document that it was meant for.
const HEREDOC: [&str; 3] = ["<<EOF", "<<'EOF'", "<<\"EOF\""];

/// Why a text is no patch, in Codex's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoPatch {
    First,
    Last,
    Machine,
    /// A line, counted from one, and what is wrong with it.
    Hunk(usize, String),
}

impl fmt::Display for NoPatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => {
                write!(out, "invalid patch: The first line of the patch must be '{BEGIN}'")
            }
            Self::Last => write!(out, "invalid patch: The last line of the patch must be '{END}'"),
            Self::Machine => {
                write!(out, "invalid patch: apply_patch environment_id cannot be empty")
            }
            Self::Hunk(line, why) => write!(out, "invalid hunk at line {line}, {why}"),
        }
    }
}

impl<'a> Patch<'a> {
    /// Reads a patch.
    ///
    /// # Errors
    /// What is wrong with the text, in Codex's words.
    pub(super) fn read(text: &'a str) -> Result<Self, NoPatch> {
        let lines: Vec<&str> = text.trim().lines().collect();
        let lines = bounded(&lines).or_else(|why| match lines.as_slice() {
            [first, within @ .., last]
                if HEREDOC.contains(first) && last.ends_with("EOF") && within.len() >= 2 =>
            {
                bounded(within)
            }
            _ => Err(why),
        })?;
        let mut reader = Reader { lines, at: 1, patch: Patch::default() };
        reader.machine()?;
        while reader.hunk()? {}
        Ok(reader.patch)
    }
}

/// Returns the lines if they begin and end as a patch does.
fn bounded<'l, 'a>(lines: &'l [&'a str]) -> Result<&'l [&'a str], NoPatch> {
    let is = |line: Option<&&str>, mark| line.is_some_and(|line| line.trim() == mark);
    if !lines.is_empty() && !is(lines.first(), BEGIN) {
        return Err(NoPatch::First);
    }
    if is(lines.last(), END) { Ok(lines) } else { Err(NoPatch::Last) }
}

struct Reader<'l, 'a> {
    lines: &'l [&'a str],
    /// The line that is next, from nought.
    at: usize,
    patch: Patch<'a>,
}

/// A line that begins or ends a hunk.
enum Header<'a> {
    File(Named<'a>),
    End,
}

impl<'a> Reader<'_, 'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    fn wrong<T>(&self, why: String) -> Result<T, NoPatch> {
        Err(NoPatch::Hunk(self.at + 1, why))
    }

    /// Reads the line that says on which machine the files are.
    fn machine(&mut self) -> Result<(), NoPatch> {
        let Some(name) = self.peek().and_then(|line| line.trim().strip_prefix(MACHINE)) else {
            return Ok(());
        };
        self.at += 1;
        self.patch.names_a_machine = true;
        if name.trim().is_empty() { Err(NoPatch::Machine) } else { Ok(()) }
    }

    /// Reads what becomes of one file; says whether there was one.
    fn hunk(&mut self) -> Result<bool, NoPatch> {
        let Some(line) = self.peek() else { return Ok(false) };
        match header(line.trim()) {
            Some(Header::File(mut change)) => {
                let begun = self.at;
                self.at += 1;
                match &mut change.kind {
                    Kind::Add => self.added(),
                    Kind::Delete => {}
                    Kind::Update { moved } => {
                        *moved = self.moved();
                        self.updated(begun, change.path)?;
                    }
                }
                self.patch.changes.push(change);
                Ok(true)
            }
            Some(Header::End) => self.ended(),
            None => self.wrong(format!(
                "'{}' is not a valid hunk header. Valid hunk headers: '*** Add File: {{path}}', '*** Delete File: {{path}}', \
                 '*** Update File: {{path}}'",
                line.trim()
            )),
        }
    }

    /// Behind the end nothing follows.
    fn ended(&self) -> Result<bool, NoPatch> {
        let rest = self.lines.get(self.at..).unwrap_or_default();
        match rest.iter().all(|line| line.trim() == END) {
            true => Ok(false),
            false => Err(NoPatch::Last),
        }
    }

    fn added(&mut self) {
        while self.peek().is_some_and(|line| line.starts_with('+')) {
            self.at += 1;
        }
    }

    fn moved(&mut self) -> Option<&'a str> {
        let moved = self.peek()?.trim_end().strip_prefix(MOVE).filter(|path| !path.is_empty())?;
        self.at += 1;
        Some(moved)
    }

    /// Reads the pieces of an update.
    fn updated(&mut self, begun: usize, path: &str) -> Result<(), NoPatch> {
        let mut piece = Piece::None;
        while let Some(line) = self.peek() {
            match (piece.after(line), piece) {
                (Some(next), _) => piece = next,
                (None, Piece::None) if ends(line) => {
                    let why = format!("Update file hunk for path '{path}' is empty");
                    return Err(NoPatch::Hunk(begun + 1, why));
                }
                (None, Piece::Begun) if matches!(line.trim_end(), END | END_OF_FILE) => {
                    return self.wrong("Update hunk does not contain any lines".to_owned());
                }
                (None, Piece::None | Piece::Begun) => {
                    // What would begin the next file is shown without the blanks behind it.
                    let line = header(line.trim_end()).map_or(line, |_| line.trim_end());
                    return self.wrong(format!(
                        "Unexpected line found in update hunk: '{line}'. Every line should start with ' ' (context line), '+' \
                         (added line), or '-' (removed line)"
                    ));
                }
                (None, Piece::Filled | Piece::Ended) if header(line.trim_end()).is_some() => break,
                (None, Piece::Filled | Piece::Ended) => {
                    return self.wrong(format!(
                        "Expected update hunk to start with a @@ context marker, got: '{line}'"
                    ));
                }
            }
            self.at += 1;
        }
        Ok(())
    }
}

/// How far the reader is within an update.
#[derive(Clone, Copy)]
enum Piece {
    /// Nothing was there yet.
    None,
    /// A mark, and no line.
    Begun,
    /// A line at least.
    Filled,
    /// The end of the file.
    Ended,
}

impl Piece {
    /// Returns how far it is behind a line that can follow.
    fn after(self, line: &str) -> Option<Self> {
        let marked = line.trim_end();
        let filled = line.is_empty() || line.starts_with([' ', '+', '-']);
        let begins = marked == "@@" || marked.starts_with("@@ ");
        match self {
            Self::Ended if line.trim().is_empty() => Some(Self::Ended),
            Self::Ended if filled => None,
            _ if filled => Some(Self::Filled),
            Self::Begun => None,
            _ if begins => Some(Self::Begun),
            Self::Filled if marked == END_OF_FILE => Some(Self::Ended),
            _ => None,
        }
    }
}

fn ends(line: &str) -> bool {
    line.trim_end() == END_OF_FILE || header(line.trim_end()).is_some()
}

fn header(line: &str) -> Option<Header<'_>> {
    let file = |mark, kind| Some(Header::File(Named { path: line.strip_prefix(mark)?, kind }));
    match line {
        END => Some(Header::End),
        _ => file(ADD, Kind::Add)
            .or_else(|| file(DELETE, Kind::Delete))
            .or_else(|| file(UPDATE, Kind::Update { moved: None })),
    }
}
