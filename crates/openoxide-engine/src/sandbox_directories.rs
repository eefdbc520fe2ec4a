//! Directories that a confined run uses in addition to the project: the registry and the caches of
//! tools.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt as _, path::Path};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use openoxide_store::UserEnvironment;

use crate::{error::SandboxRegistryError, sandbox_profile::canonicalize_existing};

fn absolute(path: &Path) -> Option<AbsPath> {
    AbsPath::new(path.to_str()?).ok()
}

/// Returns the directory in which a run records the placeholder files that it creates on the host.
///
/// It is in the state directory of the user. If that cannot be used, it is in the directory for
/// temporary files. A directory that others can write to is rejected later (`Registry::open`).
///
/// # Errors
/// Returns an error if neither location can be determined.
pub fn registry_directory(environment: &UserEnvironment) -> Result<AbsPath, SandboxRegistryError> {
    let state = environment.state.as_ref().map(|state| state.join("openoxide"));
    // `Registry::open` creates the directory, for this user only.
    let usable = state.filter(|place| fs::create_dir_all(place).is_ok());
    let place = match usable {
        Some(place) => place.join("sandbox"),
        None => std::env::temp_dir().join(format!("openoxide-{}", owner()?)),
    };
    absolute(&place).ok_or_else(|| SandboxRegistryError::NotUtf8(place.display().to_string()))
}

fn owner() -> Result<u32, SandboxRegistryError> {
    Ok(fs::metadata("/proc/self").map_err(SandboxRegistryError::UnknownOwner)?.uid())
}

/// Caches and package stores of tools, relative to the home directory.
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
/// Environment variables that set the location of such a directory.
const NAMED: &[&str] = &[
    "XDG_CACHE_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOCACHE",
    "GOMODCACHE",
    "UV_CACHE_DIR",
    "PIP_CACHE_DIR",
];

/// Returns the caches of tools that exist. A confined program can read them. Its changes to them are
/// private to the run.
#[must_use]
pub fn cache_directories(profile: &SandboxRestrictions, home: Option<&AbsPath>) -> Vec<AbsPath> {
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
