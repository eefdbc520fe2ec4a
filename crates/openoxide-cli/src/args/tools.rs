//! Arguments of `tools`.

use clap::Subcommand;

use super::policy::PolicyArgs;

/// Commands about tools.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Print the tools to hide from the model, because every call of them would be denied.
    Filter {
        #[command(flatten)]
        policy: PolicyArgs,
        /// A tool; repeatable [default: one name per line of standard input].
        #[arg(value_name = "TOOL")]
        tools: Vec<String>,
        /// Print one JSON object per tool: whether it is hidden, and why.
        #[arg(long)]
        json: bool,
    },
}
