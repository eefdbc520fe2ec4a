//! What programs print when the kernel refuses: which error, and about which path.
//!
//! The texts are those of strerror(3) in English, and the names of errno(3) that some languages print. In another language
//! nothing is found, and nothing is claimed.

use std::collections::VecDeque;

/// The errors of the layers that hold files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errno {
    ReadOnly,
    CrossDevice,
    Busy,
    Access,
}

/// One error with the paths that may be meant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) errno: Errno,
    pub(super) paths: Vec<String>,
}

const TEXTS: [(Errno, &str); 6] = [
    (Errno::ReadOnly, "read-only file system"),
    (Errno::CrossDevice, "cross-device link"),
    (Errno::Busy, "device or resource busy"),
    (Errno::Busy, "resource busy or locked"),
    (Errno::Access, "permission denied"),
    (Errno::ReadOnly, "erofs"),
];
/// So many lines back a chain of causes may begin with the path (cargo).
const CHAIN: usize = 6;
/// No path is longer (`PATH_MAX`).
const LONGEST: usize = 4096;

/// Finds the errors in a text, in order.
pub(super) fn complaints(text: &str) -> Vec<Complaint> {
    let text = without_escapes(text);
    let mut before = VecDeque::new();
    let mut all = Vec::new();
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        all.extend(complaint(line, &before));
        before.push_front(line);
        before.truncate(CHAIN);
    }
    all
}

fn complaint(line: &str, before: &VecDeque<&str>) -> Option<Complaint> {
    let lower = line.to_ascii_lowercase(); // As many bytes as before.
    let (errno, at, end) =
        TEXTS.iter().find_map(|(errno, text)| Some((*errno, lower.find(text)?, text.len())))?;
    let (head, tail) = (line.get(..at)?, line.get(at.checked_add(end)?..)?);
    let mut paths = paths(line, head, tail);
    if head.trim().is_empty() && paths.is_empty() {
        let causes = before.iter().map(|line| whole_paths(line)).find(|found| !found.is_empty());
        paths = causes.unwrap_or_default();
    }
    paths.retain(|path| is_path(path));
    Some(Complaint { errno, paths })
}

/// What is quoted is meant; else what stands nearest before the error; else what follows it. Ruby quotes the method, and
/// says the path behind.
fn paths(line: &str, head: &str, tail: &str) -> Vec<String> {
    if let Some((_, path)) = tail.split_once(" - ").filter(|_| tail.starts_with(" @ ")) {
        return absolute(path).into_iter().collect();
    }
    let quoted = quoted(line);
    if !quoted.is_empty() {
        return quoted;
    }
    nearest(head).or_else(|| absolute(tail)).into_iter().collect()
}

/// The paths of a line that stands in for another one: quoted, or beginning with `/`.
fn whole_paths(line: &str) -> Vec<String> {
    let quoted = quoted(line);
    if quoted.is_empty() { absolute(line).into_iter().collect() } else { quoted }
}

/// Finds the path before an error, as in `PROGRAM: what failed PATH: error`.
fn nearest(head: &str) -> Option<String> {
    let head = head.trim_end_matches([' ', ':', '(', '[', ',']);
    let parts: Vec<_> = head.split(": ").map(str::trim).collect();
    let named = parts.iter().rev().find_map(|part| absolute(part).or_else(|| relative(part)));
    named.or_else(|| parts.iter().skip(1).rev().find_map(|part| bare(part)))
}

/// A path from `/` to the end: names can have blanks.
fn absolute(part: &str) -> Option<String> {
    let starts = |at: &usize| {
        part.get(..*at).is_some_and(|head| head.is_empty() || head.ends_with([' ', '=', '(']))
    };
    let at = part.match_indices('/').map(|(at, _)| at).find(starts)?;
    let path = part.get(at..)?;
    let path = path.split_once(" (").map_or(path, |(path, _)| path);
    Some(path.trim_end_matches([' ', ')', ']', ',', ';']).to_owned())
}

/// A last word with a directory or an ending in it.
fn relative(part: &str) -> Option<String> {
    let word = part.rsplit(' ').next()?;
    let named = word.contains('/') || word.trim_matches('.').contains('.');
    (named && !word.contains("://")).then(|| word.to_owned())
}

/// A single word that is no number.
fn bare(part: &str) -> Option<String> {
    let word =
        !part.is_empty() && !part.contains(' ') && !part.bytes().all(|byte| byte.is_ascii_digit());
    word.then(|| part.to_owned())
}

/// Returns what stands in quotation marks. An apostrophe in a word opens none.
fn quoted(line: &str) -> Vec<String> {
    let (mut found, mut rest, mut before) = (Vec::new(), line, ' ');
    while let Some(first) = rest.chars().next() {
        let tail = rest.get(first.len_utf8()..).unwrap_or_default();
        let opens = before.is_whitespace() || "([{=:,".contains(before);
        let inner = if opens { closed(first, tail) } else { None };
        rest = inner.and_then(|inner| tail.get(inner.len()..)).unwrap_or(tail);
        found.extend(inner.map(str::to_owned));
        before = if inner.is_some() { 'x' } else { first };
    }
    found
}

/// Returns what lies between an opening mark and the one that closes it.
fn closed(open: char, tail: &str) -> Option<&str> {
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
        && text.len() <= LONGEST
        && !text.contains(char::is_control)
        && !text.contains('\u{fffd}')
}

/// Leaves out what colours a terminal (ECMA-48: CSI, parameters, one final byte).
fn without_escapes(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || ";:?<=>".contains(c));
        plain.push_str(rest.get(1..).unwrap_or_default());
    }
    plain
}
