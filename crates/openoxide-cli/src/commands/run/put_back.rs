//! Hooks and other steering files that a command left behind were put aside; a person may want them back.

use std::{
    fs::{self, File},
    io::Read as _,
};

use openoxide_protocol::{AbsPath, Action, Operation};
use openoxide_sandbox::{Found, restore};
use openoxide_tui::{Lines, can_ask, visible};
use serde_json::{Map, json};

use super::{again, confined::RunContext, enforced};
use crate::{commands::call, report};

/// Of how many files the beginning is shown, and how much of each.
const SHOWN: usize = 8;
const BEGINNING: u64 = 2048;

/// Asks whether what was put aside goes back to where git runs it: one question about all of it, as about an edit of these
/// files. Without a yes it stays aside.
pub(super) fn offer(around: &RunContext<'_>, found: &[Found]) {
    let held: Vec<_> = found.iter().filter_map(held).collect();
    if held.is_empty() || around.global.no_input || !can_ask() {
        return;
    }
    let paths = || held.iter().map(|(path, _)| path.to_string());
    let shown = held.iter().take(SHOWN);
    let input: Map<_, _> =
        shown.map(|(path, aside)| (path.to_string(), json!(beginning(aside)))).collect();
    let action = Action::Edit { paths: paths().collect() };
    let operation = call::of("Edit".to_owned(), action, input.into(), around.engine.cwd());
    let asked = again::ask(around, &operation, title(held.len()), enforced(around.args));
    let granted = asked
        .is_some_and(|permit| permit.redeem(&Operation { session: around.session, ..operation }));
    if granted {
        held.iter().for_each(|(path, aside)| put_back(path, aside));
    }
}

fn held(found: &Found) -> Option<(&AbsPath, &AbsPath)> {
    match found {
        Found::RepositoryHook { path, held: Some(held) }
        | Found::SteeringFile { path, held: Some(held) } => Some((path, held)),
        _ => None,
    }
}

/// Returns what a file begins with; of what is none, or cannot be read, nothing.
fn beginning(file: &AbsPath) -> String {
    if !fs::symlink_metadata(file.as_str()).is_ok_and(|about| about.is_file()) {
        return String::new();
    }
    let mut bytes = Vec::new();
    let read =
        File::open(file.as_str()).and_then(|open| open.take(BEGINNING).read_to_end(&mut bytes));
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn title(count: usize) -> String {
    match count {
        1 => "restore it to where programs execute or read it?".to_owned(),
        _ => format!("restore all {count} to where programs execute or read them?"),
    }
}

fn put_back(path: &AbsPath, aside: &AbsPath) {
    let shown = visible(path.as_str(), Lines::One);
    match restore(path, aside) {
        Ok(()) => report::say(&format!("openoxide: restored `{shown}`")),
        Err(error) => report::failure(&format!("cannot restore `{shown}`: {error}")),
    }
}
