//! Mutation testing: small changes of the code, each of which must make a test fail.
//!
//! cargo-mutants makes the changes and runs the tests (docs/mutants.md). This module selects the
//! mutants and the tests, and checks the result.

mod accepted;
mod one_program;
mod options;
mod outcome;
mod verdict;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Failure, setup, steps::show, workspace::cargo, workspace::root};
use accepted::Accepted;
use options::{Options, Target};
use outcome::Outcomes;

pub(crate) use options::ARGUMENTS;

/// The directory of the results, below the root of the workspace.
const RESULTS: &str = "target/mutants";

/// The exit codes of cargo-mutants for a complete run: all caught, some missed, some timed out.
const COMPLETE: [i32; 3] = [0, 2, 3];

/// Settings that keep a run cheap: no optimization, no debug information, and fewer cases of the
/// longest test.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("CARGO_PROFILE_DEV_DEBUG", "none"),
    ("CARGO_PROFILE_TEST_DEBUG", "none"),
    ("CARGO_PROFILE_TEST_OPT_LEVEL", "0"),
    ("OPENOXIDE_REFERENCE_POLICIES", "1000"),
    ("PROPTEST_FAILURE_PERSISTENCE", "off"),
];

/// Runs the mutants of each target and compares what the tests missed with the list of accepted mutants.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = options::parse(arguments, root())?;
    setup::cargo_programs(setup::MUTANTS)?;
    let accepted = accepted::read(root())?;
    let mut faults = Vec::new();
    for target in &options.targets {
        let outcomes = match options.in_one_program {
            true => one_program::test(target, &options)?,
            false => test(target, &options)?,
        };
        print!("{}", verdict::table(&target.name, &outcomes));
        faults.extend(verdict::faults(&outcomes, &accepted_of(&accepted, &outcomes), &options));
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Failure::Work(faults.join("\n"))),
    }
}

/// Returns the accepted mutants of the files that were examined.
fn accepted_of<'a>(accepted: &'a [Accepted], outcomes: &Outcomes) -> Vec<&'a Accepted> {
    accepted.iter().filter(|one| outcomes.files.contains(&one.file)).collect()
}

/// Runs the mutants of a target against the tests of its package. Mutants that these tests miss are
/// run against the packages above it.
fn test(target: &Target, options: &Options) -> Result<Outcomes, Failure> {
    let results = root().join(RESULTS).join(&target.name);
    let own = [target.package.to_owned()];
    let mut outcomes = pass(target, options, &own, &results, false)?;
    if options.own_tests_only || outcomes.missed.is_empty() {
        return Ok(outcomes);
    }
    let above = target.tested_by.iter().map(|package| (*package).to_owned()).collect::<Vec<_>>();
    let second = pass(target, options, &above, &results, true)?;
    outcomes.catch_all_but(&second.missed);
    Ok(outcomes)
}

/// Runs the mutants of a target against the tests of some packages. `again` leaves out the mutants
/// that were caught before.
fn pass(
    target: &Target,
    options: &Options,
    packages: &[String],
    results: &Path,
    again: bool,
) -> Result<Outcomes, Failure> {
    let mut command = command(target, options, packages, results);
    if again {
        command.arg("--iterate");
    }
    println!("==> mutants: {}", show(&command));
    let status = command.status();
    let status = status.map_err(|error| format!("cannot start cargo-mutants: {error}"))?;
    if !status.code().is_some_and(|code| COMPLETE.contains(&code)) {
        return Err(Failure::Work(format!("cargo-mutants ended with {status}")));
    }
    Ok(outcome::read(&results.join("mutants.out/outcomes.json"), root())?)
}

fn command(target: &Target, options: &Options, packages: &[String], results: &Path) -> Command {
    let mut command = cargo();
    command.args(["mutants", "--package", target.package, "--no-shuffle", "--colors=never"]);
    for file in &target.files {
        command.args(["--file", file]);
    }
    for package in packages {
        command.args(["--test-package", package]);
    }
    command.args(["--jobs", &options.jobs.to_string()]);
    if let Some(shard) = &options.shard {
        command.args(["--shard", shard]);
    }
    command.arg("--output").arg(PathBuf::from(results));
    command.envs(ENVIRONMENT);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_of_the_package_are_run_on_the_files_that_were_asked_for() {
        let words =
            ["--jobs", "2", "--shard", "1/4", "crates/openoxide-permission/src/rule_text.rs"];
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let options = options::parse(&words, root()).unwrap();
        let [target] = options.targets.as_slice() else { panic!("one target") };
        let own = [target.package.to_owned()];
        let shown = show(&command(target, &options, &own, Path::new("/r")));
        let expected = "mutants --package openoxide-permission --no-shuffle --colors=never \
            --file crates/openoxide-permission/src/rule_text.rs --test-package openoxide-permission \
            --jobs 2 --shard 1/4 --output /r";
        assert!(shown.ends_with(expected), "{shown}");
    }
}
