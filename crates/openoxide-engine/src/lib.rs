//! The engine: from a tool call to the facts about it, through hooks, policy and gate, to a decision and a run.
//!
//! This crate wires what the crates below it decide and know. It draws nothing, parses no arguments and prints nothing.
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

mod address;
mod agent_check;
mod approvable;
mod audit_log;
mod brought;
mod call;
mod check;
mod check_host;
mod command_input;
mod context;
mod databases;
mod digest;
mod directory_changes;
mod dispatcher;
mod engine;
mod entered;
mod environment;
mod error;
mod escalation;
mod facts;
mod git_credentials;
mod history;
mod hook_runner;
mod hooks;
mod ids;
mod limited_grants;
mod locale;
mod moved;
mod name_pattern;
mod not_permitted;
mod patches;
mod patterns;
mod policy_watcher;
mod present;
mod printed;
mod private_temp;
mod project_hosts;
mod remedy;
mod repetition;
mod replay;
mod repository;
mod resolve;
mod retry;
mod run;
mod sandbox_opt_out;
mod sandbox_places;
mod sandbox_profile;
mod script_edits;
mod searches;
mod seen;
mod settings;
mod shell_job;
mod steps;
mod tracked_secrets;
mod user_git_config;
mod version_control;
mod warning;

pub use agent_check::{AgentCall, AgentDecision};
pub use approvable::{Approvable, Tool};
pub use audit_log::{
    AuditLog, ConfinementRecord, RecordOrigin, ReviewEnd, ReviewResult, audit_violation,
};
pub use call::Call;
pub use check::{
    CheckOptions, CheckOutcome, ExecutionPermit, GateVerdict, PendingApproval, PreparedCall,
};
pub use check_host::{CheckHost, InterruptWatch};
pub use context::ToolContext;
pub use digest::{digest, digest_of_call};
pub use dispatcher::{Asked, Dispatcher, GateHandle, Gone};
pub use engine::{
    Engine, EngineOptions, Evaluation, TaskSource, absolute_directory, project_roots,
};
pub use entered::has_own_settings;
pub use environment::{for_confined, named, steers, without_steering};
pub use error::{InterruptedError, OpenError, ProfileError, RegistryError};
pub use escalation::{
    Attempted, MOST_RETRIES, Next, Remedied, WITHOUT_SANDBOX, asks_without_sandbox, with_path,
};
pub use facts::{Place, facts, facts_of, facts_of_question};
pub use history::History;
pub use hooks::{HookCall, ask_hooks};
pub use ids::{new_approval_id, new_session_id};
pub use limited_grants::GrantUse;
pub use not_permitted::{
    CancelledError, CorrectedError, DeniedError, NotPermitted, RejectedError, UnanswerableError,
};
pub use policy_watcher::WatchedEngine;
pub use present::{present, title, title_of};
pub use private_temp::{lost_temporary, visible_temporary};
pub use remedy::{Remedy, Surroundings};
use repetition::note_repetition;
pub use replay::{CallRecord, RecordedCall, RecordedHistory, read_history};
pub use run::{PlannedRun, RunError, RunHost, RunOptions, RunReport};
pub use sandbox_opt_out::{RUN_WITHOUT_SANDBOX, sandbox_opt_out};
pub use sandbox_places::{caches, registry};
pub use sandbox_profile::{SandboxRestriction, existing_path, real_path};
pub use seen::{Seen, seen};
pub use shell_job::task_of_shell_job;
pub use warning::Warning;
