//! Escaping of text for display. Characters that could control a terminal or deceive a reader are
//! replaced by their numbers.
//!
//! Every text from an agent passes through this module before it reaches a terminal. The module
//! does not handle letters that only look similar (a Cyrillic `а`), nor the order in which a
//! terminal displays Hebrew or Arabic letters.

use std::{borrow::Cow, fmt::Write as _};

use unicode_width::UnicodeWidthChar as _;

/// The spaces that replace a tab if lines are kept.
const TAB_SPACES: &str = "    ";
/// The maximum number of marks on one letter. More marks could paint over other lines.
const MAX_MARKS_PER_LETTER: usize = 2;

/// The number of lines in which a text may be displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineMode {
    /// One line: a line feed is shown as `\n`, a tab as `\t`.
    SingleLine,
    /// Several lines: a line feed begins a line, and a tab is shown as four spaces.
    MultiLine,
}

/// One character as it is displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayGlyph {
    /// The content that is displayed for the character.
    pub content: GlyphContent,
    /// The byte offset of the start of the character in the text.
    pub start: usize,
    /// The byte offset of the end of the character in the text.
    pub end: usize,
}

/// The content that is displayed for one character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GlyphContent {
    /// The character itself.
    Char(char),
    /// The spaces of a tab.
    Tab,
    /// The end of a line.
    LineBreak,
    /// The number of a character that must not reach the terminal unescaped.
    Escaped(String), // INVARIANT: printable ASCII.
}

impl GlyphContent {
    /// Returns the number of columns that the content occupies.
    #[must_use]
    pub fn width(&self) -> usize {
        match self {
            Self::Char(c) => c.width().unwrap_or(0),
            Self::Tab => TAB_SPACES.len(),
            Self::LineBreak => 0,
            Self::Escaped(text) => text.len(),
        }
    }

    /// Appends the content to `out`.
    pub fn write_to(&self, out: &mut String) {
        match self {
            Self::Char(c) => out.push(*c),
            Self::Tab => out.push_str(TAB_SPACES),
            Self::LineBreak => out.push('\n'),
            Self::Escaped(text) => out.push_str(text),
        }
    }
}

/// Returns `text` with every character that could control a terminal or deceive a reader replaced
/// by its number.
///
/// These are control characters (`\x1b`), characters that change the direction of the text
/// (`\u{202e}`), characters without width, characters that look like a space but are not one, line
/// separators, variation selectors, private-use and unassigned characters, and marks without a
/// letter.
///
/// ```
/// use openoxide_protocol::escape::{LineMode, escape_text};
///
/// assert_eq!(escape_text("ls\x1b[2J\u{202e}", LineMode::SingleLine), r"ls\x1b[2J\u{202e}");
/// assert_eq!(escape_text("ls\n\tpwd", LineMode::SingleLine), r"ls\n\tpwd");
/// assert_eq!(escape_text("grüße, 世界", LineMode::SingleLine), "grüße, 世界");
/// ```
#[must_use]
pub fn escape_text(text: &str, lines: LineMode) -> String {
    let mut out = String::with_capacity(text.len());
    escaped_glyphs(text, lines).for_each(|glyph| glyph.content.write_to(&mut out));
    out
}

/// Returns JSON with the same values, in which every character that could control a terminal or
/// deceive a reader is an escape sequence.
///
/// The characters are those of [`escape_text`]. A serializer of JSON escapes only those below
/// U+0020. Text that was escaped by [`escape_text`] is returned unchanged.
///
/// ```
/// use openoxide_protocol::escape::escape_json;
///
/// assert_eq!(escape_json("{\"name\": \"a\u{9b}2J\u{202e}\"}"), r#"{"name": "a\u009b2J\u202e"}"#);
/// assert_eq!(escape_json(r#"{"name": "grüße"}"#), r#"{"name": "grüße"}"#);
/// ```
#[must_use]
pub fn escape_json(json: &str) -> Cow<'_, str> {
    if json.bytes().all(|byte| byte < 0x7f) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for glyph in escaped_glyphs(json, LineMode::MultiLine) {
        let text = json.get(glyph.start..glyph.end).unwrap_or_default();
        match glyph.content {
            GlyphContent::Escaped(_) if text.as_bytes() >= b"\x7f" => {
                push_utf16_escapes(text, &mut out);
            }
            _ => out.push_str(text),
        }
    }
    Cow::Owned(out)
}

fn push_utf16_escapes(text: &str, out: &mut String) {
    for unit in text.encode_utf16() {
        // Writing to a string does not fail.
        let _written = write!(out, "\\u{unit:04x}");
    }
}

/// Returns `text` escaped by [`escape_text`] in one line, truncated to `most` characters. A
/// truncated text ends with the number of omitted characters.
///
/// ```
/// use openoxide_protocol::escape::escape_and_truncate;
///
/// assert_eq!(escape_and_truncate("ls\n", 10), r"ls\n");
/// assert_eq!(escape_and_truncate("abcdef", 4), "abcd… (2 more characters)");
/// ```
#[must_use]
pub fn escape_and_truncate(text: &str, most: usize) -> String {
    let shown = escape_text(text, LineMode::SingleLine);
    let Some((at, _)) = shown.char_indices().nth(most) else { return shown };
    let (beginning, rest) = shown.split_at_checked(at).unwrap_or((&shown, ""));
    format!("{beginning}… ({} more characters)", rest.chars().count())
}

/// Returns whether `c` may be shown unchanged after `text`.
#[must_use]
pub fn is_visible_after(text: &str, c: char) -> bool {
    // Characters farther away have no influence.
    let near: Vec<char> = text.chars().rev().take(MAX_MARKS_PER_LETTER + 1).collect();
    let near: String = near.into_iter().rev().chain([c]).collect();
    escaped_glyphs(&near, LineMode::SingleLine)
        .last()
        .is_some_and(|glyph| glyph.content == GlyphContent::Char(c))
}

/// Returns whether `c` may be shown unchanged after any text.
fn is_visible(c: char) -> bool {
    matches!(c, ' '..='~')
        || (!c.is_ascii() && is_printable(c) && !is_mark(c) && has_visible_width(c))
}

/// Returns the characters of `text` as they are shown.
pub fn escaped_glyphs(text: &str, lines: LineMode) -> impl Iterator<Item = DisplayGlyph> {
    let mut room_for_marks = 0;
    text.char_indices().map(move |(at, c)| {
        let keep = is_visible(c) || (room_for_marks > 0 && is_script_mark(c));
        room_for_marks = match is_mark(c) {
            true if keep => room_for_marks - 1,
            _ if keep && c.is_alphabetic() => MAX_MARKS_PER_LETTER,
            _ => 0,
        };
        let shown = if keep { GlyphContent::Char(c) } else { escape_char(c, lines) };
        DisplayGlyph { content: shown, start: at, end: at + c.len_utf8() }
    })
}

fn escape_char(c: char, lines: LineMode) -> GlyphContent {
    match (c, lines) {
        ('\n', LineMode::MultiLine) => GlyphContent::LineBreak,
        ('\t', LineMode::MultiLine) => GlyphContent::Tab,
        ('\n' | '\r' | '\t', _) => GlyphContent::Escaped(c.escape_default().to_string()),
        _ if c.is_ascii() => GlyphContent::Escaped(format!("\\x{:02x}", u32::from(c))),
        _ => GlyphContent::Escaped(format!("\\u{{{:x}}}", u32::from(c))),
    }
}

/// Returns whether `c` has a glyph, as far as the standard library knows Unicode: the character is
/// assigned, and it is not a private-use, control, format or separator character.
fn is_printable(c: char) -> bool {
    // After a letter, the standard library does not escape marks, only characters that are not
    // printable.
    String::from_iter(['a', c]).escape_debug().count() == 2
}

/// Returns whether `c` is drawn onto the character before it.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && c.escape_debug().count() > 1 && is_printable(c)
}

/// Returns whether `c` is a mark that a script needs, and not a mark that strikes out, encloses or
/// is invisible.
fn is_script_mark(c: char) -> bool {
    let paints_over =
        matches!(c, '\u{334}'..='\u{338}' | '\u{488}' | '\u{489}' | '\u{20D0}'..='\u{20FF}');
    is_mark(c) && !paints_over && !is_ignorable(c)
}

/// Returns whether `c`, which must be printable, occupies at least one column.
fn has_visible_width(c: char) -> bool {
    !is_ignorable(c) && c.width().is_some_and(|width| width > 0)
}

/// Returns whether `c` is classified as printable but is invisible.
const fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{34F}' // combining grapheme joiner
            | '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' // Hangul fillers
            | '\u{17B4}' | '\u{17B5}' // Khmer inherent vowels
            | '\u{180B}'..='\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' // variation selectors
            | '\u{2800}' // Braille blank
            | '\u{FFFC}' // object replacement
            | '\u{1D159}' // musical null notehead
    )
}

#[cfg(test)]
mod tests;
