//! The engine of OpenOxide: decides about the tool calls of AI agents, asks a reviewer where the
//! policy asks, records what was decided, and runs permitted commands in a sandbox.
//!
//! Every command of `openoxide` goes through this crate. It is also the interface for agents that
//! are written in Rust. It draws nothing, parses no arguments and prints nothing. An agent also
//! needs `openoxide-protocol`, which has the types of requests and answers.
//!
//! # An agent in ten lines
//!
//! [`AgentSession`] decides about the calls of a model:
//!
//! ```
//! use openoxide_engine::{AgentSession, EngineOptions, FunctionReviewer};
//! use openoxide_protocol::{ApprovalRequest, ApprovalResponse, Effect, GrantScope, Operation};
//! use serde_json::{Value, json};
//! # use openoxide_engine::UserEnvironment;
//! # use openoxide_protocol::AbsPath;
//! # type Failure = Box<dyn std::error::Error>;
//!
//! fn run_agent(options: EngineOptions, calls: &[(&str, Value)]) -> Result<Vec<String>, Failure> {
//!     let mut session = AgentSession::open(options)?;
//!     let mut reviewer = FunctionReviewer::new("my program", review);
//!     let mut results = Vec::new();
//!     for (tool, input) in calls {
//!         match session.request_permit(tool, input, &mut reviewer) {
//!             Ok(permit) => results.push(run_tool(&permit.into_operation())),
//!             Err(error) if error.ends_turn() => break, // Wait for the user.
//!             Err(error) => results.push(error.to_string()), // Tell the model.
//!         }
//!     }
//!     Ok(results)
//! }
//!
//! // The answers to what the policy asks. Here, they are given by a function of the program.
//! fn review(request: &ApprovalRequest) -> ApprovalResponse {
//!     match request.tool.as_str() {
//!         "send_message" => ApprovalResponse::new_approval(GrantScope::Once),
//!         _ => ApprovalResponse::Denied,
//!     }
//! }
//!
//! fn run_tool(operation: &Operation) -> String {
//!     format!("ran {} with {}", operation.tool, operation.input)
//! }
//!
//! # let directory = tempfile::tempdir()?;
//! # let below = |name: &str| Some(directory.path().join(name));
//! # let (config, state) = (below("config"), below("state"));
//! # let environment = UserEnvironment { config, state, ..UserEnvironment::default() };
//! # let mut options = EngineOptions::new(environment, AbsPath::new("/work/project")?);
//! options.extra_rules = vec![(Effect::Deny, "Bash(git push *)".to_owned())];
//! let results = run_agent(options, &[
//!     ("Bash", json!({ "command": "ls src" })),            // allowed: it only reads the project
//!     ("Bash", json!({ "command": "git push --force" })),  // denied by the rule
//!     ("send_message", json!({ "to": "ann" })),            // asked, and approved
//!     ("Bash", json!({ "command": "npm publish" })),       // asked, and rejected
//! ])?;
//! assert_eq!(results.len(), 3);
//! assert_eq!(results[0], r#"ran Bash with {"command":"ls src"}"#);
//! assert!(results[1].contains("a rule which prevents you"));
//! assert!(results[1].ends_with("`deny Bash(git push *)`"));
//! assert_eq!(results[2], r#"ran send_message with {"to":"ann"}"#);
//! # Ok::<(), Failure>(())
//! ```
//!
//! [`EngineOptions::from_process`] selects the policy of the user and of the working directory. The
//! example has a policy of its own.
//!
//! [`AgentSession::run_command`] decides about a shell command and runs it in the sandbox, in one
//! call.
//!
//! # The life of a call
//!
//! 1. The name and the input of the tool become an [`Action`](openoxide_protocol::Action), and the
//!    action becomes facts: the programs that would run, the files and hosts that they would access
//!    ([`EngineCall`]).
//! 2. The hooks of the policy run.
//! 3. Rules, saved grants, the mode and the safety floor decide: *allow*, *ask* or *deny*.
//! 4. If the decision is *ask*, the request is registered in the queue of the user, and the reviewer
//!    receives it. The first answer applies: of the reviewer, or of `openoxide approve` in another
//!    terminal. An approval from another process is checked against the policy again.
//! 5. The decision and the answer are written to the audit log. If the policy requires the record
//!    and it cannot be written, only an explicit approval permits the call.
//! 6. The caller gets an [`ExecutionPermit`] or a [`NotPermittedError`]. A permit is used once, for
//!    exactly the operation that was decided: by [`ExecutionPermit::into_operation`], or by
//!    [`ExecutionPermit::plan`], which derives the profile of the sandbox from the decision.
//!
//! Nothing else permits a call. An error, a timeout, an interrupt or a panic of a reviewer does not.
//!
//! # Reviewers
//!
//! | reviewer | who answers | example |
//! | --- | --- | --- |
//! | [`FunctionReviewer`] | a function of the program, at once | `agent.rs` |
//! | [`BlockingReviewer`] | a function that waits for a person: a prompt in the terminal (`openoxide-tui`), a page, a chat | `terminal_reviewer.rs` |
//! | [`QueueReviewer`] | a person in another terminal, with `openoxide approve` or `deny` | `queue_reviewer.rs` |
//! | [`ReviewerGroup`] | several reviewers at once; the first answer applies | `two_reviewers.rs` |
//! | your own [`Reviewer`] | anything that can be polled | `own_reviewer.rs` |
//!
//! The examples are in the directory `examples` of this crate. `agent.rs` is a complete agent with
//! three tools; run it with `cargo run -p openoxide-engine --example agent`.
//!
//! # Interfaces
//!
//! | interface | for |
//! | --- | --- |
//! | [`AgentSession`] | an agent: blocking, with hooks, grants, the queue and the audit log |
//! | [`ToolContext`], [`GatedTool`] | tools of an asynchronous program that declare what they need. A [`GateDispatcher`] decides, with the policy that it was given; nothing is recorded, and no other process can answer |
//! | [`Engine::evaluate`], [`Engine::explain`] | a program that shows decisions, and runs nothing |
//! | [`Engine::check`], [`PendingApproval::ask_reviewer`] | a program with a [`CheckHost`] of its own: the parts of [`AgentSession`] |
//! | [`Engine::decide_for_agent`] | the hook of an agent that executes its calls itself |
//! | [`RequestQueue`] | a program that shows and answers pending requests |
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

mod agent_approvals;
mod agent_check;
mod agent_question;
mod agent_session;
mod approvable_tool;
mod approval_history;
mod audit_log;
mod basic_host;
mod blocking_reviewer;
mod branch_switch;
mod build_outputs;
mod call_history;
mod captured_output;
mod changed_files;
mod check_host;
mod claude_allow_rules;
mod claude_rules;
mod claude_settings_files;
mod command_input;
mod copied_files;
mod created_files;
mod database_files;
mod digest;
mod directory_changes;
mod dispatcher;
mod ended_grants;
mod engine;
mod engine_call;
mod engine_warning;
mod entered_directories;
mod entered_places;
mod environment;
mod error;
mod escalation;
mod file_modes;
mod function_reviewer;
mod git_credentials;
mod git_grep_objects;
mod git_repository;
mod git_ssh;
mod grant_saving;
mod hard_links;
mod harmless_variables;
mod hook_runner;
mod hooks;
mod ids;
mod index_commands;
mod limited_grants;
mod link_commands;
mod locale;
mod name_pattern;
mod new_links;
mod not_permitted_error;
mod operation_check;
mod operation_facts;
mod outside_state;
mod own_directories;
mod patches;
mod path_resolution;
mod path_scan;
mod pathname_expansion;
mod pending_review;
mod piped_paths;
mod policy_watcher;
mod presentation;
mod printed_settings;
mod private_directories;
mod private_temp;
mod program_paths;
mod project_hosts;
mod project_settings;
mod queue_reviewer;
mod queued_request;
mod real_path;
mod recorded_question;
mod registry_retries;
mod remedy;
mod removal_command;
mod repetition;
mod request_queue;
mod restorable_files;
mod retry;
mod review_record;
mod reviewer;
mod reviewer_group;
mod rule_suggestions;
mod run;
mod run_host;
mod sandbox_description;
mod sandbox_directories;
mod sandbox_opt_out;
mod sandbox_profile;
mod script_edits;
mod search_expansion;
mod session_approvals;
mod session_command;
mod session_run_host;
mod settings_checks;
mod settings_files;
mod shadowing_programs;
mod shell_job;
mod socket_access;
mod sqlite_databases;
mod ssh_access;
mod ssh_config;
mod step_budget;
mod subversion;
mod supervisor_entry;
mod symlink_moves;
#[cfg(test)]
mod test_user;
mod ticketed_run;
mod tool_context;
mod tool_directories;
mod tool_rules;
mod tracked_secrets;
mod url_credentials;
mod url_host;
mod user_git_config;
mod version_control;
mod watched_reviewer;

pub use agent_approvals::{APPROVED_EARLIER, record_ended_call};
pub use agent_check::{AgentCall, AgentDecision};
pub use agent_question::find_announced_call;
pub use agent_session::AgentSession;
pub use approvable_tool::{Approvable, GatedTool};
pub use approval_history::ApprovalHistory;
pub use audit_log::{AuditLog, ConfinementRecord, RecordOrigin, audit_violation_reason};
pub use basic_host::BasicHost;
pub use blocking_reviewer::BlockingReviewer;
pub use call_history::{CallHistory, RecordedCall, RecordedDecision, read_history};
pub use captured_output::CapturedOutput;
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
pub use function_reviewer::FunctionReviewer;
pub use grant_saving::{GrantSaveError, SavedGrant};
pub use harmless_variables::withheld_variables;
pub use hooks::{HookCall, ask_hooks};
pub use ids::{new_approval_id, new_session_id};
pub use limited_grants::GrantUseMode;
pub use not_permitted_error::{
    CancelledError, CorrectedError, DeniedError, ExpiredError, NotPermittedError, RejectedError,
    ReviewFailedError, UnanswerableError,
};
pub use openoxide_store::{UserEnvironment, audit::AnswerChannel};
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
pub use private_directories::{private_directories, private_new_files, project_directory};
pub use private_temp::{discarded_temporary_paths, visible_temporary_paths};
pub use queue_reviewer::QueueReviewer;
pub use queued_request::{QueuedRequest, WaitOptions};
pub use recorded_question::{QuestionSelection, RecordedQuestion, RuleOffer};
pub use registry_retries::set_retry_variables;
pub use remedy::{ProfileContext, Remedy};
pub use request_queue::{
    AnswerError, AnswerProblem, AnswerReceipt, GrantOutcome, RequestAnswer, RequestQueue,
};
pub use review_record::{ReviewOutcome, ReviewRecord, WaitError};
pub use reviewer::{ReviewStatus, Reviewer};
pub use reviewer_group::ReviewerGroup;
pub use rule_suggestions::{RuleSuggestion, RuleSuggestions};
pub use run::{PlannedRun, PlannedRunError, RunReport};
pub use run_host::{RunHost, RunOptions};
pub use sandbox_description::{describe_denial, describe_finding};
pub use sandbox_directories::registry_directory;
pub use sandbox_opt_out::{RUN_WITHOUT_SANDBOX, sandbox_opt_out_access};
pub use sandbox_profile::{CallerRestriction, canonicalize_existing, canonicalize_or_keep};
pub use session_command::{CommandResult, CommandRunError};
pub use shell_job::shell_job_task;
pub use supervisor_entry::run_as_supervisor;
pub use tool_context::ToolContext;
pub use tool_rules::evaluate_tool_rules;
pub use url_host::connection_input;

/// The guide for users of this crate, whose examples are tests.
#[cfg(doctest)]
#[expect(rustdoc::invalid_codeblock_attributes, reason = "the tests of the guide read them")]
#[doc = include_str!("../../../docs/guide/src/rust.md")]
struct GuidePage;
