//! The referee: real shells run random scripts, every started program and written file is recorded,
//! and the analysis must have reported all of them before.

mod compare;
mod corpus;
mod deeds;
mod generate;
mod options;
mod report;
mod shrink;
mod stage;
mod trace;
mod work;

use std::{fs, time::Instant};

use crate::{Failure, chance, setup};

pub(crate) use self::options::ARGUMENTS;
use self::{
    options::Options,
    stage::{Ground, Stage},
    work::{Case, Work},
};

/// The usual cause of a failure.
const HINT: &str = "hint: bubblewrap must be able to make user namespaces (`kernel.unprivileged_userns_clone`, \
    `user.max_user_namespaces`, AppArmor), and strace to trace in them; containers often forbid both";

/// Runs as many scripts as `arguments` ask for, and fails where the analysis missed something.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::read(arguments).map_err(Failure::Usage)?;
    setup::programs(setup::REFEREE)?;
    let ground = Ground::build()?;
    probe(&options, &ground)?;
    match &options.explain {
        Some(file) => Ok(explain(file, &options, &ground)?),
        None => Ok(judge(options, &ground)?),
    }
}

/// Checks that a stage works on this machine.
fn probe(options: &Options, ground: &Ground) -> Result<(), String> {
    let nothing = Case { script: ":".to_owned(), ..Case::new(options) };
    let deeds = Stage::open(ground, 0)?.run(&nothing).map_err(|why| format!("{why}\n{HINT}"))?;
    if deeds.status == 0 { Ok(()) } else { Err(format!("`:` ended with {}", deeds.status)) }
}

fn judge(options: Options, ground: &Ground) -> Result<(), String> {
    let since = Instant::now();
    let work = Work::new(options)?;
    let score = work.run(ground)?;
    print!("{}", score.report(since.elapsed(), work.demands_coverage()));
    for miss in &score.misses {
        corpus::save(miss)?;
    }
    score.verdict(work.demands_coverage())
}

/// Prints the actions of one script, and the result of its analysis.
fn explain(file: &str, options: &Options, ground: &Ground) -> Result<(), String> {
    let script =
        fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let case = Case { script: script.trim_end_matches('\n').to_owned(), ..Case::new(options) };
    let deeds = Stage::open(ground, 0)?.run(&case)?;
    println!("{deeds:#?}");
    let facts = compare::facts(&case);
    compare::lines(&facts).iter().for_each(|line| println!("=> {line}"));
    match compare::judge(&facts, &deeds) {
        None => println!("nothing is missed"),
        Some(miss) => println!("MISS {miss}"),
    }
    Ok(())
}
