//! How files would change, line by line.

use std::{fmt::Write as _, time::Duration};

use openoxide_protocol::AbsPath;
use openoxide_sandbox::{Change, Kind, Stage, Thing};
use similar::{ChangeTag, TextDiff};

use super::list;

/// Larger files are shown by their size.
const LARGEST: u64 = 1 << 18;
/// So many lines of one file are shown, and so many of all.
const LINES: usize = 200;
const ALL_LINES: usize = 2000;
/// So long two files are compared; after that the difference is correct, and longer than need be.
const PATIENCE: Duration = Duration::from_millis(200);

/// How a file would change.
pub(super) enum Text {
    /// It is no file, or its content stays.
    None,
    /// It is too large, or no text.
    Bytes,
    /// So many lines come and go; this is how.
    Lines { added: usize, removed: usize, hunks: String },
}

/// Compares what lies there with what would lie there.
pub(super) fn of(stage: &Stage, change: &Change) -> Text {
    let is_file = |thing: &Thing| matches!(thing.kind, Kind::File(_));
    let (before, after) = (
        change.before.as_ref().filter(|one| is_file(one)),
        change.after.as_ref().filter(|one| is_file(one)),
    );
    if change.same_content || before.is_none() && after.is_none() {
        return Text::None;
    }
    let before =
        before.map_or(Some(String::new()), |one| text(one, || stage.before(change, LARGEST)));
    let after = after.map_or(Some(String::new()), |one| text(one, || stage.after(change, LARGEST)));
    match (before, after) {
        (Some(before), Some(after)) => compare(&before, &after),
        _ => Text::Bytes,
    }
}

/// The content of a file, if it is text that is not too large.
fn text(file: &Thing, read: impl Fn() -> std::io::Result<Vec<u8>>) -> Option<String> {
    if !matches!(file.kind, Kind::File(bytes) if bytes < LARGEST) {
        return None;
    }
    String::from_utf8(read().ok()?).ok().filter(|text| !text.contains('\0'))
}

fn compare(before: &str, after: &str) -> Text {
    let difference = TextDiff::configure().timeout(PATIENCE).diff_lines(before, after);
    let count = |tag| difference.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    Text::Lines { added, removed, hunks: difference.unified_diff().to_string() }
}

/// Returns the changes of all files, each under its name. Every line of a file has a sign before it, so that none can pass for a name.
pub(super) fn all(files: &[&Change], texts: &[Text], cwd: &AbsPath) -> String {
    let (mut all, mut left) = (String::new(), ALL_LINES);
    for (change, text) in files.iter().zip(texts) {
        let Text::Lines { hunks, .. } = text else { continue };
        let count = hunks.lines().count();
        let shown = count.min(LINES).min(left);
        left -= shown;
        if shown == 0 {
            continue;
        }
        // Writing into a string does not fail.
        _ = writeln!(all, "\n{}", list::name(&change.path, cwd));
        hunks.split_inclusive('\n').take(shown).for_each(|line| all.push_str(line));
        if shown < count {
            _ = writeln!(all, "… {} more lines of this file", count - shown);
        }
    }
    all
}
