//! Places as the kernel takes them: resolved, so that no link leads a profile elsewhere.

use std::{collections::BTreeSet, fs, path::Path};

use openoxide_protocol::{AbsPath, Confined};
use openoxide_store::Environment;

/// Returns a profile whose places are where they really lie. What is to be written and is not there is left out; what is not to
/// be read and is not there needs no hiding.
pub(super) fn resolved(profile: &Confined) -> Result<Confined, String> {
    let there = |paths: &BTreeSet<AbsPath>| paths.iter().filter_map(end).collect();
    let writable: BTreeSet<AbsPath> = there(&profile.writable);
    if writable.contains(&AbsPath::root()) {
        return Err(
            "`/` cannot be writable in a sandbox: run it from a project, or with --sandbox off"
                .to_owned(),
        );
    }
    let mut protected = profile.protected.clone();
    protected.extend(profile.protected.iter().filter_map(beside));
    Ok(Confined { writable, protected, unreadable: there(&profile.unreadable), ..profile.clone() })
}

/// Where a path ends, if something is there.
fn end(path: &AbsPath) -> Option<AbsPath> {
    absolute(&fs::canonicalize(path.as_str()).ok()?)
}

/// The same name in the directory that its directory really is.
fn beside(path: &AbsPath) -> Option<AbsPath> {
    Some(end(&path.parent()?)?.join(path.name()?))
}

fn absolute(path: &Path) -> Option<AbsPath> {
    AbsPath::new(path.to_str()?).ok()
}

/// Where a directory really is; it itself, if that cannot be told.
pub(super) fn real(path: &AbsPath) -> AbsPath {
    end(path).unwrap_or_else(|| path.clone())
}

/// Where is written down what a run puts on the host.
///
/// # Errors
/// When no directory of the user's own is known.
pub(crate) fn registry() -> Result<AbsPath, String> {
    let state = Environment::read().state.ok_or("neither HOME nor XDG_STATE_HOME is set")?;
    let place = state.join("openoxide/sandbox");
    absolute(&place).ok_or_else(|| format!("`{}` is not UTF-8", place.display()))
}
