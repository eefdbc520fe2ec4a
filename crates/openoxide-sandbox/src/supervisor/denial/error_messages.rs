//! Parsing of the errors that programs print when the kernel refuses an access: the error, and the
//! path.
//!
//! The texts are those of strerror(3) in English, and the names of errno(3) that some language
//! runtimes print. In other languages no error is found and no denial is reported.

use std::collections::VecDeque;

/// The errors that the layers which restrict files return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DenialErrno {
    ReadOnly,
    CrossDevice,
    Busy,
    Access,
}

/// One error with the paths that it may refer to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PrintedError {
    pub(super) errno: DenialErrno,
    pub(super) paths: Vec<String>,
}

const ERROR_TEXTS: [(DenialErrno, &str); 6] = [
    (DenialErrno::ReadOnly, "read-only file system"),
    (DenialErrno::CrossDevice, "cross-device link"),
    (DenialErrno::Busy, "device or resource busy"),
    (DenialErrno::Busy, "resource busy or locked"),
    (DenialErrno::Access, "permission denied"),
    (DenialErrno::ReadOnly, "erofs"),
];
/// The maximum number of lines before an error in which a chain of causes may begin with the path
/// (cargo).
const MAX_CHAIN_LINES: usize = 6;
/// The maximum length of a path (`PATH_MAX`).
const MAX_PATH_LEN: usize = 4096;

/// Finds the errors in a text, in order.
pub(super) fn find_errors(text: &str) -> Vec<PrintedError> {
    let text = strip_escapes(text);
    let mut before = VecDeque::new();
    let mut all = Vec::new();
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        all.extend(parse_error_line(line, &before));
        before.push_front(line);
        before.truncate(MAX_CHAIN_LINES);
    }
    all
}

fn parse_error_line(line: &str, before: &VecDeque<&str>) -> Option<PrintedError> {
    let lower = line.to_ascii_lowercase(); // As many bytes as before.
    let (errno, at, end) = ERROR_TEXTS
        .iter()
        .find_map(|(errno, text)| Some((*errno, lower.find(text)?, text.len())))?;
    let (head, tail) = (line.get(..at)?, line.get(at.checked_add(end)?..)?);
    let mut paths = find_paths(line, head, tail);
    if head.trim().is_empty() && paths.is_empty() {
        let causes =
            before.iter().map(|line| find_unambiguous_paths(line)).find(|found| !found.is_empty());
        paths = causes.unwrap_or_default();
    }
    paths.retain(|path| is_path(path));
    Some(PrintedError { errno, paths })
}

/// Returns the paths that an error is about: the quoted texts, otherwise the path nearest before
/// the error, otherwise the path after it. Ruby quotes the method, and prints the path at the end.
fn find_paths(line: &str, head: &str, tail: &str) -> Vec<String> {
    if let Some((_, path)) = tail.split_once(" - ").filter(|_| tail.starts_with(" @ ")) {
        return find_absolute_path(path).into_iter().collect();
    }
    let quoted = find_quoted_texts(line);
    if !quoted.is_empty() {
        return quoted;
    }
    find_nearest_path(head).or_else(|| find_absolute_path(tail)).into_iter().collect()
}

/// Returns the paths of a preceding line that an error refers to: the quoted texts, or a path that
/// begins with `/`.
fn find_unambiguous_paths(line: &str) -> Vec<String> {
    let quoted = find_quoted_texts(line);
    if quoted.is_empty() { find_absolute_path(line).into_iter().collect() } else { quoted }
}

/// Finds the path before an error, as in `PROGRAM: what failed PATH: error`.
fn find_nearest_path(head: &str) -> Option<String> {
    let head = head.trim_end_matches([' ', ':', '(', '[', ',']);
    let parts: Vec<_> = head.split(": ").map(str::trim).collect();
    let named = parts
        .iter()
        .rev()
        .find_map(|part| find_absolute_path(part).or_else(|| find_relative_path(part)));
    named.or_else(|| parts.iter().skip(1).rev().find_map(|part| find_single_word(part)))
}

/// Returns the path from the first `/` to the end. File names can contain spaces.
fn find_absolute_path(part: &str) -> Option<String> {
    let starts = |at: &usize| {
        part.get(..*at).is_some_and(|head| head.is_empty() || head.ends_with([' ', '=', '(']))
    };
    let at = part.match_indices('/').map(|(at, _)| at).find(starts)?;
    let path = part.get(at..)?;
    let path = path.split_once(" (").map_or(path, |(path, _)| path);
    Some(path.trim_end_matches([' ', ')', ']', ',', ';']).to_owned())
}

/// Returns the last word if it contains a directory or a file extension.
fn find_relative_path(part: &str) -> Option<String> {
    let word = part.rsplit(' ').next()?;
    let named = word.contains('/') || word.trim_matches('.').contains('.');
    (named && !word.contains("://")).then(|| word.to_owned())
}

/// Returns the text if it is a single word and not a number.
fn find_single_word(part: &str) -> Option<String> {
    let word =
        !part.is_empty() && !part.contains(' ') && !part.bytes().all(|byte| byte.is_ascii_digit());
    word.then(|| part.to_owned())
}

/// Returns the texts in quotation marks. An apostrophe inside a word does not open a quotation.
fn find_quoted_texts(line: &str) -> Vec<String> {
    let (mut found, mut rest, mut before) = (Vec::new(), line, ' ');
    while let Some(first) = rest.chars().next() {
        let tail = rest.get(first.len_utf8()..).unwrap_or_default();
        let opens = before.is_whitespace() || "([{=:,".contains(before);
        let inner = if opens { take_quoted(first, tail) } else { None };
        rest = inner.and_then(|inner| tail.get(inner.len()..)).unwrap_or(tail);
        found.extend(inner.map(str::to_owned));
        before = if inner.is_some() { 'x' } else { first };
    }
    found
}

/// Returns the text between an opening quotation mark and the matching closing one.
fn take_quoted(open: char, tail: &str) -> Option<&str> {
    let closers = match open {
        '\'' => "'",
        '"' => "\"",
        '`' => "`'",
        '‘' => "’",
        _ => return None,
    };
    let ends = |rest: &str| {
        rest.chars().next().is_none_or(|next| next.is_whitespace() || ".,:;)]}>".contains(next))
    };
    tail.char_indices()
        .filter(|(_, mark)| closers.contains(*mark))
        .find(|(at, mark)| tail.get(at + mark.len_utf8()..).is_some_and(ends))
        .and_then(|(at, _)| tail.get(..at))
}

fn is_path(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_PATH_LEN
        && !text.contains(char::is_control)
        && !text.contains('\u{fffd}')
}

/// Removes the escape sequences that colour a terminal (ECMA-48: CSI, parameters, one final byte).
fn strip_escapes(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || ";:?<=>".contains(c));
        plain.push_str(rest.get(1..).unwrap_or_default());
    }
    plain
}
