//! End to end: the real agents, offline, against a scripted model, with the release build between.
//!
//! The agent runs as an ordinary user in a network namespace that has only the loopback device,
//! wherever this machine lets us arrange that.

mod mock_model;
mod scenarios;
mod session;
mod stage;
mod wiring;
mod world;

use std::{path::Path, time::Instant};

use crate::{Failure, agents, codex_diff, codex_session, setup, workspace};

/// The argument of a process that already runs inside the stage, which follows.
const INSIDE: &str = "--inside";

/// Runs the comparisons with Codex alone.
const CODEX: &str = "codex";
/// Runs the wiring of Codex alone.
const CODEX_HOOK: &str = "codex-hook";
/// The option for another program than the release build, which takes long to make.
const PROGRAM: &str = "--program";

/// The arguments of the verb.
pub(crate) const ARGUMENTS: &str = "[--program FILE] [WORD]…";
/// The calls that the real Codex is asked, too: a sample of what the two verbs compare at length.
const CODEX_CHECKS: &str = "300";
const CODEX_CALLS: &str = "200";

/// Runs the scenarios whose names hold one of the words in `arguments`, or all of them and the comparisons with Codex.
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

/// Prepares everything that needs a network, then goes on inside the stage.
fn scenarios(openoxide: &Path, words: &[String]) -> Result<(), String> {
    setup::programs(setup::AGENTS)?;
    let claude = agents::CLAUDE.install()?;
    stage::enter(openoxide, &claude, words)
}

/// The real Codex judges the same as we do.
fn comparisons(ours: &Path) -> Result<(), Failure> {
    codex_session::wiring(ours)?;
    let ours = ours.display().to_string();
    let words = |cases: &str| ["--ours", &ours, "--cases", cases].map(str::to_owned);
    codex_diff::run(&words(CODEX_CHECKS))?;
    codex_session::run(&words(CODEX_CALLS))
}

fn inside(arguments: &[String]) -> Result<(), Failure> {
    let usage = || Failure::Usage(format!("`{INSIDE}` wants the folder of the stage"));
    let (folder, words) = arguments.split_first().ok_or_else(usage)?;
    let agent = stage::Agent::on(Path::new(folder));
    Ok(play(&agent, words)?)
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
