//! End-to-end tests of the release build with real agents, offline, with a scripted model.
//!
//! The agent runs as an ordinary user in a network namespace that has only the loopback device, if
//! this machine permits that.

pub(crate) mod mock_model;
mod other_terminal;
mod person;
mod scenarios;
pub(crate) mod session;
pub(crate) mod stage;
mod wiring;
pub(crate) mod world;

use std::{path::Path, time::Instant};

use crate::{Failure, agents, codex_diff, codex_session, setup, workspace};

/// The argument of a process that already runs in the test environment, whose directory is the
/// current one.
pub(crate) const INSIDE: &str = "--inside";

/// The argument that selects only the comparisons with Codex.
const CODEX: &str = "codex";
/// The argument that selects only the test of the hook in Codex.
const CODEX_HOOK: &str = "codex-hook";
/// The option for a program other than the release build, which takes long to compile.
const PROGRAM: &str = "--program";

/// The arguments of the command.
pub(crate) const ARGUMENTS: &str = "[--program FILE] [WORD]…";
/// The arguments of the comparisons with Codex: a sample of those of the two commands.
const CODEX_CHECKS: &str = "300";
const CODEX_CALLS: &str = "200";

/// Runs the scenarios whose names contain one of the words in `arguments`. Without words, runs all
/// scenarios and the comparisons with Codex.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [first, rest @ ..] if first == INSIDE => inside(rest),
        [first, file, rest @ ..] if first == PROGRAM => run_with(Path::new(file), rest),
        words => run_with(&workspace::release_program("openoxide-cli")?, words),
    }
}

fn run_with(ours: &Path, words: &[String]) -> Result<(), Failure> {
    match words {
        [only] if only == CODEX => comparisons(ours),
        [only] if only == CODEX_HOOK => codex_session::wiring(ours),
        [] => {
            scenarios(ours, words)?;
            comparisons(ours)
        }
        words => Ok(scenarios(ours, words)?),
    }
}

/// Prepares everything that needs a network, and continues in the test environment.
fn scenarios(openoxide: &Path, words: &[String]) -> Result<(), String> {
    setup::programs(setup::AGENTS)?;
    let claude = agents::CLAUDE.install()?;
    let play = [&["e2e".to_owned(), INSIDE.to_owned()], words].concat();
    stage::enter(openoxide, &claude, &play)
}

/// Compares decisions with those of the real Codex.
fn comparisons(ours: &Path) -> Result<(), Failure> {
    codex_session::wiring(ours)?;
    let ours = ours.display().to_string();
    let words = |cases: &str| ["--ours", &ours, "--cases", cases].map(str::to_owned);
    codex_diff::run(&words(CODEX_CHECKS))?;
    codex_session::run(&words(CODEX_CALLS))
}

fn inside(words: &[String]) -> Result<(), Failure> {
    Ok(play(&stage::Agent::here()?, words)?)
}

fn play(agent: &stage::Agent, words: &[String]) -> Result<(), String> {
    let (mut passed, mut failed) = (0, 0);
    for scenario in scenarios::all().filter(|scenario| scenario.is_named_by(words)) {
        let start = Instant::now();
        let verdict = scenario.play(agent);
        let word = if verdict.is_ok() { "ok" } else { "FAILED" };
        let seconds = start.elapsed().as_secs_f64();
        println!("scenario {} ... {word} ({seconds:.1} s)", scenario.sentence());
        match verdict {
            Ok(()) => passed += 1,
            Err(why) => {
                failed += 1;
                println!("{why}\n");
            }
        }
    }
    println!("\n{passed} passed, {failed} failed");
    match (passed, failed) {
        (0, 0) => Err("no scenario has such a name".to_owned()),
        (_, 0) => Ok(()),
        _ => Err("some sentences do not hold".to_owned()),
    }
}
