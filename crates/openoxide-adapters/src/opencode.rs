//! OpenCode's permissions, to the letter (measured on 1.18.33): configuration, rules, questions, answers.
//!
//! A configuration becomes a list of rules for each agent; every tool call becomes questions, a name with patterns; of all
//! rules that match a pattern the last decides.

mod agents;
mod arity;
mod bash;
mod config;
mod judge;
mod layer;

mod outside;
mod questions;
mod ruleset;
mod wildcard;
mod write;

pub use config::Config;
pub use judge::Policy;
pub use layer::translate;
pub use write::write;

pub use questions::{Question, questions};
pub use ruleset::{Rule, Ruleset};
