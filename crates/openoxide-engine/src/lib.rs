//! The engine: from a tool call to the facts about it, through hooks, policy and gate, to a decision and a run.
//!
//! This crate wires what the crates below it decide and know. It draws nothing, parses no arguments and prints nothing.
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

mod address;
mod approvable;
mod brought;
mod context;
mod databases;
mod digest;
mod dispatcher;
mod environment;
mod escalation;
mod facts;
mod git_credentials;
mod hooks;
mod ids;
mod moved;
mod name_pattern;
mod not_permitted;
mod orchestrator;
mod patches;
mod patterns;
mod present;
mod printed;
mod project_hosts;
mod remedy;
mod repository;
mod resolve;
mod sandbox_opt_out;
mod script_edits;
mod searches;
mod seen;
mod settings;
mod steps;
mod user_git_config;
mod version_control;

pub use approvable::{Approvable, Tool};
pub use context::ToolContext;
pub use digest::{digest, digest_of_call};
pub use dispatcher::{Asked, Dispatcher, GateHandle, Gone};
pub use environment::{for_confined, named, steers, without_steering};
pub use escalation::{
    Attempted, MOST_RETRIES, Next, Remedied, WITHOUT_SANDBOX, asks_without_sandbox,
};
pub use facts::{Place, facts, facts_of, facts_of_question};
pub use hooks::{HookCall, ask_hooks};
pub use ids::{new_approval_id, new_session_id};
pub use not_permitted::{
    CancelledError, CorrectedError, DeniedError, NotPermitted, RejectedError, UnanswerableError,
};
pub use orchestrator::{
    Attempt, Holding, Orchestrated, Orchestrator, Preference, Sandboxable, ToolRuntime, with_path,
};
pub use present::{present, title, title_of};
pub use remedy::{Remedy, Surroundings};
pub use sandbox_opt_out::{RUN_WITHOUT_SANDBOX, sandbox_opt_out};
pub use seen::{Seen, seen};
