//! Files that a confined command wants to change while it runs, outside of what it may (`--live`).

use std::{fs, path::Path};

use openoxide_engine::Surroundings;
use openoxide_protocol::{AbsPath, Action, Confined, Operation};
use openoxide_sandbox::{Deed, LiveAnswer, LiveChange};
use openoxide_store::Environment;
use serde_json::{Value, json};

use super::RunContext;
use crate::commands::call;

impl RunContext<'_> {
    /// Says whether a file may be changed. What is protected, what is secret and what is our own is never asked about.
    pub(super) fn change(
        &self,
        change: &LiveChange,
        held: &Confined,
        gone: &dyn Fn() -> bool,
    ) -> LiveAnswer {
        let paths = paths(change);
        let answer = if paths.iter().any(|path| self.keeps(path, held)) {
            LiveAnswer::Denied
        } else {
            let operation = edit(change, self.engine.cwd());
            self.decided(&Operation { session: self.session, ..operation }, gone)
        };
        if matches!(answer, LiveAnswer::No | LiveAnswer::Denied) {
            self.refused.borrow_mut().extend(paths);
        }
        answer
    }

    /// Says whether nobody is asked about this path.
    fn keeps(&self, path: &AbsPath, held: &Confined) -> bool {
        let engine = self.engine;
        let around = Surroundings { held, roots: engine.roots(), home: engine.home() };
        let said = engine.sandbox_settings();
        let mut kept = said.protected.iter().chain(&said.unreadable);
        keeps(around, path) || kept.any(|place| path.below(place).is_some()) || self.is_policy(path)
    }

    /// Says whether this is a policy file that was named: it answers for the next change.
    fn is_policy(&self, path: &AbsPath) -> bool {
        let mut named =
            self.args.policy.policy.iter().filter_map(|file| fs::canonicalize(file).ok());
        named.any(|file| file == Path::new(path.as_str()))
    }
}

/// Says whether nobody is asked about this path, whatever a policy says.
pub(crate) fn keeps(around: Surroundings<'_>, path: &AbsPath) -> bool {
    let own = Environment::read().own_directories();
    around.keeps(path).is_some() || own.iter().any(|place| path.below(place).is_some())
}

/// Returns the edit that a change is.
pub(crate) fn edit(change: &LiveChange, cwd: &AbsPath) -> Operation {
    let paths = paths(change).iter().map(AbsPath::to_string).collect();
    call::of("Edit".to_owned(), Action::Edit { paths }, input(change), cwd)
}

/// The paths that change.
pub(crate) fn paths(change: &LiveChange) -> Vec<AbsPath> {
    [change.path.clone()].into_iter().chain(change.to.clone()).collect()
}

/// What a person is shown, and the audit keeps.
fn input(change: &LiveChange) -> Value {
    let mut input = json!({ "file_path": change.path, "wants": in_words(change) });
    if let (Value::Object(all), Some(to)) = (&mut input, &change.to) {
        all.insert("to".to_owned(), json!(to));
    }
    input
}

/// Says what is done to the file, without its name.
fn in_words(change: &LiveChange) -> String {
    let what = match change.deed {
        Deed::Write => "write this file",
        Deed::MakeDirectory => "make this directory",
        Deed::Remove => "remove this file or directory",
        Deed::Rename => "rename this file, replacing the existing one",
    };
    match change.other_names {
        0 => what.to_owned(),
        more => format!("{what}, which has {more} more hard links elsewhere"),
    }
}
