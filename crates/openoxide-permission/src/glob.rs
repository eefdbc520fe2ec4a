//! Byte patterns and their matching: the one matcher for all kinds of rules.
//!
//! A *subject* is a list of parts, each followed by a separator: the words of a command (NUL), the
//! components of a path (`/`), the labels of a host from the right (`.`). A [`Glob`] is a program
//! that matches such bytes. It is stored as one block of memory, so that a compiled policy can be
//! read from disk and used in place.

/// Ends the program. It only matches at the end of the subject.
const END: u8 = 0;
/// Matches literal bytes: a `u16` length (little endian), then the bytes.
const LITERAL: u8 = 1;
/// Matches any bytes, including separators.
const ANY: u8 = 2;
/// Matches any bytes within one part.
const ANY_IN_PART: u8 = 3;
/// Matches one character within a part.
const ONE: u8 = 4;
/// Matches any number of whole parts.
const ANY_PARTS: u8 = 5;
/// Matches one character within a part by ranges: negated (0 or 1), a `u8` count, then pairs of
/// `u32`.
const CLASS: u8 = 6;
/// Matches at least one byte, including separators.
const SOME: u8 = 7;

/// A pattern, which may be under construction: a program that [`matches()`] runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Glob {
    code: Vec<u8>,
    literal: Option<usize>, // offset of the length of the literal that is being written
}

/// One decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobStep<'a> {
    /// Matches these bytes.
    Literal(&'a [u8]),
    /// Matches any bytes, including separators.
    Any,
    /// Matches any bytes within one part.
    AnyInPart,
    /// Matches one character within a part.
    AnyChar,
    /// Matches any number of whole parts.
    AnyParts,
    /// Matches one character within a part that is in one of the ranges, or in none of them if
    /// negated.
    Class {
        /// True if the character must be outside of all ranges.
        negated: bool,
        /// Pairs of `u32`, little endian: first and last character.
        ranges: &'a [u8],
    },
    /// Matches at least one byte, including separators.
    NonEmpty,
}

impl Glob {
    /// Returns the empty pattern, which matches the empty subject.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step that matches these bytes.
    pub fn push_literal(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(usize::from(u16::MAX)) {
            self.push_literal_chunk(chunk);
        }
    }

    fn push_literal_chunk(&mut self, bytes: &[u8]) {
        let at = self.literal.unwrap_or(self.code.len());
        let before = self.literal.and_then(|at| read_u16(&self.code, at + 1)).unwrap_or(0);
        let Some(length) = u16::try_from(bytes.len()).ok().and_then(|new| before.checked_add(new))
        else {
            self.literal = None;
            return self.push_literal_chunk(bytes);
        };
        if self.literal.is_none() {
            self.code.extend_from_slice(&[LITERAL, 0, 0]);
        }
        if let Some(field) = self.code.get_mut(at + 1..at + 3) {
            field.copy_from_slice(&length.to_le_bytes());
        }
        self.code.extend_from_slice(bytes);
        self.literal = Some(at);
    }

    fn push_step(&mut self, code: u8) {
        self.literal = None;
        if !(code == ANY && self.code.last_step() == Some(ANY)) {
            self.code.push(code);
        }
    }

    /// Adds a step that matches any bytes, including separators.
    pub fn push_any(&mut self) {
        self.push_step(ANY);
    }

    /// Adds a step that matches any bytes within one part.
    pub fn push_any_in_part(&mut self) {
        self.push_step(ANY_IN_PART);
    }

    /// Adds a step that matches one character within a part.
    pub fn push_any_char(&mut self) {
        self.push_step(ONE);
    }

    /// Adds a step that matches any number of whole parts. The step must be at the beginning of a
    /// part. A program that contains it may use [`Self::push_any`] only at its end, because
    /// [`matches()`] backtracks only to the last of these steps.
    pub fn push_any_parts(&mut self) {
        self.push_step(ANY_PARTS);
    }

    /// Adds a step that matches at least one byte, including separators.
    pub fn push_non_empty(&mut self) {
        self.push_step(SOME);
    }

    /// Adds a step that matches one character that is in one of `ranges`, or in none of them if
    /// negated. Only the first 255 ranges are used.
    pub fn push_class(&mut self, negated: bool, ranges: &[(char, char)]) {
        let count = u8::try_from(ranges.len()).unwrap_or(u8::MAX);
        self.push_step(CLASS);
        self.code.extend_from_slice(&[u8::from(negated), count]);
        for (first, last) in ranges.iter().take(usize::from(count)) {
            self.code.extend_from_slice(&u32::from(*first).to_le_bytes());
            self.code.extend_from_slice(&u32::from(*last).to_le_bytes());
        }
    }

    /// Returns the finished program.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.code.push(END);
        self.code
    }

    /// Returns the steps so far.
    pub fn steps(&self) -> impl Iterator<Item = GlobStep<'_>> {
        decode_steps(&self.code)
    }
}

trait LastStep {
    fn last_step(&self) -> Option<u8>;
}

impl LastStep for Vec<u8> {
    /// Returns the last instruction if it has no operands.
    fn last_step(&self) -> Option<u8> {
        let mut last = None;
        let mut at = 0;
        while let Some((step, next)) = decode_step(self, at) {
            last = matches!(step, GlobStep::Any).then_some(ANY);
            at = next;
        }
        last
    }
}

/// Returns the steps of a program.
pub fn decode_steps(code: &[u8]) -> impl Iterator<Item = GlobStep<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (step, next) = decode_step(code, at)?;
        at = next;
        Some(step)
    })
}

/// Returns the length of the program at the start of `code`, including its end.
#[must_use]
pub fn program_len(code: &[u8]) -> usize {
    let mut at = 0;
    while let Some((_, next)) = decode_step(code, at) {
        at = next;
    }
    at + 1
}

fn read_u16(code: &[u8], at: usize) -> Option<u16> {
    code.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

#[inline]
fn decode_step(code: &[u8], at: usize) -> Option<(GlobStep<'_>, usize)> {
    let step = match *code.get(at)? {
        LITERAL => {
            let end = at + 3 + usize::from(read_u16(code, at + 1)?);
            return Some((GlobStep::Literal(code.get(at + 3..end)?), end));
        }
        CLASS => {
            let end = at + 3 + 8 * usize::from(*code.get(at + 2)?);
            let negated = *code.get(at + 1)? == 1;
            return Some((GlobStep::Class { negated, ranges: code.get(at + 3..end)? }, end));
        }
        ANY => GlobStep::Any,
        ANY_IN_PART => GlobStep::AnyInPart,
        ONE => GlobStep::AnyChar,
        ANY_PARTS => GlobStep::AnyParts,
        SOME => GlobStep::NonEmpty,
        _ => return None,
    };
    Some((step, at + 1))
}

/// Options for matching a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchOptions {
    /// The byte that follows each part.
    pub separator: u8,
    /// True if ASCII letters match in either case.
    pub ignores_case: bool,
}

/// A position to backtrack to: the step after the wildcard, and the end of the bytes that the
/// wildcard matched.
#[derive(Clone, Copy)]
struct BacktrackPoint {
    code: usize,
    consumed: usize,
    whole_parts: bool,
}

/// Returns whether the program matches the whole subject. Takes at most (length of the program) ×
/// (length of the subject) steps and does not allocate.
#[must_use]
pub fn matches(code: &[u8], subject: &[u8], manner: MatchOptions) -> bool {
    let (mut pc, mut at) = (0, 0);
    let (mut inner, mut outer): (Option<BacktrackPoint>, Option<BacktrackPoint>) = (None, None);
    loop {
        match match_step(code, subject, manner, pc, at) {
            StepResult::Matched => return true,
            StepResult::Advance(code, subject) => (pc, at) = (code, subject),
            StepResult::Wildcard { step, code } => {
                let retry =
                    BacktrackPoint { code, consumed: at, whole_parts: step == GlobStep::AnyParts };
                match step {
                    GlobStep::AnyInPart => inner = Some(retry),
                    _ => (inner, outer) = (None, Some(retry)),
                }
                pc = code;
            }
            StepResult::Failed => {
                if let Some(retry) = inner.and_then(|old| extend_within_part(subject, manner, old))
                {
                    (inner, pc, at) = (Some(retry), retry.code, retry.consumed);
                } else if let Some(retry) =
                    outer.and_then(|old| extend_wildcard(subject, manner, old))
                {
                    (inner, outer, pc, at) = (None, Some(retry), retry.code, retry.consumed);
                } else {
                    return false;
                }
            }
        }
    }
}

enum StepResult<'a> {
    Matched,
    Failed,
    Advance(usize, usize),
    Wildcard { step: GlobStep<'a>, code: usize },
}

#[inline]
fn match_step<'a>(
    code: &'a [u8],
    subject: &[u8],
    manner: MatchOptions,
    pc: usize,
    at: usize,
) -> StepResult<'a> {
    let rest = subject.get(at..).unwrap_or_default();
    let Some((step, next)) = decode_step(code, pc) else {
        return if rest.is_empty() { StepResult::Matched } else { StepResult::Failed };
    };
    match step {
        GlobStep::Literal(bytes) if starts_with(rest, bytes, manner.ignores_case) => {
            StepResult::Advance(next, at + bytes.len())
        }
        GlobStep::Any if code.get(next) == Some(&END) => StepResult::Matched,
        GlobStep::NonEmpty if !rest.is_empty() => StepResult::Matched,
        GlobStep::Any | GlobStep::AnyInPart | GlobStep::AnyParts => {
            StepResult::Wildcard { step, code: next }
        }
        GlobStep::AnyChar | GlobStep::Class { .. } => match next_char(rest, manner.separator) {
            Some(found) if class_matches(step, found, manner.ignores_case) => {
                StepResult::Advance(next, at + found.len_utf8())
            }
            _ => StepResult::Failed,
        },
        GlobStep::Literal(_) | GlobStep::NonEmpty => StepResult::Failed,
    }
}

fn starts_with(rest: &[u8], bytes: &[u8], fold: bool) -> bool {
    rest.get(..bytes.len())
        .is_some_and(|head| if fold { head.eq_ignore_ascii_case(bytes) } else { head == bytes })
}

fn next_char(rest: &[u8], separator: u8) -> Option<char> {
    let head = rest.get(..rest.len().min(4))?;
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?,
    };
    valid.chars().next().filter(|found| *found != char::from(separator))
}

fn class_matches(step: GlobStep<'_>, found: char, fold: bool) -> bool {
    let GlobStep::Class { negated, ranges } = step else { return true };
    let inside = |found: char| {
        ranges.chunks_exact(8).any(|pair| {
            let edge = |at: usize| pair.get(at..at + 4).and_then(|b| b.try_into().ok());
            let (first, last) = (edge(0).map(u32::from_le_bytes), edge(4).map(u32::from_le_bytes));
            first.is_some_and(|first| first <= u32::from(found))
                && last.is_some_and(|last| u32::from(found) <= last)
        })
    };
    let hit = inside(found)
        || (fold && (inside(found.to_ascii_lowercase()) || inside(found.to_ascii_uppercase())));
    hit != negated
}

fn extend_within_part(
    subject: &[u8],
    manner: MatchOptions,
    retry: BacktrackPoint,
) -> Option<BacktrackPoint> {
    let next = *subject.get(retry.consumed)?;
    (next != manner.separator).then_some(BacktrackPoint { consumed: retry.consumed + 1, ..retry })
}

fn extend_wildcard(
    subject: &[u8],
    manner: MatchOptions,
    retry: BacktrackPoint,
) -> Option<BacktrackPoint> {
    let rest = subject.get(retry.consumed..)?;
    let step = if retry.whole_parts {
        rest.iter().position(|byte| *byte == manner.separator)? + 1
    } else {
        usize::from(!rest.is_empty())
    };
    (step > 0).then_some(BacktrackPoint { consumed: retry.consumed + step, ..retry })
}

#[cfg(test)]
mod tests;
