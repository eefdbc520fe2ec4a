//! Arguments of `tools`.

use clap::Subcommand;

use super::policy::PolicyArgs;

/// Commands about tools.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Print the tools that a model should not even see: every call of them would be denied.
    Filter {
        #[command(flatten)]
        policy: PolicyArgs,
        /// A tool; repeatable. Without any, one name a line is read from standard input.
        #[arg(value_name = "TOOL")]
        tools: Vec<String>,
        /// Print one object a line: each tool, whether it is hidden, and why.
        #[arg(long)]
        json: bool,
    },
}
