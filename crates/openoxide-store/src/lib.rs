//! Files on disk: policy files and the compiled policy, the audit journal, and pending requests.
//!
//! This crate reads and writes files; it makes no decisions. It reports everything that it cannot
//! read. In that case nothing is allowed that the unread rules might have restricted.
#![forbid(unsafe_code)]

mod account;
pub mod audit;
mod client_process;
mod deferred_policy;
mod directory_identity;
mod file_access;
mod file_lock;
mod grant_file;
mod grant_key;
mod hook_trust;
mod line_numbers;
mod loaded_policy;
mod policy_cache;
pub mod policy_edit;
mod policy_file;
mod policy_format;
mod policy_load;
mod policy_signature;
mod policy_sources;
mod policy_watch;
mod recent_calls;
mod request_store;
mod resolved_directory;
mod rule_append;
mod run_ticket;
mod session_calls;
mod trust_store;
mod user_environment;
mod worktree;

pub use client_process::ClientProcess;
pub use directory_identity::directory_identity;
pub use file_access::{FileReadError, read_regular_file, read_text};
pub use file_lock::{FileLock, FileLockError};
pub use grant_file::{GRANT_FILE_ENDING, GrantEntry, GrantFile, GrantFileError, GrantLimits};
pub use grant_key::GrantKeyError;
pub use loaded_policy::{BrokenFile, LoadedPolicy, UntrustedProject};
pub use policy_file::{
    ByteSize, ManagedSettings, MissingSandboxAction, NetworkSetting, PolicyFile, PolicyProblem,
    PolicyTestCase, PublishSetting, SandboxLimits, SandboxRequirement, SandboxSettings,
    parse_policy as read_policy, read_cases,
};
pub use policy_format::{PolicyFormat, PolicyReader};
pub use policy_load::{load_policy, load_policy_uncached};
pub use policy_sources::{PolicySource, SourceUse, find_policy_sources, find_project_root};
pub use policy_watch::WatchedPolicy;
pub use recent_calls::RecentCallsFile;
pub use request_store::{
    AnswerResult, Descent, IdLookup, NewRequest, PendingRequest, ProcessIdentity,
    RequestResolution, RequestResolutionKind, RequestStore, RequestStoreError, SqliteRequestStore,
};
pub use resolved_directory::{DirectoryState, ResolvedDirectory};
pub use rule_append::append_line_once;
pub use run_ticket::{KnownDirectory, RunTicket, RunTicketError};
pub use session_calls::{AnnouncedCall, ApprovedCall, SessionCalls, SessionCallsError};
pub use trust_store::{TrustRecord, TrustStore};
pub use user_environment::UserEnvironment;
pub use worktree::{find_linked_repository, find_main_checkout};
