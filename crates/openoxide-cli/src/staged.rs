//! What a staged run would change, as a person is shown it.

mod content;
mod list;

use std::{collections::BTreeMap, io};

use openoxide_protocol::{AbsPath, Presentation, PresentationKind};
use openoxide_sandbox::{Change, Changes, Committed, LeftOut, Stage};
use openoxide_tui::{Lines, visible};

use crate::{commands::sandbox::found, report};

/// What is asked, in one line, and what is shown with it.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) title: String,
    /// The files, without what is in them.
    pub(crate) list: String,
    pub(crate) presentation: Presentation,
}

/// So many files are named, and shown. A person who is shown more reads none of them; the prompt has all their paths.
const NAMED: usize = 100;

/// What a no means.
pub(crate) const NOTHING_CHANGED: &str = "no file was changed";

/// Returns what is to be asked about; where nothing would change, it says so.
///
/// # Errors
/// What was staged cannot be looked at.
pub(crate) fn to_ask_about(stage: &Stage) -> io::Result<Option<Changes>> {
    let changes = stage.changes()?;
    if changes.changes.is_empty() {
        report::say("openoxide: no file would change");
        tell_left_out(&changes.left_out);
        return Ok(None);
    }
    Ok(Some(changes))
}

/// Says first which files would change, and then, of as many as can be read, how.
pub(crate) fn shown(stage: &Stage, changes: &Changes, cwd: &AbsPath) -> Shown {
    let mut files: Vec<_> = worth_naming(changes).collect();
    // What is new comes last: many new files hide no change of an old one.
    files.sort_by_key(|change| (change.before.is_none(), change.after.is_none()));
    let texts: Vec<_> = files.iter().take(NAMED).map(|change| content::of(stage, change)).collect();
    let list = list::of(&files, &texts, &changes.left_out, cwd);
    let content = list.clone() + &content::all(&files, &texts, cwd);
    let title = match files.as_slice() {
        [one] => format!("Let {} change", list::name(&one.path, cwd)),
        several => format!("Let {} staged files change", several.len()),
    };
    let kind = PresentationKind::Diff;
    let presentation = Presentation { kind, content, language: None, metadata: BTreeMap::new() };
    Shown { title, list, presentation }
}

/// Leaves out directories that are named by what lies in them.
pub(crate) fn worth_naming(changes: &Changes) -> impl Iterator<Item = &Change> {
    let all = &changes.changes;
    all.iter()
        .enumerate()
        .filter(|(at, change)| !says_itself(change, all.get(at + 1)))
        .map(|(_, change)| change)
}

/// What lies in a directory comes right behind it, or behind what begins with the same name.
fn says_itself(change: &Change, next: Option<&Change>) -> bool {
    let directory = |thing: &Option<openoxide_sandbox::Thing>| {
        thing.as_ref().is_none_or(openoxide_sandbox::Thing::is_directory)
    };
    let came_or_went = change.before.is_none() || change.after.is_none();
    let inside = next.is_some_and(|next| next.path.below(&change.path).is_some());
    came_or_went && directory(&change.before) && directory(&change.after) && inside
}

/// Says what was changed, what not, and what a person should look at.
pub(crate) fn tell(committed: &Committed) {
    report::say(match committed.left_out.as_slice() {
        [] => "openoxide: the files were changed",
        _ => "openoxide: the files were changed, but for these:",
    });
    tell_left_out(&committed.left_out);
    for one in &committed.found {
        report::note(&found::text(one));
    }
}

/// Names what was left as it is.
fn tell_left_out(left_out: &[LeftOut]) {
    for line in list::left_out(left_out) {
        report::note(&line);
    }
}

/// A path that a person can read, whatever it holds.
fn readable(text: &str) -> String {
    visible(text, Lines::One)
}
