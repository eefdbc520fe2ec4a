//! Directories that a confined run uses in addition to the project: the registry and the caches of
//! tools.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt as _, path::Path};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use openoxide_store::UserEnvironment;

use crate::{error::RegistryError, sandbox_profile::canonicalize_existing};

fn absolute(path: &Path) -> Option<AbsPath> {
    AbsPath::new(path.to_str()?).ok()
}

/// Returns the directory that records what a run puts on the host: with the state of the user; where that cannot be used, in a
/// directory for temporary files. A directory that others could write is not used (`Registry::open`).
///
/// # Errors
/// When no place can be named.
pub fn registry(environment: &UserEnvironment) -> Result<AbsPath, RegistryError> {
    let state = environment.state.as_ref().map(|state| state.join("openoxide"));
    // The registry itself is made by who opens it, for this user alone.
    let usable = state.filter(|place| fs::create_dir_all(place).is_ok());
    let place = match usable {
        Some(place) => place.join("sandbox"),
        None => std::env::temp_dir().join(format!("openoxide-{}", owner()?)),
    };
    absolute(&place).ok_or_else(|| RegistryError::NotUtf8(place.display().to_string()))
}

fn owner() -> Result<u32, RegistryError> {
    Ok(fs::metadata("/proc/self").map_err(RegistryError::UnknownOwner)?.uid())
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
#[must_use]
pub fn caches(profile: &SandboxRestrictions, home: Option<&AbsPath>) -> Vec<AbsPath> {
    let below = home.iter().flat_map(|home| CACHES.iter().map(|name| home.join(name)));
    let named = NAMED.iter().filter_map(|name| AbsPath::new(&std::env::var(name).ok()?).ok());
    let within = |path: &AbsPath, of: &BTreeSet<AbsPath>| {
        of.iter().any(|one| path.strip_prefix(one).is_some())
    };
    let all: BTreeSet<_> =
        below.chain(named).filter_map(|path| canonicalize_existing(&path)).collect();
    let open =
        |path: &AbsPath| !within(path, &profile.writable) && !within(path, &profile.unreadable);
    let holds = |path: &AbsPath| {
        all.iter().any(|other| other != path && path.strip_prefix(other).is_some())
    };
    all.iter().filter(|path| open(path) && !holds(path)).cloned().collect()
}
