//! What is allowed, asked about or denied: rules, layers and the gate.
//!
//! This crate decides and does nothing else: it reads no file, clock or environment, it knows no shell, and the same
//! question always gets the same answer.
//!
//! ```
//! use openoxide_permission::{Anchors, Combining, Context, Layer, LayerKind, PolicyStack, default_layer, evaluate, parse};
//! use openoxide_protocol::{AbsPath, Access, Effect, Exec, Facts, PermissionMode};
//!
//! let root = AbsPath::new("/work/project")?;
//! let rule = parse("Bash(git push *)", Effect::Deny, Anchors { home: None, base: &root })?;
//! let user = Layer {
//!     kind: LayerKind::User,
//!     file: None,
//!     combining: Combining::Strictest,
//!     rules: vec![rule],
//!     mode: None,
//! };
//! let policy = PolicyStack::compile(&[user, default_layer()])?;
//! let push = Access::Exec(Exec {
//!     argv: ["git", "push", "--force"].into_iter().collect(),
//!     text: "git push --force".to_owned(),
//!     class: Default::default(),
//!     span: Default::default(),
//!     arity: 2,
//!     ..Exec::default()
//! });
//! let context = Context { mode: PermissionMode::Default, cwd: &root, roots: std::slice::from_ref(&root), doubt: None };
//! let decision = evaluate(&policy, &context, &Facts { accesses: vec![push], findings: vec![] });
//! assert_eq!(decision.effect, Effect::Deny);
//! assert_eq!(decision.rule.unwrap().text, "deny Bash(git push *)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod alternatives;
mod always;
mod combine;
mod confine;
mod cover;
mod default_layer;
mod details;
mod directory;
mod evaluate;
mod example;
mod explain;
mod gate;
pub mod glob;
mod grant;
mod hidden;
mod home_directories;
mod hook;
mod index;
mod layer;
pub mod lint;
mod mode;
mod outcome;
pub mod pattern;
mod possible;
mod reason;
mod repeats;
mod rule;
pub mod safety_floor;
mod secret_files;
mod spell;
mod stack;
mod subject;
mod syntax;

pub use always::exactly;
pub use combine::Combining;
pub use confine::{GIT_STEERING, Ground, IN_ROOTS, confine};
pub use cover::covers;
pub use default_layer::{default_layer, default_rule_texts};
pub use details::ReadDetails;
pub use directory::{Directory, directory, place, refused};
pub use evaluate::{Context, decide, effect, evaluate};
pub use example::try_example;
pub use explain::explain;
pub use gate::{
    Covers, GroupAnswer, NotPending, PermissionGate, Permit, Question, Refusal, Settled, Step,
};
pub use grant::{Grants, remembered};
pub use hidden::{Hidden, hidden};
pub use home_directories::HomeDirectories;
pub use hook::{Hook, HookCommand, HookEvent, Matcher, after_hooks};
pub use index::MAX_LAYERS;
pub use layer::{Layer, LayerKind, Ruling};
pub use mode::inherited;
pub use outcome::{Outcome, Why};
pub use repeats::{DOOM_LOOP_THRESHOLD, Repeats};
pub use rule::{Anchors, Pattern, Rule, RuleError, Space};
pub use secret_files::{SecretPlace, hidden_secret_paths, own_secret_paths, secret_places};
pub use spell::{Spelled, spell};
pub use stack::{PolicyStack, TooMuch, Unusable};
pub use syntax::{parse, parse_long};
