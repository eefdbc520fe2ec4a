//! The nouns that every part of OpenOxide shares.
//!
//! This crate holds values and their JSON shapes, and nothing else: it reads no file, no clock and no
//! environment, and it imports no other crate of the project.
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
pub mod address;
mod approval;
mod choice;
mod decision;
pub mod escape;
mod event;
mod finding;
mod hook;
mod id;
mod mode;
mod operation;
mod path;
mod profile;
pub mod steering_files;
mod words;

pub use access::{Access, CommandClass, Database, Exec, PathAccess, Search, Touch, VersionControl};
pub use approval::{
    ApprovalRequest, ApprovalResponse, GrantScope, Presentation, PresentationKind, Resolution,
    ResolutionKind, ReviewDecision,
};
pub use choice::{Choice, GrantTerms, Recalled, Width};
pub use decision::{Decision, Effect, Lost, Obligation, Part, RuleRef};
pub use event::Event;
pub use finding::{Finding, FindingKind, Span};
pub use hook::{HookAnswer, HookSaid};
pub use id::{ApprovalId, CallId, SessionId};
pub use mode::PermissionMode;
pub use operation::{Action, Digest, Facts, Operation, Principal};
pub use path::{AbsPath, PathError};
pub use profile::{Confined, HostPort, HostPortError, Network, SandboxProfile, Temp};
pub use words::{Word, Words};

/// The version of every JSON shape that leaves the program.
pub const SCHEMA: u32 = 1;
