//! `rules fmt`: one layout for all policy files.

use openoxide_permission::{Anchors, LayerKind};
use openoxide_store::{Environment, Lock, edit};
use openoxide_tui::{Lines, visible};

use super::files::{self, PolicyText};
use crate::{
    args::{FmtArgs, Global},
    exit::Exit,
    report,
};

/// Lays out each file, or says which ones would change.
pub(super) fn fmt(args: &FmtArgs, global: Global) -> Result<Exit, String> {
    let lock = (!args.check).then(|| Lock::of_policies(&Environment::read()));
    let _lock = lock.transpose().map_err(|error| error.to_string())?;
    let (mut text, mut exit) = (String::new(), Exit::Success);
    for file in files::read_native(&args.files)? {
        if let Err(broken) = file.sound(global) {
            exit = broken;
            continue;
        }
        let new = laid_out(&file)?;
        let administered = args.files.is_empty() && file.source.kind == LayerKind::Managed;
        if administered || new == file.text {
            continue;
        }
        text.extend([format!("{}\n", visible(&file.shown, Lines::One))]);
        if args.check {
            exit = if exit == Exit::Success { Exit::Failure } else { exit };
        } else {
            let write = edit::replace(&file.source.path, &new);
            write.map_err(|error| format!("{}: {error}", file.shown))?;
        }
    }
    Ok(report::data(text.as_bytes(), exit))
}

/// Returns the new text, which is known to decide the same.
fn laid_out(file: &PolicyText) -> Result<String, String> {
    let wrong = |what: &dyn std::fmt::Display| format!("{}: {what}", file.shown);
    let new = edit::formatted(&file.text).map_err(|error| wrong(&error))?;
    let home = Environment::read().home;
    let anchors = Anchors { home: home.as_ref(), base: &file.source.base };
    match new == file.text || edit::same_meaning(&file.text, &new, anchors) {
        true => Ok(new),
        false => Err(wrong(&"not reformatted: the new layout would change its meaning")),
    }
}
