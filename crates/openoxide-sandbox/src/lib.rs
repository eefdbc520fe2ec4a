//! Sandboxes for approved processes, enforced by the kernel.
//!
//! The permission gate decides, and this crate enforces. Its input is a [`LaunchConfig`]: a
//! program, and the profile ([`openoxide_protocol::SandboxRestrictions`]) that the operating system
//! must enforce. Its output is a [`SandboxReport`]: the outcome, and what was really enforced,
//! clause by clause. It never enforces less than the profile demands: if it cannot enforce all of
//! it, it refuses.

mod account;
mod backend;
mod backend_selection;
#[cfg(target_os = "linux")]
mod bwrap_init;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod cleanup_process;
#[cfg(target_os = "linux")]
mod denial;
mod enforcement_plan;
mod error;
#[cfg(target_os = "linux")]
mod file_requests;
mod git_config;
mod host_features;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod landlock;
mod launch_config;
#[cfg(target_os = "linux")]
mod message_socket;
#[cfg(target_os = "linux")]
pub mod network;
#[cfg(target_os = "linux")]
mod output_tail;
#[cfg(target_os = "linux")]
mod placeholder_registry;
#[cfg(target_os = "linux")]
mod post_run;
#[cfg(target_os = "linux")]
mod progress;
mod protected_paths;
#[cfg(target_os = "linux")]
mod quarantine;
#[cfg(target_os = "linux")]
mod resource_shares;
mod run_report;
#[cfg(target_os = "linux")]
mod runtime_reviews;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod seccomp_notify;
#[cfg(target_os = "linux")]
mod staging;
#[cfg(target_os = "linux")]
mod steering_scan;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod supervisor_ipc;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "system calls that no safe wrapper has; nothing else is unsafe")]
mod sys;
#[cfg(target_os = "linux")]
mod terminal;

/// The suffix of the names of quarantined files.
pub(crate) const QUARANTINE_SUFFIX: &str = ".held-by-openoxide";

pub use backend::seatbelt;
pub use backend_selection::{NoBackendError, choose_backend};
pub use enforcement_plan::{Backend, Clause, Enforcement, EnforcementPlan};
pub use error::SandboxError;
#[cfg(target_os = "linux")]
pub use file_requests::{FileOperation, RequestedChange};
pub use host_features::{
    BubblewrapVersion, FeatureSupport, HostFeatures, LandlockVersion, MissingFeature,
};
#[cfg(target_os = "linux")]
pub use init::is_temporary;
pub use launch_config::{LaunchConfig, ResourceLimits};
#[cfg(target_os = "linux")]
pub use network::NetworkReviewer;
#[cfg(target_os = "linux")]
pub use placeholder_registry::{PlaceholderLease, PlaceholderRegistry};
#[cfg(target_os = "linux")]
pub use post_run::quarantine_new_files;
pub use protected_paths::{GuardKind, PlaceholderKind, ProtectedPaths};
#[cfg(target_os = "linux")]
pub use quarantine::restore;
pub use run_report::{CommandOutcome, FailureCause, PostRunFinding, SandboxDenial, SandboxReport};
#[cfg(target_os = "linux")]
pub use runtime_reviews::{RuntimeDecision, RuntimeRequest};
#[cfg(target_os = "linux")]
pub use staging::{
    CommitResult, EntryKind, EntryState, SkippedChange, StagedChange, StagedChanges, StagingArea,
};
#[cfg(target_os = "linux")]
pub use steering_scan::find_hard_links;
#[cfg(target_os = "linux")]
pub use supervisor::{supervise, supervise_with_backend};
#[cfg(target_os = "linux")]
pub use supervisor_ipc::{RuntimeReviewer, run_confined, supervisor_main};
#[cfg(target_os = "linux")]
pub use sys::raise_stack_limit;
#[cfg(target_os = "linux")]
pub use terminal::has_terminal;
