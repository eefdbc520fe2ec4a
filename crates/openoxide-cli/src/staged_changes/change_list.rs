//! The list of files that would change, with a line each.

use openoxide_protocol::AbsPath;
use openoxide_sandbox::{EntryKind, EntryState, SkippedChange, StagedChange};
use openoxide_store::ByteSize;

use super::{
    content_diff::ContentDiff,
    displayed_path::{display_path, to_visible_line},
};

/// The maximum number of changes that are listed.
const MAX_LISTED: usize = 10_000;
/// The maximum number of skipped changes that are listed.
pub(super) const MAX_SKIPPED: usize = 100;

/// Returns the lines. No line begins with `+` or `-`, so a line of a difference cannot be mistaken
/// for one of them.
pub(super) fn render_list(
    files: &[&StagedChange],
    texts: &[ContentDiff],
    left_out: &[SkippedChange],
    cwd: &AbsPath,
) -> String {
    let compared = files.iter().zip(texts).map(|(change, text)| render_change(change, text, cwd));
    let others = files.iter().skip(texts.len());
    let others = others.map(|change| render_change(change, &ContentDiff::uncompared(change), cwd));
    let mut lines: Vec<_> = compared.chain(others).take(MAX_LISTED).collect();
    lines.extend(render_more(files.len(), MAX_LISTED));
    let skipped = self::render_skipped(left_out, MAX_SKIPPED);
    lines.extend(skipped.map(|line| format!("stays     {line}")));
    lines.join("\n") + "\n"
}

/// Returns a line for each skipped change, with the reason.
pub(super) fn render_skipped(
    left_out: &[SkippedChange],
    limit: usize,
) -> impl Iterator<Item = String> {
    let line = |left: &SkippedChange| {
        format!("`{}` {}", to_visible_line(&left.path), to_visible_line(&left.reason))
    };
    left_out.iter().take(limit).map(line).chain(render_more(left_out.len(), limit))
}

fn render_more(count: usize, limit: usize) -> Option<String> {
    let more = count.checked_sub(limit).filter(|more| *more > 0)?;
    Some(format!("… and {more} more"))
}

/// Returns the line of one change.
pub(super) fn render_change(change: &StagedChange, text: &ContentDiff, cwd: &AbsPath) -> String {
    let name = display_path(&change.path, cwd);
    match (&change.before, &change.after) {
        (None, Some(after)) => format!("new       {name}{}", describe_new_file(after, text)),
        (Some(before), None) => format!("removed   {name}{}", describe_removal(before, text)),
        (Some(before), Some(after)) => {
            format!(
                "changed   {name}{}{}{}",
                describe_change(before, after, text),
                describe_mode_change(before, after),
                describe_metadata_change(change, before, after)
            )
        }
        (None, None) => name,
    }
}

fn describe_kind(thing: &EntryState) -> String {
    match &thing.kind {
        EntryKind::Directory => "/".to_owned(),
        EntryKind::File(_) => String::new(),
        EntryKind::Link(target) => format!(" → {}", to_visible_line(&target.to_string_lossy())),
        EntryKind::Fifo => " (a named pipe)".to_owned(),
    }
}

fn describe_removal(thing: &EntryState, text: &ContentDiff) -> String {
    match (&thing.kind, text) {
        (EntryKind::File(_), ContentDiff::TextLines { removed, .. }) => format!(" (-{removed})"),
        (EntryKind::File(bytes), ContentDiff::Binary) => format!(" ({})", ByteSize(*bytes)),
        _ => describe_kind(thing),
    }
}

fn describe_new_file(thing: &EntryState, text: &ContentDiff) -> String {
    let runs = if thing.mode & 0o111 != 0 { ", executable" } else { "" };
    match (&thing.kind, text) {
        (EntryKind::File(_), ContentDiff::TextLines { added, .. }) => format!(" (+{added}{runs})"),
        (EntryKind::File(bytes), ContentDiff::Binary) => format!(" ({}{runs})", ByteSize(*bytes)),
        _ => describe_kind(thing),
    }
}

fn describe_change(before: &EntryState, after: &EntryState, text: &ContentDiff) -> String {
    match (&before.kind, &after.kind, text) {
        (EntryKind::File(_), EntryKind::File(_), ContentDiff::TextLines { added, removed, .. }) => {
            format!(" (+{added} -{removed})")
        }
        (EntryKind::File(old), EntryKind::File(new), ContentDiff::Binary) => {
            format!(" ({} → {})", ByteSize(*old), ByteSize(*new))
        }
        (EntryKind::File(_), EntryKind::File(_), ContentDiff::Unchanged)
        | (EntryKind::Directory, EntryKind::Directory, _)
        | (EntryKind::Fifo, EntryKind::Fifo, _) => String::new(),
        (_, EntryKind::Directory, _) => " (a directory now)".to_owned(),
        (_, EntryKind::File(_), _) => " (a file now)".to_owned(),
        (_, EntryKind::Link(_), _) => format!(" (a link now){}", describe_kind(after)),
        (_, EntryKind::Fifo, _) => " (a named pipe now)".to_owned(),
    }
}

fn describe_mode_change(before: &EntryState, after: &EntryState) -> String {
    if before.mode == after.mode
        || matches!((&before.kind, &after.kind), (_, EntryKind::Link(_)) | (EntryKind::Link(_), _))
    {
        return String::new();
    }
    format!(" (mode {:o} → {:o})", before.mode, after.mode)
}

/// Describes the change of an entry that keeps its content.
fn describe_metadata_change(
    change: &StagedChange,
    before: &EntryState,
    after: &EntryState,
) -> String {
    let attributes = !before.has_same_attributes(after);
    let times = change.same_content && !before.has_same_times(after);
    let words = [(attributes, "extended attributes"), (times, "time")];
    let words: Vec<_> =
        words.iter().filter(|(differs, _)| *differs).map(|(_, word)| *word).collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}
