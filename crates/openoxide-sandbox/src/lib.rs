//! What the kernel holds: processes that were allowed, confined to what was allowed.
//!
//! The gate decides, this crate holds. Its input is a [`Launch`]: a program, and the profile
//! ([`openoxide_protocol::Confined`]) that the operating system is to enforce. Its output is a [`Report`]: how it went,
//! and what was really enforced, clause by clause. It never holds less than the profile says: where it cannot, it refuses.

mod account;
mod backend;
#[cfg(target_os = "linux")]
mod beside;
#[cfg(target_os = "linux")]
mod called;
mod choose;
#[cfg(target_os = "linux")]
mod control_group;
#[cfg(target_os = "linux")]
mod denial;
mod error;
#[cfg(target_os = "linux")]
mod found;
mod git_config;
#[cfg(target_os = "linux")]
mod inside;
#[cfg(target_os = "linux")]
mod janitor;
#[cfg(target_os = "linux")]
mod landlock;
mod launch;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
pub mod network;
#[cfg(target_os = "linux")]
mod notify;
mod plan;
#[cfg(target_os = "linux")]
mod progress;
mod protect;
#[cfg(target_os = "linux")]
mod quarantine;
#[cfg(target_os = "linux")]
mod questions;
#[cfg(target_os = "linux")]
mod registry;
mod report;
#[cfg(target_os = "linux")]
mod scan;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod shares;
#[cfg(target_os = "linux")]
mod stage;
#[cfg(target_os = "linux")]
mod supervise;
mod support;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "system calls that no safe wrapper has; nothing else is unsafe")]
mod sys;
#[cfg(target_os = "linux")]
mod tail;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod wire;

/// How a name ends that was put aside.
pub(crate) const SUFFIX: &str = ".held-by-openoxide";

pub use backend::seatbelt;
#[cfg(target_os = "linux")]
pub use called::{Ask, run_confined, supervise_as_called};
pub use choose::{Refusal, choose};
pub use error::SandboxError;
#[cfg(target_os = "linux")]
pub use found::found_and_put_aside;
#[cfg(target_os = "linux")]
pub use inside::is_temporary;
pub use launch::{Launch, Limits};
#[cfg(target_os = "linux")]
pub use live::{Deed, LiveChange};
#[cfg(target_os = "linux")]
pub use network::NetworkReviewer;
pub use plan::{Backend, Clause, Held, Plan};
pub use protect::{Guard, Guarded, Placeholder};
#[cfg(target_os = "linux")]
pub use quarantine::restore;
#[cfg(target_os = "linux")]
pub use questions::{LiveAnswer, LiveQuestion};
#[cfg(target_os = "linux")]
pub use registry::{Placeholders, Registry};
pub use report::{Denial, End, Found, Graded, Report};
#[cfg(target_os = "linux")]
pub use scan::hard_links;
#[cfg(target_os = "linux")]
pub use stage::{Change, Changes, Committed, Kind, LeftOut, Stage, Thing};
#[cfg(target_os = "linux")]
pub use supervise::{supervise, supervise_by};
pub use support::{Able, Lack, Landlock, Support, Version};
#[cfg(target_os = "linux")]
pub use sys::raise_stack_limit;
#[cfg(target_os = "linux")]
pub use terminal::at_terminal;
