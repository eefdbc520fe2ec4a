//! The coverage-guided fuzzers of the properties of the shell analysis. They run with any
//! toolchain.

use std::{fs, path::Path, process::Command};

use crate::{
    Failure, setup,
    steps::{Step, run_all},
    workspace::{cargo, root},
};

/// The fuzz targets, one for each property.
const TARGETS: [&str; 3] = ["answers", "quotes", "neighbours"];

/// The compiler options for coverage.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing";

/// Runs every fuzzer, or the named ones, each for the given number of seconds.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let (seconds, targets) = parse(arguments)?;
    setup::programs(setup::FUZZERS)?;
    let corpus = root().join("fuzz/corpus");
    let mut steps = vec![Step { name: "build", command: build() }];
    for target in targets {
        let place = corpus.join(target);
        seed(&place)?;
        steps.push(Step { name: target, command: fuzz(target, seconds, &place) });
    }
    Ok(run_all(steps)?)
}

fn parse(arguments: &[String]) -> Result<(u32, Vec<&'static str>), Failure> {
    let mut seconds = 60;
    let mut targets = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--seconds" {
            let number = words.next().and_then(|text| text.parse().ok());
            seconds = number.ok_or_else(|| Failure::Usage("`--seconds` needs a number".into()))?;
        } else if let Some(target) = TARGETS.iter().find(|target| *target == word) {
            targets.push(*target);
        } else {
            let all = TARGETS.join(", ");
            return Err(Failure::Usage(format!("there is no fuzzer `{word}` (there are {all})")));
        }
    }
    Ok((seconds, if targets.is_empty() { TARGETS.to_vec() } else { targets }))
}

fn build() -> Command {
    let mut command = cargo();
    command.args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml"]);
    command.args(["--target-dir", "fuzz/target"]).env("RUSTFLAGS", COVERAGE);
    command
}

fn fuzz(target: &str, seconds: u32, corpus: &Path) -> Command {
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = Command::new(format!("fuzz/target/{triple}/release/{target}"));
    command.arg(corpus).arg(format!("-max_total_time={seconds}"));
    command.args(["-max_len=65600", "-len_control=20", "-timeout=5", "-rss_limit_mb=2048"]);
    command.args(["-print_final_stats=1", "-verbosity=0", "-artifact_prefix=fuzz/"]);
    command
}

/// Creates the initial corpus: scripts with every construct of the language.
fn seed(place: &Path) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("cannot write to {}: {error}", place.display());
    fs::create_dir_all(place).map_err(fail)?;
    let seeds = root().join("crates/openoxide-shell/tests/it/seeds.txt");
    let text = fs::read_to_string(&seeds)
        .map_err(|error| format!("cannot read {}: {error}", seeds.display()))?;
    for (number, script) in text.split("\n%%\n").enumerate() {
        fs::write(place.join(format!("seed-{number}")), script).map_err(fail)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_targets_are_read() {
        let read = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            parse(&words).ok()
        };
        assert_eq!(read(&[]), Some((60, TARGETS.to_vec())));
        assert_eq!(read(&["--seconds", "5", "quotes"]), Some((5, vec!["quotes"])));
        assert_eq!(read(&["--seconds"]), None);
        assert_eq!(read(&["nothing"]), None);
    }
}
