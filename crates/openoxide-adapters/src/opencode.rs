//! OpenCode's permissions, to the letter (measured on 1.18.33): configuration, rules, questions, answers.
//!
//! A configuration becomes a list of rules for each agent; every tool call becomes questions, a name with patterns; of all
//! rules that match a pattern the last decides.

mod builtin_agents;
mod command_arity;
mod config;
mod config_layer;
mod evaluation;
mod script_requests;

mod config_export;
mod external_paths;
mod permission_request;
mod permission_requests;
mod ruleset;
mod wildcard;

pub use config::OpenCodeConfig;
pub use config_export::render_config;
pub use config_layer::translate_config;
pub use evaluation::{OpenCodePolicy, UnknownAgentError};

pub use permission_request::OpenCodeRequest;
pub use permission_requests::collect_permission_requests;
pub use ruleset::{OpenCodeRule, OpenCodeRuleset};
