//! The list of files that would change, with a line each.

use openoxide_protocol::AbsPath;
use openoxide_sandbox::{EntryKind, EntryState, SkippedChange, StagedChange};

use super::{
    content_diff::ContentDiff,
    directory_summary::{DirectoryGroup, group_by_directory},
    displayed_path::{display_path, to_visible_line},
};

/// The maximum number of files that are listed and shown. A person would not read a longer list.
/// The prompt has the paths of all files.
const MAX_SHOWN_FILES: usize = 100;

/// Returns the lines. No line begins with `+` or `-`, so a line of a difference cannot be mistaken
/// for one of them.
pub(super) fn render_list(
    files: &[&StagedChange],
    texts: &[ContentDiff],
    left_out: &[SkippedChange],
    cwd: &AbsPath,
) -> String {
    let named = count_named_files(files);
    let shown = files.iter().zip(texts).take(named);
    let mut lines: Vec<_> = shown.map(|(change, text)| render_change(change, text, cwd)).collect();
    lines.extend(summarize_files(files.get(named..).unwrap_or_default(), cwd));
    lines.extend(self::render_skipped(left_out).map(|line| format!("stays     {line}")));
    lines.join("\n") + "\n"
}

/// Returns how many files are listed one by one: all, or of a long list the existing files that
/// change, which come first.
pub(super) fn count_named_files(files: &[&StagedChange]) -> usize {
    match files.len() {
        count if count <= MAX_SHOWN_FILES => count,
        _ => {
            let existing = files.iter().take_while(|change| change.before.is_some());
            existing.count().min(MAX_SHOWN_FILES)
        }
    }
}

/// Returns a line for each directory with many changes.
fn summarize_files(files: &[&StagedChange], cwd: &AbsPath) -> Vec<String> {
    let kinds = [("changed", true, true), ("removed", true, false), ("new", false, true)];
    let lines = kinds.into_iter().flat_map(|(word, before, after)| {
        let is_kind = |change: &&&StagedChange| {
            (change.before.is_some(), change.after.is_some()) == (before, after)
        };
        let paths = files.iter().filter(is_kind).map(|change| display_path(&change.path, cwd));
        let groups = group_by_directory(&paths.collect::<Vec<_>>());
        groups.into_iter().filter(|group| group.count > 0).map(move |group| {
            let DirectoryGroup { path, count } = group;
            let path = if path.is_empty() { "./".to_owned() } else { path };
            if count == 1 {
                format!("{word:<10}{path}")
            } else {
                format!("{word:<10}{path} ({count} files)")
            }
        })
    });
    lines.collect()
}

/// Returns a line for each skipped change, with the reason.
pub(super) fn render_skipped(left_out: &[SkippedChange]) -> impl Iterator<Item = String> {
    let line = |left: &SkippedChange| {
        format!("`{}` {}", to_visible_line(&left.path), to_visible_line(&left.reason))
    };
    left_out.iter().take(MAX_SHOWN_FILES).map(line).chain(render_more(left_out.len()))
}

fn render_more(count: usize) -> Option<String> {
    count
        .checked_sub(MAX_SHOWN_FILES)
        .filter(|more| *more > 0)
        .map(|more| format!("… and {more} more"))
}

fn render_change(change: &StagedChange, text: &ContentDiff, cwd: &AbsPath) -> String {
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
        (EntryKind::File(bytes), ContentDiff::Binary) => format!(" ({bytes} bytes)"),
        _ => describe_kind(thing),
    }
}

fn describe_new_file(thing: &EntryState, text: &ContentDiff) -> String {
    let runs = if thing.mode & 0o111 != 0 { ", executable" } else { "" };
    match (&thing.kind, text) {
        (EntryKind::File(_), ContentDiff::TextLines { added, .. }) => format!(" (+{added}{runs})"),
        (EntryKind::File(bytes), ContentDiff::Binary) => format!(" ({bytes} bytes{runs})"),
        _ => describe_kind(thing),
    }
}

fn describe_change(before: &EntryState, after: &EntryState, text: &ContentDiff) -> String {
    match (&before.kind, &after.kind, text) {
        (EntryKind::File(_), EntryKind::File(_), ContentDiff::TextLines { added, removed, .. }) => {
            format!(" (+{added} -{removed})")
        }
        (EntryKind::File(old), EntryKind::File(new), ContentDiff::Binary) => {
            format!(" ({old} → {new} bytes)")
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
