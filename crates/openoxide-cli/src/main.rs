//! The program: arguments, exit codes, wiring.
#![forbid(unsafe_code)]

mod args;
mod check_host;
mod color;
mod commands;
mod error;
mod exact;
mod exit;
mod formats;
mod hooks;
mod language;
mod lines;
mod policy_args;
mod report;
mod review;
mod staged;

use std::{ffi::OsString, process::ExitCode};

use clap::Parser as _;

use args::{Args, ExecpolicyCheckArgs, Verb};
use error::CliError;
use exit::Exit;

fn main() -> ExitCode {
    if !openoxide_sandbox::raise_stack_limit() {
        report::failure(&"the limit on the stack is too low (`ulimit -s`): 1024 KiB are needed");
        return Exit::RunFailed.into();
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(exit) = quick(&words) {
        return exit.into();
    }
    let args = Args::parse();
    carry_out(args)
        .unwrap_or_else(|error| {
            report::failure(&error);
            error.exit()
        })
        .into()
}

/// Carries out the verb of the arguments.
fn carry_out(args: Args) -> Result<Exit, CliError> {
    match args.verb {
        Verb::Run(run) => commands::run::run(&run, args.global),
        Verb::Check(check) => commands::check::check(&check, args.global),
        Verb::Explain(explain) => commands::explain::explain(&explain, args.global),
        Verb::Hook { agent, untrusted, client_timeout } => {
            Ok(commands::hook::of(&agent, untrusted, client_timeout)?)
        }
        Verb::Init(init) => Ok(commands::init::init(&init)?),
        Verb::Trust(trust) => Ok(commands::trust::trust(&trust, args.global)?),
        Verb::Pending { json } => Ok(commands::pending::pending(json, args.global)?),
        Verb::Approve(approve) => Ok(commands::answer::approve(&approve, args.global)?),
        Verb::Deny(deny) => Ok(commands::answer::deny(&deny, args.global)?),
        Verb::Grants(verb) => Ok(commands::grants::grants(&verb)?),
        Verb::Rules(verb) => commands::rules::rules(&verb, args.global),
        Verb::Tools(verb) => commands::tools::tools(&verb, args.global),
        Verb::Config(verb) => Ok(commands::config::config(&verb)?),
        Verb::Audit { what } => commands::audit::audit(&what, args.global),
        Verb::Sandbox(verb) => Ok(commands::sandbox::sandbox(&verb, args.global)?),
        Verb::Codex(verb) => commands::codex::codex(&verb, args.global),
        Verb::Schema { shape } => Ok(commands::schema::schema(shape)?),
        Verb::Completions { shell } => Ok(commands::generate::completions(shell)?),
        Verb::Man { verb } => Ok(commands::generate::man(verb.as_deref())?),
    }
}

/// What an agent calls for each of its steps goes past the parsing of all other arguments. What is not understood is left to it.
fn quick(words: &[OsString]) -> Option<Exit> {
    let [verb, second, rest @ ..] = words else { return None };
    match (verb.to_str()?, second.to_str()?, rest) {
        ("hook", agent, []) => commands::hook::of(agent, false, None).ok(),
        ("codex", "execpolicy", [check, rest @ ..]) if check == "check" => {
            let args = ExecpolicyCheckArgs::read(rest.iter().cloned())?;
            Some(commands::codex::execpolicy(&args))
        }
        _ => None,
    }
}
