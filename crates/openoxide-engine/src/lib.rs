//! The engine: collects the facts about a tool call, runs hooks, evaluates the policy, and runs
//! permitted commands.
//!
//! This crate combines the crates below it. It draws nothing, parses no arguments and prints
//! nothing.
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

mod agent_check;
mod approvable_tool;
mod approval_history;
mod audit_log;
mod call_history;
mod check_host;
mod command_input;
mod copied_files;
mod digest;
mod directory_changes;
mod dispatcher;
mod engine;
mod engine_call;
mod engine_warning;
mod entered_directories;
mod environment;
mod error;
mod escalation;
mod git_credentials;
mod git_repository;
mod grant_saving;
mod hard_links;
mod hook_runner;
mod hooks;
mod ids;
mod limited_grants;
mod locale;
mod name_pattern;
mod not_permitted_error;
mod operation_check;
mod operation_facts;
mod own_directories;
mod patches;
mod path_resolution;
mod path_scan;
mod pathname_expansion;
mod piped_paths;
mod policy_watcher;
mod presentation;
mod private_temp;
mod program_paths;
mod project_hosts;
mod project_settings;
mod queued_request;
mod real_path;
mod remedy;
mod repetition;
mod request_queue;
mod retry;
mod review_record;
mod reviewer;
mod run;
mod run_host;
mod sandbox_directories;
mod sandbox_opt_out;
mod sandbox_profile;
mod script_edits;
mod search_expansion;
mod settings_checks;
mod settings_files;
mod shell_job;
mod sqlite_databases;
mod step_budget;
mod subversion;
mod symlink_moves;
#[cfg(test)]
mod test_user;
mod tool_context;
mod tool_rules;
mod tracked_secrets;
mod url_host;
mod user_git_config;
mod version_control;

pub use agent_check::{AgentCall, AgentDecision};
pub use approvable_tool::{Approvable, GatedTool};
pub use approval_history::ApprovalHistory;
pub use audit_log::{AuditLog, ConfinementRecord, RecordOrigin, audit_violation_reason};
pub use call_history::{CallHistory, RecordedCall, RecordedDecision, read_history};
pub use check_host::{CheckHost, InterruptWatch};
pub use digest::{digest_call, digest_operation};
pub use dispatcher::{GateDispatcher, GateHandle, GateReply, SessionClosedError};
pub use engine::{
    Engine, EngineOptions, Evaluation, TaskSource, absolute_directory, project_roots,
};
pub use engine_call::EngineCall;
pub use engine_warning::EngineWarning;
pub use entered_directories::has_own_settings;
pub use environment::{is_bash_injection_variable, sandbox_env, sanitized_env, select_env};
pub use error::{EngineOpenError, InterruptedError, ProfileError, SandboxRegistryError};
pub use escalation::{
    AttemptState, EscalationStep, MAX_RETRIES, RETRY_WITHOUT_SANDBOX_TITLE, RemedyKind,
    asks_about_unsandboxed_run, path_question_title,
};
pub use grant_saving::{GrantSaveError, SavedGrant};
pub use hooks::{HookCall, ask_hooks};
pub use ids::{new_approval_id, new_session_id};
pub use limited_grants::GrantUseMode;
pub use not_permitted_error::{
    CancelledError, CorrectedError, DeniedError, NotPermittedError, RejectedError,
    UnanswerableError,
};
pub use operation_check::{
    CheckOptions, CheckOutcome, ExecutionPermit, GateVerdict, PendingApproval, PreparedCall,
};
pub use operation_facts::{
    CallLocation, collect_action_facts, collect_operation_facts, collect_question_facts,
};
pub use own_directories::create_state_directory;
pub use path_scan::{RestrictedPaths, scan_restricted_paths};
pub use policy_watcher::WatchedEngine;
pub use presentation::{action_title, operation_title, present_operation};
pub use private_temp::{discarded_temporary_paths, visible_temporary_paths};
pub use queued_request::{QueuedRequest, WaitOptions};
pub use remedy::{ProfileContext, Remedy};
pub use request_queue::{
    AnswerError, AnswerProblem, AnswerReceipt, GrantOutcome, RequestAnswer, RequestQueue,
};
pub use review_record::{ReviewOutcome, ReviewRecord, WaitError};
pub use reviewer::{ReviewStatus, Reviewer};
pub use run::{PlannedRun, PlannedRunError, RunReport};
pub use run_host::{RunHost, RunOptions};
pub use sandbox_directories::{cache_directories, registry_directory};
pub use sandbox_opt_out::{RUN_WITHOUT_SANDBOX, sandbox_opt_out_access};
pub use sandbox_profile::{CallerRestriction, canonicalize_existing, canonicalize_or_keep};
pub use shell_job::shell_job_task;
pub use tool_context::ToolContext;
pub use tool_rules::evaluate_tool_rules;
