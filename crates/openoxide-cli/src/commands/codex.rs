//! `codex`: answers that Codex itself would give, and answers to its requests.

mod amend;
mod decide;
mod review;

use std::path::Path;

use openoxide_codex::exact_semantics::LaunchContext;
use openoxide_tui::{LineMode, escape_text};

use crate::{
    args::{CodexCommand, ExecpolicyCheckArgs, ExecpolicyCommand, GlobalArgs},
    codex_rule_files::{absolute_directory_and_home, read_rule_files},
    error::{CliError, codex_error::CodexPolicyError, stream_error::StreamError},
    program_exit::ProgramExit,
    user_messages,
};

/// Runs a subcommand of `codex`.
pub(crate) fn run_codex_command(
    verb: &CodexCommand,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    Ok(match verb {
        CodexCommand::Amend(args) => amend::add_prefix_rule(args)?,
        CodexCommand::Decide(args) => report_error(decide::decide_lines(args), ProgramExit::Usage),
        CodexCommand::Execpolicy(ExecpolicyCommand::Check(args)) => run_execpolicy_check(args),
        CodexCommand::Review(args) => return review::run_review(args, global),
    })
}

/// Answers as `codex execpolicy check` does.
pub(crate) fn run_execpolicy_check(args: &ExecpolicyCheckArgs) -> ProgramExit {
    report_error(check_command(args), ProgramExit::Failure)
}

/// Reports an error as Codex does, and returns the exit code `failed` then.
fn report_error(result: Result<ProgramExit, CodexPolicyError>, failed: ProgramExit) -> ProgramExit {
    result.unwrap_or_else(|error| {
        let message = format!("Error: {error}");
        user_messages::print_line(&escape_text(&message, LineMode::MultiLine));
        failed
    })
}

fn check_command(args: &ExecpolicyCheckArgs) -> Result<ProgramExit, CodexPolicyError> {
    // Codex resolves the paths of a command from the working directory only.
    let (cwd, home) = absolute_directory_and_home(Path::new("."))?;
    let place = LaunchContext { cwd: &cwd, home: home.as_deref() };
    let policy = read_rule_files(&args.rules, &place)?;
    let resolve = args.resolve_host_executables.then_some(&place);
    let answer = policy.check(&args.command, resolve);
    let json = if args.pretty {
        serde_json::to_string_pretty(&answer)
    } else {
        serde_json::to_string(&answer)
    };
    let json = json.map_err(StreamError::NotJson)?;
    Ok(user_messages::print_data(&format!("{json}\n"), ProgramExit::Success))
}
