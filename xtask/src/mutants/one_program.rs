//! All mutants of a target in one program, each selected by an environment variable, so that the
//! tests are compiled only once.

mod compiling;
mod listing;
mod records;
mod rewriting;
mod running;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use super::{
    RESULTS,
    options::{Options, Target, TestStep},
    outcome::Outcomes,
};
use crate::workspace::root;
use compiling::{Copy, LeftOut, TestProgram};
use listing::ListedMutant;
use records::{Ending, Records};
use running::{TestResult, TestRun};

/// The processor time that tests may take without a mutant, in seconds.
const MOST_SECONDS: u64 = 600;

/// The factor by which tests may take longer with a mutant than without one.
const PATIENCE: u64 = 3;

/// Runs the tests on each mutant of a target, until one fails.
pub(super) fn test(target: &Target, options: &Options) -> Result<Outcomes, String> {
    let results = root().join(RESULTS).join(&target.name);
    let mutants = listing::list(target, options, root())?;
    println!("==> mutants: {} listed", mutants.len());
    let copy = Copy::make(root(), results.join("copy"))?;
    let left_out = copy.compile_in(root(), target, &mutants)?;
    let steps = target.steps.iter().take(options.steps.unwrap_or(usize::MAX));
    let steps: Vec<&TestStep> =
        steps.filter(|step| !options.own_tests_only || step.package == target.package).collect();
    let packages = steps.iter().map(|step| step.package).collect();
    let runs = runs(&steps, &copy.test_programs(&packages)?)?;
    let mut records = Records::open(&results.join("one-program.tsv"), options.iterate)?;
    let order = mutants.iter().enumerate().filter(|(number, _)| !left_out.contains_key(number));
    for (number, mutant) in order.take(options.sample.unwrap_or(usize::MAX)) {
        if !records.is_noticed(&mutant.name) {
            records.add(&mutant.name, ending(&runs, number)?)?;
        }
    }
    Ok(outcomes(&mutants, &left_out, &records))
}

/// Returns the test runs of all steps, each with its limit: they must pass without a mutant.
fn runs(steps: &[&TestStep], programs: &[TestProgram]) -> Result<Vec<TestRun>, String> {
    let mut runs = Vec::new();
    for step in steps {
        for program in programs.iter().filter(|program| program.package == step.package) {
            let arguments = running::arguments(step.only, step.skipped);
            let program = program.clone();
            let mut run = TestRun { program, arguments, seconds: MOST_SECONDS };
            let start = Instant::now();
            if run.run(None)? != TestResult::Passed {
                return Err(format!("without a mutant, the tests of {} fail", step.package));
            }
            let took = start.elapsed();
            println!("==> mutants: {} {:?}: {took:.1?}", step.package, step.only);
            run.seconds = (took.as_secs() + 1) * PATIENCE;
            runs.push(run);
        }
    }
    Ok(runs)
}

fn ending(runs: &[TestRun], number: usize) -> Result<Ending, String> {
    for run in runs {
        match run.run(Some(number))? {
            TestResult::Passed => {}
            TestResult::Failed => return Ok(Ending::Caught),
            TestResult::TimedOut => return Ok(Ending::TimedOut),
        }
    }
    Ok(Ending::Missed)
}

/// Returns the counts of the endings, by file, and the missed mutants.
fn outcomes(
    mutants: &[ListedMutant],
    left_out: &BTreeMap<usize, LeftOut>,
    records: &Records,
) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for (number, listed) in mutants.iter().enumerate() {
        let mutant = &listed.mutant;
        let counts = outcomes.counts.entry(mutant.file.clone()).or_default();
        match (left_out.get(&number), records.ending(&listed.name)) {
            (Some(LeftOut::Unviable), _) => counts.unviable += 1,
            (Some(LeftOut::Unchoosable), _) | (None, None) => counts.not_run += 1,
            (None, Some(Ending::Caught)) => counts.caught += 1,
            (None, Some(Ending::TimedOut)) => counts.timed_out += 1,
            (None, Some(Ending::Missed)) => {
                counts.missed += 1;
                outcomes.missed.push(mutant.clone());
            }
        }
    }
    let files: BTreeSet<String> = outcomes.counts.keys().cloned().collect();
    outcomes.files = files.into_iter().collect();
    outcomes
}
