//! Codex's parser for patches, with its error messages.

use thiserror::Error;

use super::patch_change::{FileHunk, ParsedPatch};
use crate::file_change::PatchChangeKind;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ENVIRONMENT_ID: &str = "*** Environment ID:";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";
/// The here-document markers that may surround a patch.
const HEREDOC: [&str; 3] = ["<<EOF", "<<'EOF'", "<<\"EOF\""];

/// An error in a patch, with Codex's message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum PatchParseError {
    #[error("invalid patch: The first line of the patch must be '{BEGIN}'")]
    MissingBegin,
    #[error("invalid patch: The last line of the patch must be '{END}'")]
    MissingEnd,
    #[error("invalid patch: apply_patch environment_id cannot be empty")]
    InvalidEnvironment,
    /// The number of the line, counted from one, and the error in the hunk.
    #[error("invalid hunk at line {0}, {1}")]
    InvalidHunk(usize, String),
}

impl<'a> ParsedPatch<'a> {
    /// Parses a patch.
    ///
    /// # Errors
    /// Returns the error in the text, with Codex's message.
    pub(super) fn parse(text: &'a str) -> Result<Self, PatchParseError> {
        let lines: Vec<&str> = text.trim().lines().collect();
        let lines = find_patch_lines(&lines).or_else(|why| match lines.as_slice() {
            [first, within @ .., last]
                if HEREDOC.contains(first) && last.ends_with("EOF") && within.len() >= 2 =>
            {
                find_patch_lines(within)
            }
            _ => Err(why),
        })?;
        let mut reader = PatchReader { lines, line_index: 1, patch: ParsedPatch::default() };
        reader.read_environment()?;
        while reader.read_hunk()? {}
        Ok(reader.patch)
    }
}

/// Returns the lines, if they begin and end with the markers of a patch.
fn find_patch_lines<'l, 'a>(lines: &'l [&'a str]) -> Result<&'l [&'a str], PatchParseError> {
    let is = |line: Option<&&str>, mark| line.is_some_and(|line| line.trim() == mark);
    if !lines.is_empty() && !is(lines.first(), BEGIN) {
        return Err(PatchParseError::MissingBegin);
    }
    if is(lines.last(), END) { Ok(lines) } else { Err(PatchParseError::MissingEnd) }
}

struct PatchReader<'l, 'a> {
    lines: &'l [&'a str],
    /// The index of the next line, counted from zero.
    line_index: usize,
    patch: ParsedPatch<'a>,
}

/// A line that begins or ends a hunk.
enum HunkHeader<'a> {
    File(FileHunk<'a>),
    End,
}

impl<'a> PatchReader<'_, 'a> {
    fn peek_line(&self) -> Option<&'a str> {
        self.lines.get(self.line_index).copied()
    }

    fn hunk_error<T>(&self, why: String) -> Result<T, PatchParseError> {
        Err(PatchParseError::InvalidHunk(self.line_index + 1, why))
    }

    /// Parses the line that names the machine of the files.
    fn read_environment(&mut self) -> Result<(), PatchParseError> {
        let Some(name) = self.peek_line().and_then(|line| line.trim().strip_prefix(ENVIRONMENT_ID))
        else {
            return Ok(());
        };
        self.line_index += 1;
        self.patch.names_environment = true;
        if name.trim().is_empty() { Err(PatchParseError::InvalidEnvironment) } else { Ok(()) }
    }

    /// Parses the changes of one file. Returns whether there was one.
    fn read_hunk(&mut self) -> Result<bool, PatchParseError> {
        let Some(line) = self.peek_line() else { return Ok(false) };
        match parse_header(line.trim()) {
            Some(HunkHeader::File(mut change)) => {
                let begun = self.line_index;
                self.line_index += 1;
                match &mut change.kind {
                    PatchChangeKind::Add => self.read_added_lines(),
                    PatchChangeKind::Delete => {}
                    PatchChangeKind::Update { move_path: moved } => {
                        *moved = self.read_move_path();
                        self.read_update_chunks(begun, change.path)?;
                    }
                }
                self.patch.changes.push(change);
                Ok(true)
            }
            Some(HunkHeader::End) => self.check_end(),
            None => self.hunk_error(format!(
                "'{}' is not a valid hunk header. Valid hunk headers: '*** Add File: {{path}}', '*** Delete File: {{path}}', \
                 '*** Update File: {{path}}'",
                line.trim()
            )),
        }
    }

    /// Checks that nothing follows the end of the patch.
    fn check_end(&self) -> Result<bool, PatchParseError> {
        let rest = self.lines.get(self.line_index..).unwrap_or_default();
        match rest.iter().all(|line| line.trim() == END) {
            true => Ok(false),
            false => Err(PatchParseError::MissingEnd),
        }
    }

    fn read_added_lines(&mut self) {
        while self.peek_line().is_some_and(|line| line.starts_with('+')) {
            self.line_index += 1;
        }
    }

    fn read_move_path(&mut self) -> Option<&'a str> {
        let moved =
            self.peek_line()?.trim_end().strip_prefix(MOVE).filter(|path| !path.is_empty())?;
        self.line_index += 1;
        Some(moved)
    }

    /// Parses the chunks of an update.
    fn read_update_chunks(&mut self, begun: usize, path: &str) -> Result<(), PatchParseError> {
        let mut piece = ChunkState::Empty;
        while let Some(line) = self.peek_line() {
            match (piece.advance(line), piece) {
                (Some(next), _) => piece = next,
                (None, ChunkState::Empty) if is_hunk_end(line) => {
                    let why = format!("Update file hunk for path '{path}' is empty");
                    return Err(PatchParseError::InvalidHunk(begun + 1, why));
                }
                (None, ChunkState::Started) if matches!(line.trim_end(), END | END_OF_FILE) => {
                    return self.hunk_error("Update hunk does not contain any lines".to_owned());
                }
                (None, ChunkState::Empty | ChunkState::Started) => {
                    // A line that would begin the next file is shown without trailing blanks.
                    let line = parse_header(line.trim_end()).map_or(line, |_| line.trim_end());
                    return self.hunk_error(format!(
                        "Unexpected line found in update hunk: '{line}'. Every line should start with ' ' (context line), '+' \
                         (added line), or '-' (removed line)"
                    ));
                }
                (None, ChunkState::NonEmpty | ChunkState::EndOfFile)
                    if parse_header(line.trim_end()).is_some() =>
                {
                    break;
                }
                (None, ChunkState::NonEmpty | ChunkState::EndOfFile) => {
                    return self.hunk_error(format!(
                        "Expected update hunk to start with a @@ context marker, got: '{line}'"
                    ));
                }
            }
            self.line_index += 1;
        }
        Ok(())
    }
}

/// The state of the parser within an update.
#[derive(Clone, Copy)]
enum ChunkState {
    /// There is no marker and no line yet.
    Empty,
    /// There is a marker, and no line after it.
    Started,
    /// There is at least one line.
    NonEmpty,
    /// The end-of-file marker was read.
    EndOfFile,
}

impl ChunkState {
    /// Returns the state after a line, or `None` if the line cannot follow.
    fn advance(self, line: &str) -> Option<Self> {
        let marked = line.trim_end();
        let filled = line.is_empty() || line.starts_with([' ', '+', '-']);
        let begins = marked == "@@" || marked.starts_with("@@ ");
        match self {
            Self::EndOfFile if line.trim().is_empty() => Some(Self::EndOfFile),
            Self::EndOfFile if filled => None,
            _ if filled => Some(Self::NonEmpty),
            Self::Started => None,
            _ if begins => Some(Self::Started),
            Self::NonEmpty if marked == END_OF_FILE => Some(Self::EndOfFile),
            _ => None,
        }
    }
}

fn is_hunk_end(line: &str) -> bool {
    line.trim_end() == END_OF_FILE || parse_header(line.trim_end()).is_some()
}

fn parse_header(line: &str) -> Option<HunkHeader<'_>> {
    let file =
        |mark, kind| Some(HunkHeader::File(FileHunk { path: line.strip_prefix(mark)?, kind }));
    match line {
        END => Some(HunkHeader::End),
        _ => file(ADD, PatchChangeKind::Add)
            .or_else(|| file(DELETE, PatchChangeKind::Delete))
            .or_else(|| file(UPDATE, PatchChangeKind::Update { move_path: None })),
    }
}
