//! Access decisions for AI agents: rules, layers and the gate.
//!
//! This crate only decides. It does not read files, the clock or the environment, it does not parse
//! shell syntax, and the same input always gives the same result.
//!
//! ```
//! use openoxide_permission::{PathAnchors, CombiningAlgorithm, EvaluationContext, Layer, LayerKind, PolicyStack, default_layer, evaluate, parse_rule};
//! use openoxide_protocol::{AbsPath, Access, Effect, ExecAccess, OperationFacts, PermissionMode};
//!
//! let root = AbsPath::new("/work/project")?;
//! let rule = parse_rule("Bash(git push *)", Effect::Deny, PathAnchors { home: None, base: &root })?;
//! let user = Layer {
//!     kind: LayerKind::User,
//!     file: None,
//!     combining_algorithm: CombiningAlgorithm::Strictest,
//!     rules: vec![rule],
//!     mode: None,
//! };
//! let policy = PolicyStack::compile(&[user, default_layer()])?;
//! let push = Access::Exec(ExecAccess {
//!     argv: ["git", "push", "--force"].into_iter().collect(),
//!     text: "git push --force".to_owned(),
//!     class: Default::default(),
//!     span: Default::default(),
//!     arity: 2,
//!     ..ExecAccess::default()
//! });
//! let context = EvaluationContext { mode: PermissionMode::Default, cwd: &root, roots: std::slice::from_ref(&root), policy_error: None, auto_allow: Default::default() };
//! let decision = evaluate(&policy, &context, &OperationFacts { accesses: vec![push], findings: vec![] });
//! assert_eq!(decision.effect, Effect::Deny);
//! assert_eq!(decision.rule.unwrap().text, "deny Bash(git push *)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod access_outcome;
mod additional_directory;
mod cause_text;
mod combining_algorithm;
mod default_layer;
mod evaluation;
mod explanation;
mod gate;
pub mod glob;
mod hidden_tools;
mod home_directories;
mod hook;
mod layer;
pub mod lint;
mod match_subject;
mod partial_match;
pub mod pattern;
mod policy_details;
mod policy_stack;
mod profile_derivation;
mod reason_text;
mod recent_calls;
mod rule;
mod rule_alternatives;
mod rule_example;
mod rule_index;
mod rule_syntax;
mod rule_text;
pub mod safety_floor;
mod secret_files;
mod session_grants;
mod subagent_mode;
mod subsumption;
mod suggested_rules;
mod system_directories;

pub use access_outcome::{AccessOutcome, ReasonCode};
pub use additional_directory::{
    AdditionalDirectory, PolicyPathError, forbidden_root_reason, parse_directory,
    parse_protected_path,
};
pub use combining_algorithm::CombiningAlgorithm;
pub use default_layer::{default_layer, default_rule_texts};
pub use evaluation::{EvaluationContext, decide_access, evaluate, evaluate_effect};
pub use explanation::explain;
pub use gate::{
    CheckRequest, GateOutcome, GrantCoverage, GroupAnswer, NotPendingError, OperationRefusal,
    PermissionGate, Permit, ResolvedRequest,
};
pub use hidden_tools::{HiddenReason, find_hidden_reason};
pub use home_directories::HomeDirectories;
pub use hook::{Hook, HookCommand, HookEvent, HookMatcher, HookMatcherError, evaluate_with_hooks};
pub use layer::{Layer, LayerKind, RuleMatch};
pub use policy_details::PolicyDetailsReader;
pub use policy_stack::{CompiledPolicyError, PolicyLimitError, PolicyStack};
pub use profile_derivation::{
    PROTECTED_ROOT_NAMES, ProfileInput, derive_profile, exactly_allowed_hosts,
};
pub use recent_calls::{DOOM_LOOP_THRESHOLD, RecentCalls};
pub use rule::{PathAnchors, Pattern, Rule, RuleError, SubjectKind};
pub use rule_example::matches_example;
pub use rule_index::MAX_LAYERS;
pub use rule_syntax::{parse_long_rule, parse_rule};
pub use rule_text::{RuleText, to_rule_text};
pub use secret_files::{SecretFile, all_secret_files, hidden_secret_paths, program_secret_paths};
pub use session_grants::{SessionGrants, granted_rules};
pub use subagent_mode::inherit_mode;
pub use subsumption::subsumes;
pub use suggested_rules::{exact_command_rule, prefix_rule};
pub use system_directories::system_directory_reason;
