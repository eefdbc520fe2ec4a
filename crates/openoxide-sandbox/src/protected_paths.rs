//! The protected paths as found on the disk: the directories that are pinned, the paths that are
//! covered, and the placeholders for missing paths.
//!
//! `init` creates mounts from the result, `post_run` and `staging` compare files with it, and
//! `supervisor` keeps the placeholders while a program runs.

mod account;
mod directory_listing;
mod directory_scan;
mod directory_snapshot;
mod directory_walk;
mod displayed_paths;
pub(crate) mod git_config;
mod guarded_paths;
mod hard_links;
mod incremental_walk;
mod linked_files;
mod mount_aliases;
#[cfg(target_os = "linux")]
mod mount_plan;
mod named_programs;
mod path_finder;
mod path_search;
#[cfg(target_os = "linux")]
mod placeholder_registry;
#[cfg(target_os = "linux")]
mod private_hooks;
mod program_sources;
mod quarantine_suffix;
mod regular_file;
mod repository;
mod run_when_present;
mod snapshot_cache;
mod steering_files;
mod temporary_permissions;
#[cfg(test)]
mod tests;
mod user_settings;
mod writable_roots;

pub(crate) use directory_scan::{FileStamp, ScanResult, is_git_name, read_stamp};
pub(crate) use directory_walk::DirectoryWalk;
pub(crate) use displayed_paths::{to_display_path, unsearched_finding};
pub(crate) use git_config::{
    GitSetting,
    config_changes::{are_harmless_additions, find_risky_changes},
    config_merge::merge_changes,
    private_config::{PrivateConfig, read_config_text},
};
pub(crate) use guarded_paths::{GuardKind, PlaceholderKind, ProtectedPaths};
pub(crate) use hard_links::with_aliases;
pub(crate) use incremental_walk::IncrementalWalk;
pub(crate) use linked_files::LinkedFileSearch;
#[cfg(target_os = "linux")]
pub(crate) use mount_plan::MountPlan;
pub use path_finder::PathFinder;
#[cfg(target_os = "linux")]
pub(crate) use placeholder_registry::{
    PlaceholderRegistry, create_placeholder, is_placeholder_stat, lock_directory,
};
#[cfg(target_os = "linux")]
pub(crate) use private_hooks::{HookEntry, HookTree, MAX_HOOK_BYTES, PrivateHooks};
pub(crate) use program_sources::ProgramSource;
pub(crate) use quarantine_suffix::QUARANTINE_SUFFIX;
pub(crate) use regular_file::open_regular;
pub(crate) use repository::{
    common_directory, find_external_hooks, is_object_directory, read_common_directory,
    read_gitdir_link,
};
pub(crate) use run_when_present::is_run_when_present;
pub(crate) use snapshot_cache::SnapshotCache;
pub(crate) use temporary_permissions::{TemporaryPermissions, with_access};
pub(crate) use writable_roots::outermost_roots;
