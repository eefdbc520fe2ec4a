//! Line-by-line differences of files.

use std::{fmt::Write as _, time::Duration};

use openoxide_protocol::AbsPath;
use openoxide_sandbox::{ChangeContents, EntryKind, EntryState, StagedChange};
use similar::{ChangeTag, TextDiff};

use super::displayed_path::display_path;

/// Larger files are shown by their size.
const MAX_FILE_BYTES: u64 = 1 << 18;
/// The maximum number of lines that are shown of one file, and of all files.
const MAX_FILE_LINES: usize = 200;
const MAX_TOTAL_LINES: usize = 2000;
/// The time limit for the comparison of two files. When it is exceeded, the difference is still
/// correct, but longer than necessary.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

/// The change of a file's content.
pub(super) enum ContentDiff {
    /// The path is not a file, or its content is unchanged.
    Unchanged,
    /// The content is too large, not text, or not compared.
    Binary,
    /// The numbers of added and removed lines, and the differences.
    TextLines { added: usize, removed: usize, hunks: String },
}

impl ContentDiff {
    /// Returns the change of a file whose contents are not compared.
    pub(super) const fn uncompared(change: &StagedChange) -> Self {
        if change.same_content { Self::Unchanged } else { Self::Binary }
    }

    /// Returns the differences of a text.
    pub(super) fn into_hunks(self) -> Option<String> {
        match self {
            Self::TextLines { hunks, .. } => Some(hunks),
            Self::Unchanged | Self::Binary => None,
        }
    }
}

/// Compares the current content of a file with the staged one.
pub(super) fn diff_change(contents: &dyn ChangeContents, change: &StagedChange) -> ContentDiff {
    let is_file = |thing: &EntryState| matches!(thing.kind, EntryKind::File(_));
    let (before, after) = (
        change.before.as_ref().filter(|one| is_file(one)),
        change.after.as_ref().filter(|one| is_file(one)),
    );
    if change.same_content || before.is_none() && after.is_none() {
        return ContentDiff::Unchanged;
    }
    let before = before.map_or(Some(String::new()), |one| {
        read_text(one, || contents.read_before(change, MAX_FILE_BYTES))
    });
    let after = after.map_or(Some(String::new()), |one| {
        read_text(one, || contents.read_after(change, MAX_FILE_BYTES))
    });
    match (before, after) {
        (Some(before), Some(after)) => diff_texts(&before, &after),
        _ => ContentDiff::Binary,
    }
}

/// Returns the content of a file if it is text and not too large.
fn read_text(file: &EntryState, read: impl Fn() -> std::io::Result<Vec<u8>>) -> Option<String> {
    if !matches!(file.kind, EntryKind::File(bytes) if bytes < MAX_FILE_BYTES) {
        return None;
    }
    String::from_utf8(read().ok()?).ok().filter(|text| !text.contains('\0'))
}

fn diff_texts(before: &str, after: &str) -> ContentDiff {
    let difference = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(before, after);
    let count = |tag| difference.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    ContentDiff::TextLines { added, removed, hunks: difference.unified_diff().to_string() }
}

/// Returns the changes of all files, each under its name. Every line of a difference begins with a
/// sign, so it cannot be mistaken for a name.
pub(super) fn render_diffs(
    files: &[&StagedChange],
    texts: &[ContentDiff],
    cwd: &AbsPath,
) -> String {
    let (mut all, mut left) = (String::new(), MAX_TOTAL_LINES);
    for (change, text) in files.iter().zip(texts) {
        let ContentDiff::TextLines { hunks, .. } = text else { continue };
        let count = hunks.lines().count();
        let shown = count.min(MAX_FILE_LINES).min(left);
        left -= shown;
        if shown == 0 {
            continue;
        }
        // Writing into a string does not fail.
        _ = writeln!(all, "\n{}", display_path(&change.path, cwd));
        hunks.split_inclusive('\n').take(shown).for_each(|line| all.push_str(line));
        if shown < count {
            _ = writeln!(all, "… {} more lines of this file", count - shown);
        }
    }
    all
}
