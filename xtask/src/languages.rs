//! The fuzzers of languages in arguments, such as awk and sed. Programs that the analysis finds
//! harmless run in every implementation, and must not start a program, write, read other files,
//! show the environment or connect (docs/languages.md).

mod awk;
mod enclosure;
mod generate;
mod ground;
mod jq;
mod language;
mod options;
mod said;
mod sed;
mod self_test;
mod sql;
mod work;

use std::time::Instant;

use crate::{Failure, chance, setup};

pub(crate) use self::options::ARGUMENTS;
use self::{ground::Ground, options::Options};

/// Tries as many programs as `arguments` request, and fails if one did something that the analysis
/// did not report.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::read(arguments).map_err(Failure::Usage)?;
    setup::programs(setup::LANGUAGES)?;
    let ground = Ground::build(&options.languages)?;
    for &language in &options.languages {
        let count = self_test::run(language, &ground)?;
        println!("{}: {count} violations on purpose are found", language.name);
    }
    let mut violations = 0;
    for &language in &options.languages {
        let since = Instant::now();
        let score = work::run(language, &options, &ground)?;
        let seconds = since.elapsed().as_secs();
        println!("{}, seed {}, {seconds} s: {}", language.name, options.seed, score.report());
        violations += score.violations.len();
    }
    match violations {
        0 => Ok(()),
        count => {
            Err(Failure::Work(format!("{count} programs had effects that were not predicted")))
        }
    }
}
