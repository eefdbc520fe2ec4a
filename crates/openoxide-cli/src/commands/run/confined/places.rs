//! Places as the kernel takes them: resolved, so that no link leads a profile elsewhere.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt as _, path::Path};

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

/// Where is written down what a run puts on the host: with this program's state; where there is no place for that, in a
/// directory for temporary files. A directory that anybody else could write is not used (`Registry::open`).
///
/// # Errors
/// When no place can be named.
pub(crate) fn registry() -> Result<AbsPath, String> {
    let state = Environment::read().state.map(|state| state.join("openoxide"));
    // The registry itself is made by who opens it, for this user alone.
    let usable = state.filter(|place| fs::create_dir_all(place).is_ok());
    let place = match usable {
        Some(place) => place.join("sandbox"),
        None => std::env::temp_dir().join(format!("openoxide-{}", owner()?)),
    };
    absolute(&place).ok_or_else(|| format!("`{}` is not UTF-8", place.display()))
}

fn owner() -> Result<u32, String> {
    let own = fs::metadata("/proc/self").map_err(|error| format!("`/proc/self`: {error}"))?;
    Ok(own.uid())
}

/// Caches and stores of tools, below home.
const CACHES: &[&str] = &[
    ".cache",
    ".npm",
    ".cargo",
    ".rustup",
    "go/pkg",
    ".gradle",
    ".m2",
    ".pnpm-store",
    ".local/share/pnpm",
    ".bun",
    ".deno",
    ".yarn",
    ".nuget",
    ".ivy2",
    ".sbt",
    ".pub-cache",
    ".composer/cache",
    ".bundle/cache",
    ".gem",
    ".cpan",
    ".julia",
    ".conda/pkgs",
];
/// Variables that name such a directory elsewhere.
const NAMED: &[&str] = &[
    "XDG_CACHE_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOCACHE",
    "GOMODCACHE",
    "UV_CACHE_DIR",
    "PIP_CACHE_DIR",
];

/// Returns the caches that are there. A confined program reads them as they are, and what it writes there it writes for itself.
pub(crate) fn caches(profile: &Confined) -> Vec<AbsPath> {
    let home = Environment::read().home;
    let below = home.iter().flat_map(|home| CACHES.iter().map(|name| home.join(name)));
    let named = NAMED.iter().filter_map(|name| AbsPath::new(&std::env::var(name).ok()?).ok());
    let within =
        |path: &AbsPath, of: &BTreeSet<AbsPath>| of.iter().any(|one| path.below(one).is_some());
    let all: BTreeSet<_> = below.chain(named).filter_map(|path| end(&path)).collect();
    let open =
        |path: &AbsPath| !within(path, &profile.writable) && !within(path, &profile.unreadable);
    let holds =
        |path: &AbsPath| all.iter().any(|other| other != path && path.below(other).is_some());
    all.iter().filter(|path| open(path) && !holds(path)).cloned().collect()
}
