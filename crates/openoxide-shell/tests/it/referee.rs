//! A check that the analysis reports everything that bash does, with a few hundred scripts and only
//! bash.
//!
//! `cargo xtask referee` does the same with real wrappers and tools, with every file that is
//! opened, and for hours.
#![expect(
    clippy::disallowed_methods,
    reason = "the test is told how long to go on; the crate itself stays pure"
)]

use std::{thread, time::Instant};

use openoxide_protocol::{AbsPath, Access, OperationFacts};
use openoxide_shell::{AnalysisContext, analyze_script};

use crate::{bash::Yard, chance::Chance, support};

/// The results of the referee.
#[derive(Debug, Default)]
struct Score {
    run: usize,
    started_something: usize,
    opaque: usize,
    misses: Vec<String>,
}

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Guards I07.
#[test]
fn every_program_and_file_that_bash_touches_is_on_the_list() {
    let cases = number("OPENOXIDE_REFEREE_CASES", 800);
    let seed = number("OPENOXIDE_REFEREE_SEED", 1);
    let since = Instant::now();
    let workers = [0, 1].map(|worker| {
        thread::spawn(move || referee(cases / 2, u64::try_from(seed * 2 + worker).unwrap()))
    });
    let mut total = Score::default();
    for score in workers.map(|worker| worker.join().unwrap()) {
        total.run += score.run;
        total.started_something += score.started_something;
        total.opaque += score.opaque;
        total.misses.extend(score.misses);
    }
    println!(
        "{} scripts run in {:?}, {} started or wrote something, of these {} were opaque, {} missed",
        total.run,
        since.elapsed(),
        total.started_something,
        total.opaque,
        total.misses.len()
    );
    assert!(total.misses.is_empty(), "{}", total.misses.join("\n"));
}

fn referee(cases: usize, seed: u64) -> Score {
    let kept = support::corpus();
    let mut seeds = support::seeds();
    seeds.extend(kept.iter().map(String::as_str));
    let yard = Yard::new();
    let mut chance = Chance::new(seed);
    let mut score = Score::default();
    for case in 0..cases {
        let script = match seeds.get(case) {
            Some(script) => (*script).to_owned(),
            _ => chance.script(&seeds),
        };
        if yard.accepts(&script) && script.len() < 3000 {
            judge(&yard, &script, u8::from(chance.below(2) == 0), &mut score);
        }
    }
    score
}

fn judge(yard: &Yard, script: &str, status: u8, score: &mut Score) {
    let path = |path: std::path::PathBuf| AbsPath::new(path.to_str().unwrap()).unwrap();
    let (cwd, home) = (path(yard.work()), path(yard.home()));
    let facts = analyze_script(script, &AnalysisContext { cwd: &cwd, home: Some(&home) });
    let deeds = yard.run(script, status);
    score.run += 1;
    if deeds.programs.is_empty() && deeds.files.is_empty() {
        return;
    }
    score.started_something += 1;
    if support::is_opaque(&facts) {
        score.opaque += 1;
        return;
    }
    let program = deeds.programs.iter().find(|words| !support::lists(&facts, words));
    let file = deeds.files.iter().find(|file| !edits(&facts, &cwd.join(file)));
    if program.is_some() || file.is_some() {
        let listed = support::lines(&facts);
        score.misses.push(format!("MISS {program:?} {file:?}\n{script}\n=> {listed:#?}\n"));
    }
}

fn edits(facts: &OperationFacts, file: &AbsPath) -> bool {
    facts.accesses.iter().any(|access| matches!(access, Access::Edit(edit) if edit.path == *file))
}
