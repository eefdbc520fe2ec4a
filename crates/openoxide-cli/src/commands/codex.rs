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

use openoxide_adapters::codex::exact::{LONGEST, Place, Policy};
use openoxide_tui::{Lines, visible};

use crate::{
    args::{CodexVerb, ExecpolicyCheckArgs, ExecpolicyVerb, Global},
    error::CliError,
    exit::Exit,
    language, report,
};

/// Answers as Codex does, or what it asks.
pub(crate) fn codex(verb: &CodexVerb, global: Global) -> Result<Exit, CliError> {
    Ok(match verb {
        CodexVerb::Amend(args) => said(amend::amend(args), Exit::Failure),
        CodexVerb::Decide(args) => said(decide::decide(args), Exit::Usage),
        CodexVerb::Execpolicy(ExecpolicyVerb::Check(args)) => execpolicy(args),
        CodexVerb::Review(args) => return review::review(args, global),
    })
}

/// Answers as `codex execpolicy check` does.
pub(crate) fn execpolicy(args: &ExecpolicyCheckArgs) -> Exit {
    said(check(args), Exit::Failure)
}

fn said(done: Result<Exit, String>, otherwise: Exit) -> Exit {
    done.unwrap_or_else(|error| {
        report::say(&visible(&error, Lines::Many));
        otherwise
    })
}

fn check(args: &ExecpolicyCheckArgs) -> Result<Exit, String> {
    // A command that is checked is given here: Codex looks at no other directory.
    let (cwd, home) = here(Path::new("."))?;
    let place = Place { cwd: &cwd, home: home.as_deref() };
    let policy = policy(&args.rules, &place)?;
    let resolve = args.resolve_host_executables.then_some(&place);
    let answer = policy.check(&args.command, resolve);
    let json = if args.pretty {
        serde_json::to_string_pretty(&answer)
    } else {
        serde_json::to_string(&answer)
    };
    let json = json.map_err(|error| format!("Error: {error}"))?;
    Ok(report::data(format!("{json}\n").as_bytes(), Exit::Success))
}

/// Returns a directory, and the home.
fn here(directory: &Path) -> Result<(String, Option<String>), String> {
    let here = std::path::absolute(directory).map_err(|error| format!("Error: {error}"))?;
    Ok((here.to_string_lossy().into_owned(), env::var("HOME").ok()))
}

/// Reads rule files as Codex does.
///
/// # Errors
/// When one cannot be read, or Codex would not take it, in its words.
pub(crate) fn policy(files: &[PathBuf], place: &Place<'_>) -> Result<Policy, String> {
    let mut policy = Policy::default();
    files.iter().try_for_each(|path| add(&mut policy, path, place))?;
    Ok(policy)
}

fn add(policy: &mut Policy, path: &Path, place: &Place<'_>) -> Result<(), String> {
    let text = text(path).map_err(|error| failed("read", path, &error.to_string()))?;
    let read = policy.read(&path.to_string_lossy(), &text, place, language::evaluate);
    read.map_err(|error| failed("parse", path, &error.message))
}

/// Reads a file, and no more of it than one byte too much.
fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LONGEST as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Says it as Codex does: each line of the cause is indented, the empty last one, too.
fn failed(what: &str, path: &Path, cause: &str) -> String {
    let cause = cause.replace('\n', "\n    ");
    format!("Error: failed to {what} policy at {}\n\nCaused by:\n    {cause}", path.display())
}
