//! `tools`: what the policy in force means for a tool, before any call of it.

use std::io::Read as _;

use clap::Subcommand;
use openoxide_adapters::tool;
use openoxide_permission::Hidden;
use openoxide_protocol::{Action, SCHEMA};
use openoxide_tui::{Lines, visible};
use serde_json::{Value, json};

use crate::{
    args::{Global, PolicyArgs},
    error::CliError,
    exit::Exit,
    policy_args, report,
};

/// No list of names is longer, in bytes.
const LONGEST: u64 = 1 << 20;

/// What to do with tools.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ToolsVerb {
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

/// Prints the names that are hidden, in the order in which they came; in JSON all of them.
pub(crate) fn tools(verb: &ToolsVerb, global: Global) -> Result<Exit, CliError> {
    let ToolsVerb::Filter { policy, tools, json } = verb;
    let engine = policy_args::open_with_layers(policy)?;
    let sound = policy_args::sound(&engine, global);
    let tools = if tools.is_empty() { read()? } else { tools.clone() };
    let mut text = String::new();
    for tool in &tools {
        let why = engine.hidden_tool(tool, &action(tool));
        if *json {
            text += &in_json(tool, why.as_ref());
        } else if why.is_some() {
            text += &visible(tool, Lines::One);
            text.push('\n');
        }
    }
    // What is wrong was said; what the rules that are left deny is shown all the same.
    Ok(report::data(text.as_bytes(), sound.err().unwrap_or(Exit::Success)))
}

fn read() -> Result<Vec<String>, String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LONGEST + 1).read_to_string(&mut text);
    read.map_err(|error| format!("cannot read standard input: {error}"))?;
    if text.len() as u64 > LONGEST {
        return Err(format!("standard input is longer than {LONGEST} bytes"));
    }
    Ok(text.lines().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Returns what calls of a tool want, by an input that every tool understands.
fn action(tool: &str) -> Action {
    let patch = "*** Begin Patch\n*** Add File: x\n+x\n*** End Patch";
    let input = json!({ "command": patch, "path": "x", "url": "https://x", "pattern": "x" });
    tool::action(tool, &input)
}

fn in_json(tool: &str, why: Option<&Hidden>) -> String {
    let reason = why.map_or(Value::Null, |why| why.reason.clone().into());
    let rule = why.and_then(|why| why.rule.as_ref());
    let line = json!({
        "schema": SCHEMA, "tool": tool, "hidden": why.is_some(), "reason": reason, "rule": rule,
    });
    format!("{line}\n")
}
