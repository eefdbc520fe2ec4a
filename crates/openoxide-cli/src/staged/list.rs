//! The list of what would change: a line each.

use openoxide_protocol::AbsPath;
use openoxide_sandbox::{Change, Kind, LeftOut, Thing};

use super::{NAMED, content::Text, readable};

/// Returns the lines. None begins with a sign of a difference, so that no line of a file can pass for one of these.
pub(super) fn of(files: &[&Change], texts: &[Text], left_out: &[LeftOut], cwd: &AbsPath) -> String {
    let named = files.iter().zip(texts).take(NAMED);
    let mut lines: Vec<_> = named.map(|(change, text)| line(change, text, cwd)).collect();
    lines.extend(more(files.len()));
    lines.extend(self::left_out(left_out).map(|line| format!("stays     {line}")));
    lines.join("\n") + "\n"
}

/// Says of what is left as it is why.
pub(super) fn left_out(left_out: &[LeftOut]) -> impl Iterator<Item = String> {
    let line = |left: &LeftOut| format!("`{}` {}", readable(&left.path), readable(&left.why));
    left_out.iter().take(NAMED).map(line).chain(more(left_out.len()))
}

fn more(count: usize) -> Option<String> {
    count.checked_sub(NAMED).filter(|more| *more > 0).map(|more| format!("… and {more} more"))
}

fn line(change: &Change, text: &Text, cwd: &AbsPath) -> String {
    let name = name(&change.path, cwd);
    match (&change.before, &change.after) {
        (None, Some(after)) => format!("new       {name}{}", size(after, text)),
        (Some(before), None) => format!("removed   {name}{}", gone(before, text)),
        (Some(before), Some(after)) => {
            format!("changed   {name}{}{}", became(before, after, text), mode(before, after))
        }
        (None, None) => name,
    }
}

/// The path from the working directory on, as a person can read it.
pub(super) fn name(path: &AbsPath, cwd: &AbsPath) -> String {
    readable(path.below(cwd).filter(|rest| !rest.is_empty()).unwrap_or(path.as_str()))
}

fn what(thing: &Thing) -> String {
    match &thing.kind {
        Kind::Directory => "/".to_owned(),
        Kind::File(_) => String::new(),
        Kind::Link(target) => format!(" → {}", readable(&target.to_string_lossy())),
    }
}

fn gone(thing: &Thing, text: &Text) -> String {
    match (&thing.kind, text) {
        (Kind::File(_), Text::Lines { removed, .. }) => format!(" (-{removed})"),
        (Kind::File(bytes), Text::Bytes) => format!(" ({bytes} bytes)"),
        _ => what(thing),
    }
}

fn size(thing: &Thing, text: &Text) -> String {
    let runs = if thing.mode & 0o111 != 0 { ", executable" } else { "" };
    match (&thing.kind, text) {
        (Kind::File(_), Text::Lines { added, .. }) => format!(" (+{added}{runs})"),
        (Kind::File(bytes), Text::Bytes) => format!(" ({bytes} bytes{runs})"),
        _ => what(thing),
    }
}

fn became(before: &Thing, after: &Thing, text: &Text) -> String {
    match (&before.kind, &after.kind, text) {
        (Kind::File(_), Kind::File(_), Text::Lines { added, removed, .. }) => {
            format!(" (+{added} -{removed})")
        }
        (Kind::File(old), Kind::File(new), Text::Bytes) => format!(" ({old} → {new} bytes)"),
        (Kind::File(_), Kind::File(_), Text::None) | (Kind::Directory, Kind::Directory, _) => {
            String::new()
        }
        (_, Kind::Directory, _) => " (a directory now)".to_owned(),
        (_, Kind::File(_), _) => " (a file now)".to_owned(),
        (_, Kind::Link(_), _) => format!(" (a link now){}", what(after)),
    }
}

fn mode(before: &Thing, after: &Thing) -> String {
    if before.mode == after.mode
        || matches!((&before.kind, &after.kind), (_, Kind::Link(_)) | (Kind::Link(_), _))
    {
        return String::new();
    }
    format!(" (mode {:o} → {:o})", before.mode, after.mode)
}
