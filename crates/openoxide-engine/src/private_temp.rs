//! What a command is shown of the host's directories for temporary files, of which each run has its own.

use std::{collections::BTreeSet, fs, path::Path};

use openoxide_engine::real_path;
use openoxide_protocol::{AbsPath, Access, Decision, Effect, PathAccess};
use openoxide_sandbox::is_temporary;
use openoxide_tui::{Lines, visible};

/// Returns what lies below a directory for temporary files and is to be seen all the same: what the decision reads by name, and home.
pub(crate) fn shown(decision: Option<&Decision>, home: Option<&AbsPath>) -> BTreeSet<AbsPath> {
    let named = decision.into_iter().flat_map(granted).filter_map(|access| match access {
        Access::Read(path) => named(path),
        _ => None,
    });
    named.chain(home.cloned()).map(|path| real_path(&path)).filter(is_temporary).collect()
}

/// Says that what the decision changes by name below such a directory is gone afterwards, where it is not there yet: what is there is
/// changed itself.
pub(in crate::commands::run) fn lost(decision: &Decision, roots: &[AbsPath]) -> Option<String> {
    let missing = |path: &AbsPath| {
        let inside = roots.iter().any(|root| path.below(root).is_some());
        let nothing = fs::symlink_metadata(path.as_str()).is_err();
        is_temporary(path)
            && !inside
            && nothing
            && path.parent().is_some_and(|above| is_place(&above))
    };
    let changed = granted(decision).filter_map(|access| match access {
        Access::Edit(path) => named(path),
        _ => None,
    });
    let all: BTreeSet<_> = changed.filter(missing).collect();
    let names: Vec<_> =
        all.iter().map(|path| format!("`{}`", visible(path.as_str(), Lines::One))).collect();
    (!names.is_empty()).then(|| {
        format!(
            "`/tmp` and `/var/tmp` are private to this run: {} will not be there when it has ended. To keep a result, create the file \
             first, or write it in the project",
            names.join(", ")
        )
    })
}

fn is_place(path: &AbsPath) -> bool {
    // Where something lies in it, it is such a directory or below one.
    is_temporary(&path.join("x")) && Path::new(path.as_str()).is_dir()
}

fn granted(decision: &Decision) -> impl Iterator<Item = &Access> {
    decision.parts.iter().filter(|part| part.decision != Effect::Deny).map(|part| &part.access)
}

fn named(access: &PathAccess) -> Option<AbsPath> {
    (!access.pattern).then(|| access.resolved.clone().unwrap_or_else(|| access.path.clone()))
}
