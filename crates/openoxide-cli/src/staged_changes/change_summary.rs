//! A summary of many changes that fits one screen. Unusual changes come first.

use std::collections::BTreeMap;

use openoxide_protocol::AbsPath;
use openoxide_sandbox::{ChangeContents, EntryState, SkippedChange, StagedChange};
use openoxide_store::ByteSize;

use super::{
    change_class::{ChangeClass, change_word},
    change_list::{render_change, render_skipped},
    content_diff::diff_change,
    directory_summary::group_by_directory,
    displayed_path::display_path,
};

/// More changes than this are summarized. A prompt lists fewer one by one.
pub(super) const MAX_UNSUMMARIZED: usize = 6;
/// The number of lines that a summary should not exceed. Dangerous changes are always named.
const MAX_LINES: usize = 16;
/// The minimum number of lines for each class of changes.
const MIN_CLASS_LINES: usize = 2;
/// The maximum number of skipped changes that are named.
const MAX_SKIPPED: usize = 4;

/// Changes of one class, with the word for them.
type ChangeBuckets<'a> = BTreeMap<(ChangeClass, &'static str), Vec<&'a StagedChange>>;

/// Summarizes changes of files.
pub(super) struct ChangeSummary<'a> {
    pub(super) contents: &'a dyn ChangeContents,
    pub(super) cwd: &'a AbsPath,
}

impl ChangeSummary<'_> {
    /// Returns the summary, or `None` if the changes are so few that they are listed anyway.
    pub(super) fn render(
        &self,
        files: &[&StagedChange],
        skipped: &[SkippedChange],
    ) -> Option<String> {
        if files.len() <= MAX_UNSUMMARIZED {
            return None;
        }
        let mut buckets = ChangeBuckets::new();
        for change in files {
            let key = (ChangeClass::from_change(change, self.cwd), change_word(change));
            buckets.entry(key).or_default().push(change);
        }
        let limit = match files.len() {
            count if count <= MAX_LINES => MAX_LINES,
            _ => (MAX_LINES / buckets.len().max(1)).max(MIN_CLASS_LINES),
        };
        let mut lines = vec![describe_counts(files)];
        for ((class, word), members) in &buckets {
            lines.extend(self.render_bucket(*class, word, members, limit));
        }
        lines.extend(render_skipped(skipped, MAX_SKIPPED).map(|line| format!("stays     {line}")));
        Some(lines.join("\n") + "\n")
    }

    fn render_bucket(
        &self,
        class: ChangeClass,
        word: &str,
        members: &[&StagedChange],
        limit: usize,
    ) -> Vec<String> {
        if class == ChangeClass::Dangerous || members.len() <= limit {
            return members.iter().map(|change| self.render_file(class, change)).collect();
        }
        let paths: Vec<_> =
            members.iter().map(|change| display_path(&change.path, self.cwd)).collect();
        let groups = group_by_directory(&paths, limit).into_iter();
        let lines = groups.filter_map(|group| {
            let inside: Vec<_> =
                group.members.iter().filter_map(|at| members.get(*at)).copied().collect();
            match inside.as_slice() {
                [] => None,
                [one] => Some(self.render_file(class, one)),
                several => {
                    let path = if group.path.is_empty() { "./" } else { &group.path };
                    Some(format!("{word:<10}{path} ({})", describe_group(class, several)))
                }
            }
        });
        lines.collect()
    }

    fn render_file(&self, class: ChangeClass, change: &StagedChange) -> String {
        let line = render_change(change, &diff_change(self.contents, change), self.cwd);
        line + class.note(change)
    }
}

fn describe_group(class: ChangeClass, members: &[&StagedChange]) -> String {
    let noun = class.plural();
    match total_size(members) {
        0 => format!("{} {noun}", members.len()),
        bytes => format!("{} {noun}, {}", members.len(), ByteSize(bytes)),
    }
}

/// Returns the size of the files that are written.
fn total_size(members: &[&StagedChange]) -> u64 {
    let sizes = members.iter().filter_map(|change| change.after.as_ref()).map(EntryState::size);
    sizes.fold(0, u64::saturating_add)
}

/// Returns the first line: the number of changes of each kind, and the size of what is written.
fn describe_counts(files: &[&StagedChange]) -> String {
    let count = |word| files.iter().filter(|change| change_word(change) == word).count();
    let counts = ["new", "changed", "removed"].map(|word| (count(word), word));
    let words: Vec<_> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    format!("{} files: {}; {} in all", files.len(), words.join(", "), ByteSize(total_size(files)))
}
