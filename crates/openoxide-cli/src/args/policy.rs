//! Options that select the policy.

use std::path::PathBuf;

use openoxide_protocol::PermissionMode;

use super::values::parse_mode;
use openoxide_formats::PolicyProgram;

/// Options that select the policy and its directory.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct PolicyArgs {
    /// A policy file; repeatable, highest precedence first. Only these files, the built-in rules and the safety floor apply.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
    /// The format of the policy files [default: from their names].
    #[arg(long, value_name = "FORMAT", requires = "policy")]
    pub(crate) format: Option<PolicyProgram>,
    /// The mode: default, accept_edits, sandboxed, plan, dont_ask or bypass_permissions.
    #[arg(long, value_name = "MODE", value_parser = parse_mode)]
    pub(crate) mode: Option<PermissionMode>,
    /// The directory that relative paths are resolved against.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A rule that allows, such as `Bash(npm run *)`; repeatable.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// A rule that asks; repeatable.
    #[arg(long, value_name = "RULE")]
    pub(crate) ask: Vec<String>,
    /// A rule that denies; repeatable.
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// An additional directory of the project; repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
}
