//! Restoring quarantined files: git hooks and other steering files that a command has created.

use std::{
    fs::{self, File},
    io::{self, Read as _},
};

use openoxide_protocol::{AbsPath, Action, Operation};
use openoxide_sandbox::{PostRunFinding, restore_git_settings, restore_quarantined_file};
use openoxide_tui::{LineMode, can_ask, escape_text};
use serde_json::{Map, json};

use super::{
    confined_run::{RunContext, requested_confinement},
    explicit_approval,
};
use crate::{commands::call_operation, user_messages};

/// The number of files whose beginning is shown, and the maximum length of each.
const MAX_SHOWN_FILES: usize = 8;
const MAX_PREVIEW_BYTES: u64 = 2048;

/// Asks whether all quarantined files are restored to where git runs them. The question is about
/// one edit of all of them. Without approval they stay in quarantine.
pub(super) fn offer_restore(around: &RunContext<'_>, found: &[PostRunFinding]) {
    let held: Vec<_> = found.iter().filter_map(held_file).collect();
    if held.is_empty() || around.global.no_input || !can_ask() {
        return;
    }
    let paths = || held.iter().map(|one| one.path.to_string());
    let shown = held.iter().take(MAX_SHOWN_FILES);
    let input: Map<_, _> =
        shown.map(|one| (one.path.to_string(), json!(read_preview(one.held)))).collect();
    let action = Action::Edit { paths: paths().collect() };
    let operation = call_operation::new_person_operation(
        "Edit".to_owned(),
        action,
        input.into(),
        around.engine.cwd(),
    );
    let asked = explicit_approval::ask_explicit_approval(
        around,
        &operation,
        restore_title(held.len()),
        requested_confinement(around.args),
    );
    let granted = asked.is_some_and(|permit| {
        permit.redeem_for(&Operation { session: around.session, ..operation })
    });
    if granted {
        held.iter().for_each(restore_file);
    }
}

/// A file that waits for a person.
struct HeldFile<'a> {
    path: &'a AbsPath,
    /// Its name in quarantine.
    held: &'a AbsPath,
    restore: fn(&AbsPath, &AbsPath) -> io::Result<()>,
}

fn held_file(found: &PostRunFinding) -> Option<HeldFile<'_>> {
    match found {
        PostRunFinding::RepositoryHook { path, quarantined: Some(held) }
        | PostRunFinding::SteeringFile { path, quarantined: Some(held) } => {
            Some(HeldFile { path, held, restore: restore_quarantined_file })
        }
        PostRunFinding::GitSettings { path, held, .. }
        | PostRunFinding::ChangedHook { path, held } => {
            Some(HeldFile { path, held, restore: restore_git_settings })
        }
        _ => None,
    }
}

/// Returns the beginning of a file, or an empty text if it is not a regular file or cannot be read.
fn read_preview(file: &AbsPath) -> String {
    if !fs::symlink_metadata(file.as_str()).is_ok_and(|about| about.is_file()) {
        return String::new();
    }
    let mut bytes = Vec::new();
    let read = File::open(file.as_str())
        .and_then(|open| open.take(MAX_PREVIEW_BYTES).read_to_end(&mut bytes));
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn restore_title(count: usize) -> String {
    match count {
        1 => "restore it to where programs execute or read it?".to_owned(),
        _ => format!("restore all {count} to where programs execute or read them?"),
    }
}

fn restore_file(file: &HeldFile<'_>) {
    let shown = escape_text(file.path.as_str(), LineMode::SingleLine);
    match (file.restore)(file.path, file.held) {
        Ok(()) => user_messages::print_line(&format!("openoxide: restored `{shown}`")),
        Err(error) => user_messages::print_error(&format!("cannot restore `{shown}`: {error}")),
    }
}
