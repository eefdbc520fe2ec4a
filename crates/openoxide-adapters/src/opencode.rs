//! OpenCode's permissions, reproduced exactly (observed on 1.18.33): configuration, rules, requests
//! and answers.
//!
//! A configuration becomes a list of rules for each agent. Every tool call becomes requests, each
//! with a permission and patterns. The last rule that matches a pattern decides.

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
