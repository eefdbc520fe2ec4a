//! `codex`: what Codex itself would answer, and answers to what it asks.

mod amend;
mod decide;
mod review;

use std::{
    env,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use openoxide_codex::exact_semantics::{ExecPolicy, LaunchContext, MAX_RULE_FILE_SIZE};
use openoxide_tui::{LineMode, escape_text};

use crate::{
    args::{CodexCommand, ExecpolicyCheckArgs, ExecpolicyCommand, GlobalArgs},
    error::CliError,
    program_exit::ProgramExit,
    starlark_process, user_messages,
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

/// Returns a directory, and the home.
fn absolute_directory_and_home(directory: &Path) -> Result<(String, Option<String>), String> {
    let here = std::path::absolute(directory).map_err(|error| format!("Error: {error}"))?;
    Ok((here.to_string_lossy().into_owned(), env::var("HOME").ok()))
}

/// Reads rule files as Codex does.
///
/// # Errors
/// When one cannot be read, or Codex would not take it, in its words.
pub(crate) fn read_rule_files(
    files: &[PathBuf],
    place: &LaunchContext<'_>,
) -> Result<ExecPolicy, String> {
    let mut policy = ExecPolicy::default();
    files.iter().try_for_each(|path| add_rule_file(&mut policy, path, place))?;
    Ok(policy)
}

fn add_rule_file(
    policy: &mut ExecPolicy,
    path: &Path,
    place: &LaunchContext<'_>,
) -> Result<(), String> {
    let text = read_bounded_text(path)
        .map_err(|error| format_read_error("read", path, &error.to_string()))?;
    let read = policy.add_source(
        &path.to_string_lossy(),
        &text,
        place,
        starlark_process::evaluate_rule_file,
    );
    read.map_err(|error| format_read_error("parse", path, &error.message))
}

/// Reads a file, and no more of it than one byte too much.
fn read_bounded_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_RULE_FILE_SIZE as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns an error message in the format of Codex. Each line of the cause is indented, including
/// an empty last one.
fn format_read_error(what: &str, path: &Path, cause: &str) -> String {
    let cause = cause.replace('\n', "\n    ");
    format!("Error: failed to {what} policy at {}\n\nCaused by:\n    {cause}", path.display())
}
