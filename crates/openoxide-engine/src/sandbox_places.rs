//! Directories that a confined run uses beside the project: the registry, and the caches of tools.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt as _, path::Path};

use openoxide_engine::existing_path;
use openoxide_protocol::{AbsPath, Confined};
use openoxide_store::Environment;

fn absolute(path: &Path) -> Option<AbsPath> {
    AbsPath::new(path.to_str()?).ok()
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
    let all: BTreeSet<_> = below.chain(named).filter_map(|path| existing_path(&path)).collect();
    let open =
        |path: &AbsPath| !within(path, &profile.writable) && !within(path, &profile.unreadable);
    let holds =
        |path: &AbsPath| all.iter().any(|other| other != path && path.below(other).is_some());
    all.iter().filter(|path| open(path) && !holds(path)).cloned().collect()
}
