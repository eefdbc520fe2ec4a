//! End to end: the real agents, offline, against a scripted model, with the release build between.
//!
//! The agent runs as an ordinary user in a network namespace that has only the loopback device,
//! wherever this machine lets us arrange that.

mod claude;
mod mock_model;
mod scenarios;
mod session;
mod stage;
mod wiring;
mod world;

use std::{path::Path, time::Instant};

use crate::{Failure, setup, workspace};

/// Says that the process already stands inside the stage that follows.
const INSIDE: &str = "--inside";

/// Runs the scenarios whose names hold one of the words in `arguments`, or all of them.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    match arguments.split_first() {
        Some((first, rest)) if first == INSIDE => inside(rest),
        _ => Ok(outside(arguments)?),
    }
}

/// Prepares everything that needs a network, then goes on inside the stage.
fn outside(words: &[String]) -> Result<(), String> {
    setup::programs(setup::AGENTS)?;
    let openoxide = workspace::release_program("openoxide-cli")?;
    let claude = claude::install()?;
    stage::enter(&openoxide, &claude, words)
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
