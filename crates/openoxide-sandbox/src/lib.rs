//! Sandboxes for approved processes, enforced by the kernel.
//!
//! The permission gate decides, and this crate enforces. Its input is a [`LaunchConfig`]: a
//! program, and the profile ([`openoxide_protocol::SandboxRestrictions`]) that the operating system
//! must enforce. Its output is a [`SandboxReport`]: the outcome, and what was really enforced,
//! clause by clause. It never enforces less than the profile demands: if it cannot enforce all of
//! it, it refuses.
//!
//! This file is the whole interface of the crate. The modules form layers, and each one uses only
//! modules above it in this table:
//!
//! | module | contains |
//! | --- | --- |
//! | `sys` | the system calls that no safe wrapper has: the only unsafe code |
//! | `seccomp` | the filter of system calls, and the calls that it hands to the supervisor |
//! | `backend` | the ways to confine, and what each enforces on this machine |
//! | `interface` | the types that callers exchange with this crate |
//! | `ipc` | the channels between the processes of a run |
//! | `resource_limits` | control groups, and the share of each run in limits of the user |
//! | `runtime_reviews` | the questions to a person while a program waits |
//! | `network` | the separate network of a confined process |
//! | `file_requests` | changes of files that a person is asked about (`--live`) |
//! | `ssh_agent` | the filter in front of the user's SSH agent |
//! | `host_sockets` | connections to services outside of the sandbox that rules or people permit |
//! | `protected_paths` | the search for protected paths, and placeholders for missing ones |
//! | `post_run` | the quarantine of new files that the host would run |
//! | `staging` | changes that a person decides about after the run |
//! | `private_layers` | changes of caches that later runs in the same project see |
//! | `init` | the first process inside |
//! | `supervisor` | the process outside, which uses all of the above |

mod backend;
#[cfg(target_os = "linux")]
mod file_requests;
#[cfg(target_os = "linux")]
mod host_sockets;
#[cfg(target_os = "linux")]
mod init;
mod interface;
#[cfg(target_os = "linux")]
mod ipc;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod post_run;
#[cfg(target_os = "linux")]
mod private_layers;
mod protected_paths;
#[cfg(target_os = "linux")]
mod resource_limits;
#[cfg(target_os = "linux")]
mod runtime_reviews;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod ssh_agent;
#[cfg(target_os = "linux")]
mod staging;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "system calls that no safe wrapper has; nothing else is unsafe")]
mod sys;

pub use backend::{
    BubblewrapVersion, Enforcement, EnforcementPlan, FeatureSupport, HostFeatures, LandlockVersion,
    MissingFeature, NoBackendError, ProfileClause, SandboxBackend, choose_backend, is_in_sandbox,
    seatbelt,
};
#[cfg(target_os = "linux")]
pub use init::is_temporary;
pub use interface::{
    CommandOutcome, FailureCause, FileOperation, HostAgent, LaunchConfig, PostRunFinding,
    PrivateDirectory, ReachedLimit, RefusedAddress, RefusedOperation, RequestedChange,
    ResourceLimits, RuntimeDecision, RuntimeRequest, SandboxDenial, SandboxError, SandboxReport,
};
#[cfg(target_os = "linux")]
pub use post_run::{restore_git_settings, restore_quarantined_file};
#[cfg(target_os = "linux")]
pub use private_layers::{ProjectLayers, list_project_layers, project_layer_directory};
pub use protected_paths::PathFinder;
#[cfg(target_os = "linux")]
pub use staging::{
    ChangeContents, Checkpoint, CheckpointSummary, CheckpointedCommit, CommitResult, EntryKind,
    EntryState, NewCheckpoint, SkippedChange, StagedChange, StagedChanges, StagingArea,
    WaitingStage, drop_waiting_stage, list_checkpoints, list_waiting_stages, new_stage_id,
    recover_checkpoints, remove_excess_checkpoints, remove_excess_stages,
};
#[cfg(target_os = "linux")]
pub use supervisor::{
    ConfinedRun, RunCanceller, RuntimeReviewer, has_terminal, run_confined, supervise,
    supervise_with_backend, supervisor_main,
};
#[cfg(target_os = "linux")]
pub use sys::{handle_file_size_signal, open_socket_peer, raise_stack_limit};
