//! The scan of the files after a run. Files that the host would run or obey are quarantined and
//! reported.
//!
//! `supervisor` uses this module after every run, and `staging` after a commit.

mod config_update;
mod hook_update;
mod new_files;
mod quarantine;
mod steering_scan;

pub use config_update::restore_git_settings;
pub(crate) use config_update::{
    apply_private_configs, apply_settings, changed_configs, restore_settings,
};
pub(crate) use hook_update::{changed_hooks, hold_hook, hold_private_hooks};
pub(crate) use new_files::{limit_findings, quarantine_new_files, repository_hook_finding};
pub(crate) use quarantine::quarantine_path;
pub use quarantine::restore_quarantined_file;
pub(crate) use steering_scan::{find_hard_links, find_new_repository_hooks, is_unsafe_git_entry};
