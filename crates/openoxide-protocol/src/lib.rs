//! The data types that all parts of OpenOxide share.
//!
//! This crate only contains values and their JSON formats. It does not access files, the clock or
//! the environment, and it does not depend on another crate of the project.
//!
//! ```
//! use openoxide_protocol::{AbsPath, Effect};
//!
//! let cwd = AbsPath::new("/work/project")?;
//! assert_eq!(cwd.join("../notes.txt").as_str(), "/work/notes.txt");
//! assert_eq!(Effect::Allow.max(Effect::Deny), Effect::Deny); // the strictest wins
//! # Ok::<(), openoxide_protocol::PathError>(())
//! ```
#![forbid(unsafe_code)]

mod access;
mod access_route;
pub mod address;
mod approval;
mod cause;
mod command_words;
mod decision;
pub mod escape;
mod finding;
pub mod git_settings;
mod hook_decision;
mod id;
mod operation;
mod path;
mod permission_mode;
mod profile;
pub mod registries;
mod rule_choice;
mod sandbox_auto_allow;
mod session_event;
mod socket;
mod ssh_host_pattern;
pub mod steering_files;
pub mod toolchains;

pub use access::{
    Access, CommandClass, ExecAccess, FileSearch, PathAccess, SqliteDatabase, VersionControl,
};
pub use access_route::AccessRoute;
pub use approval::{
    ApprovalRequest, ApprovalResponse, GrantScope, PresentationKind, RequestPresentation,
    Resolution, ResolutionKind, ReviewDecision,
};
pub use cause::{Cause, CauseCode, CommandCause};
pub use command_words::{CommandWord, CommandWords};
pub use decision::{AccessDecision, Decision, Effect, Obligation, OverriddenRule, RuleRef};
pub use finding::{Finding, FindingKind, Span};
pub use hook_decision::{HookAnswer, HookDecision};
pub use id::{ApprovalId, CallId, SessionId};
pub use operation::{Action, Operation, OperationDigest, OperationFacts, Principal};
pub use path::{AbsPath, PathError};
pub use permission_mode::PermissionMode;
pub use profile::{
    HostPort, HostPortError, NetworkAccess, PublishedPort, PublishedPortError, SandboxProfile,
    SandboxRestrictions, TempDirectories,
};
pub use rule_choice::{ChoiceHistory, GrantTerms, RuleBreadth, RuleChoice};
pub use sandbox_auto_allow::SandboxAutoAllow;
pub use session_event::SessionEvent;
pub use socket::{SocketAccess, SocketService};
pub use ssh_host_pattern::matches_host_pattern;

/// The version of every JSON format that the program writes.
pub const SCHEMA: u32 = 1;
