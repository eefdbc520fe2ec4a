//! What lies on disk: policy files, the compiled policy beside them, the audit journal, and requests
//! that wait for an answer.
//!
//! This crate reads and writes; it never decides. Whatever it cannot read, it says so, and then nothing is allowed that the
//! unread lines might have held back.
#![forbid(unsafe_code)]

mod account;
mod append;
pub mod audit;
mod cache;
pub mod edit;
mod file;
mod format;
mod grants;
mod hook_trust;
mod key;
mod line_numbers;
mod load;
mod locations;
mod lock;
mod policy_file;
mod repeats;
mod requests;
mod signature;
mod trust;
mod watch;
mod worktree;

pub use append::append_once;
pub use file::{ReadError, read_regular};
pub use format::{Format, Reader};
pub use grants::{Bound, Entry, GrantError, GrantFile};
pub use key::KeyError;
pub use load::{Additional, Bounded, Broken, DirectoryState, Loaded, Untrusted, load, load_fresh};
pub use locations::{Environment, Source, SourceUse, project_root, sources};
pub use lock::{Lock, LockError};
pub use policy_file::{
    Case, Managed, NetworkSetting, PolicyFile, Problem, Require, Required, SandboxLimits,
    SandboxSettings, read as read_policy, read_cases,
};
pub use repeats::RepeatFile;
pub use requests::{
    Answering, Asking, Ended, Ending, Named, Process, RequestError, Requests, SqliteRequests,
    Waiting,
};
pub use trust::{Trust, Vouched};
pub use watch::PolicyWatch;
pub use worktree::main_checkout;
