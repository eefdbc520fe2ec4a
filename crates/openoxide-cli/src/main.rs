//! The `openoxide` program.
#![forbid(unsafe_code)]

mod agent_wiring;
mod approval_review;
mod args;
mod codex_rule_files;
mod commands;
mod confined_launch;
mod confinement_report;
mod error;
mod exact_evaluation;
mod help_groups;
mod hook_display;
mod json_lines;
mod live_edits;
mod nested_run;
mod policy_args;
mod program_exit;
mod prompt_options;
mod signal_watch;
mod staged_changes;
mod terminal_color;
mod terminal_host;
mod user_messages;

use std::{ffi::OsString, process::ExitCode};

use clap::FromArgMatches as _;

use args::{CliArgs, CliCommand, ExecpolicyCheckArgs};
use commands::hook::HookTiming;
use error::CliError;
use openoxide_tui::{LineMode, escape_text};
use program_exit::ProgramExit;

fn main() -> ExitCode {
    openoxide_sandbox::handle_file_size_signal();
    if !openoxide_sandbox::raise_stack_limit() {
        user_messages::print_error(
            &"the limit on the stack is too low (`ulimit -s`): 1024 KiB are needed",
        );
        return ProgramExit::RunFailed.into();
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(exit) = run_fast_path(&words) {
        return exit.into();
    }
    let matches = help_groups::grouped_command().try_get_matches();
    let args = match matches.and_then(|matches| CliArgs::from_arg_matches(&matches)) {
        Ok(args) => args,
        Err(error) => return print_usage_error(&error).into(),
    };
    run_subcommand(args)
        .unwrap_or_else(|error| {
            user_messages::print_cli_error(&error);
            error.exit_code()
        })
        .into()
}

/// Prints help, or what is wrong with the arguments. They can contain text of an agent.
fn print_usage_error(error: &clap::Error) -> ProgramExit {
    let text = error.render().to_string();
    let shown = escape_text(&text, LineMode::MultiLine);
    if shown == text {
        // This prints in color, and exits successfully for help.
        error.exit();
    }
    user_messages::print_line(shown.trim_end());
    ProgramExit::Usage
}

/// Runs the command of the arguments.
fn run_subcommand(args: CliArgs) -> Result<ProgramExit, CliError> {
    match args.command {
        CliCommand::Run(run) => commands::run::run_command(&run, args.global),
        CliCommand::Check(check) => commands::check::check_calls(&check, args.global),
        CliCommand::Explain(explain) => commands::explain::explain_call(&explain, args.global),
        CliCommand::Hook { agent, untrusted, client_timeout, wait } => {
            let timing = HookTiming { client_timeout, wait };
            Ok(commands::hook::run_hook(&agent, untrusted, timing)?)
        }
        CliCommand::Init(init) => commands::init::install_hooks(&init, args.global),
        CliCommand::Status { json } => commands::status::show_status(json, args.global),
        CliCommand::Doctor(doctor) => commands::doctor::check_agents(doctor, args.global),
        CliCommand::Trust(trust) => commands::trust::trust_project(&trust, args.global),
        CliCommand::Pending { json } => Ok(commands::pending::list_pending(json, args.global)),
        CliCommand::Approve(approve) => {
            commands::request_answers::approve_request(&approve, args.global)
        }
        CliCommand::Deny(deny) => Ok(commands::request_answers::deny_request(&deny, args.global)),
        CliCommand::Allow(allow) => commands::allow::allow_recorded_call(allow, args.global),
        CliCommand::Grants(verb) => commands::grants::run_grants_command(&verb),
        CliCommand::Rules(verb) => commands::rules::run_rules_command(&verb, args.global),
        CliCommand::Tools(verb) => commands::tools::run_tools_command(&verb, args.global),
        CliCommand::Config(verb) => Ok(commands::config::run_config_command(&verb)?),
        CliCommand::Audit { command: what } => {
            commands::audit::run_audit_command(&what, args.global)
        }
        CliCommand::Sandbox(verb) => {
            Ok(commands::sandbox::run_sandbox_command(&verb, args.global)?)
        }
        CliCommand::Stage(verb) => commands::stage::run_stage_command(&verb, args.global),
        CliCommand::Undo(undo) => commands::run::run_undo(&undo, args.global),
        CliCommand::Codex(verb) => commands::codex::run_codex_command(&verb, args.global),
        CliCommand::Schema { shape } => Ok(commands::schema::print_schema(shape)?),
        CliCommand::Completions { shell } => Ok(commands::generated_docs::print_completions(shell)),
        CliCommand::Man { verb } => commands::generated_docs::print_man_page(verb.as_deref()),
    }
}

/// Handles the commands that an agent runs for each of its steps, without parsing all other
/// arguments. Returns `None` for anything else, which is left to the full parser.
fn run_fast_path(words: &[OsString]) -> Option<ProgramExit> {
    let [verb, second, rest @ ..] = words else { return None };
    match (verb.to_str()?, second.to_str()?, rest) {
        ("hook", agent, []) => commands::hook::run_hook(agent, false, HookTiming::default()).ok(),
        ("hook", agent, [option]) => {
            let timing = HookTiming::from_wait_option(option.to_str()?)?;
            commands::hook::run_hook(agent, false, timing).ok()
        }
        ("codex", "execpolicy", [check, rest @ ..]) if check == "check" => {
            let args = ExecpolicyCheckArgs::parse(rest.iter().cloned())?;
            Some(commands::codex::run_execpolicy_check(&args))
        }
        _ => None,
    }
}
