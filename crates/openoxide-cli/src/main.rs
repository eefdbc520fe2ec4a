//! The program: arguments, exit codes, wiring.
#![forbid(unsafe_code)]

mod args;
mod bounded;
mod color;
mod commands;
mod exact;
mod exit;
mod formats;
mod history;
mod hooks;
mod language;
mod lines;
mod policy;
mod record;
mod repetition;
mod replay;
mod report;
mod review;
mod staged;
mod task;
mod watched;

use std::{ffi::OsString, process::ExitCode};

use clap::Parser as _;

use args::{Args, ExecpolicyCheckArgs, Verb};
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
    match args.verb {
        Verb::Run(run) => commands::run::run(&run, args.global),
        Verb::Check(check) => commands::check::check(&check, args.global),
        Verb::Explain(explain) => commands::explain::explain(&explain, args.global),
        Verb::Hook { agent, untrusted, client_timeout } => {
            commands::hook::of(&agent, untrusted, client_timeout)
        }
        Verb::Init(init) => commands::init::init(&init),
        Verb::Trust(trust) => commands::trust::trust(&trust, args.global),
        Verb::Pending { json } => commands::pending::pending(json, args.global),
        Verb::Approve(approve) => commands::answer::approve(&approve, args.global),
        Verb::Deny(deny) => commands::answer::deny(&deny, args.global),
        Verb::Grants(verb) => commands::grants::grants(&verb),
        Verb::Rules(verb) => commands::rules::rules(&verb, args.global),
        Verb::Tools(verb) => commands::tools::tools(&verb, args.global),
        Verb::Config(verb) => commands::config::config(&verb),
        Verb::Audit { what } => commands::audit::audit(&what, args.global),
        Verb::Sandbox(verb) => commands::sandbox::sandbox(&verb, args.global),
        Verb::Codex(verb) => commands::codex::codex(&verb, args.global),
        Verb::Schema { shape } => commands::schema::schema(shape),
        Verb::Completions { shell } => commands::generate::completions(shell),
        Verb::Man { verb } => commands::generate::man(verb.as_deref()),
    }
    .unwrap_or_else(|error| {
        report::failure(&error);
        Exit::Usage
    })
    .into()
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
