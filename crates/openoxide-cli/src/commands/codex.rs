//! `codex`: what Codex itself would answer, and answers to what it asks.

mod amend;
mod decide;
mod review;

use std::path::Path;

use openoxide_codex::exact_semantics::LaunchContext;
use openoxide_tui::{LineMode, escape_text};

use crate::{
    args::{CodexCommand, ExecpolicyCheckArgs, ExecpolicyCommand, GlobalArgs},
    codex_rule_files::{absolute_directory_and_home, read_rule_files},
    error::CliError,
    program_exit::ProgramExit,
    user_messages,
};

/// Answers as Codex does, or what it asks.
pub(crate) fn run_codex_command(
    verb: &CodexCommand,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    Ok(match verb {
        CodexCommand::Amend(args) => {
            report_result(amend::add_prefix_rule(args), ProgramExit::Failure)
        }
        CodexCommand::Decide(args) => report_result(decide::decide_lines(args), ProgramExit::Usage),
        CodexCommand::Execpolicy(ExecpolicyCommand::Check(args)) => run_execpolicy_check(args),
        CodexCommand::Review(args) => return review::run_review(args, global),
    })
}

/// Answers as `codex execpolicy check` does.
pub(crate) fn run_execpolicy_check(args: &ExecpolicyCheckArgs) -> ProgramExit {
    report_result(check_command(args), ProgramExit::Failure)
}

fn report_result(done: Result<ProgramExit, String>, otherwise: ProgramExit) -> ProgramExit {
    done.unwrap_or_else(|error| {
        user_messages::print_line(&escape_text(&error, LineMode::MultiLine));
        otherwise
    })
}

fn check_command(args: &ExecpolicyCheckArgs) -> Result<ProgramExit, String> {
    // A command that is checked is given here: Codex looks at no other directory.
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
    let json = json.map_err(|error| format!("Error: {error}"))?;
    Ok(user_messages::print_data(format!("{json}\n").as_bytes(), ProgramExit::Success))
}
