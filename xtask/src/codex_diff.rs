//! Comparison of `openoxide codex execpolicy check` with the real one, on the same rule files and
//! commands. Every byte of the answer is compared.

mod ask;
mod compare;
pub(crate) mod generate;

use std::{
    fs,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{Failure, agents, workspace::test_program};

use self::{ask::Asked, compare::Difference, generate::Case};

/// The arguments of the command.
pub(crate) const ARGUMENTS: &str =
    "[--binary PATH] [--ours PATH] [--cases N] [--seed S] [--record FILE]";

/// The number of differences that are shown.
const SHOWN: usize = 20;

#[derive(Debug)]
struct Options {
    /// The real program [default: the pinned one].
    binary: Option<PathBuf>,
    ours: Option<PathBuf>,
    cases: u64,
    seed: u64,
    record: Option<PathBuf>,
}

/// The results of all threads.
#[derive(Default)]
struct Found {
    differences: Vec<Difference>,
    rows: Vec<(u64, String)>,
    failed: u64,
    ours: Duration,
    theirs: Duration,
}

/// Asks both programs about as many cases as `arguments` request, and reports where they differ.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = read(arguments)?;
    let ours = options.ours.clone().map_or_else(|| test_program("openoxide-cli"), Ok)?;
    let theirs = options.binary.clone().map_or_else(|| agents::CODEX.install(), Ok)?;
    let (next, found) = (AtomicU64::new(0), Mutex::new(Found::default()));
    let jobs = thread::available_parallelism().map_or(2, |cores| cores.get() * 2);
    let asked = Asked::new(ours, theirs)?;
    thread::scope(|scope| {
        let work = || work(&options, &asked, &next, &found);
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned()))
        })
    })?;
    let found = found.into_inner().map_err(|error| error.to_string())?;
    report(&options, found)
}

fn work(
    options: &Options,
    asked: &Asked,
    next: &AtomicU64,
    found: &Mutex<Found>,
) -> Result<(), String> {
    let place = asked.place()?;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= options.cases {
            return Ok(());
        }
        let case = Case::new(options.seed, number);
        let (ours, theirs) = place.ask(&case)?;
        let mut found = found.lock().map_err(|error| error.to_string())?;
        found.failed += u64::from(theirs.code != Some(0));
        found.ours += ours.took;
        found.theirs += theirs.took;
        // An error of the command line is not an answer about rules.
        if case.words_alone() {
            found.rows.push((number, compare::row(&case, &theirs)));
        }
        found.differences.extend(compare::difference(number, &case, &ours, &theirs));
    }
}

fn report(options: &Options, mut found: Found) -> Result<(), Failure> {
    found.rows.sort_unstable();
    if let Some(file) = &options.record {
        let text: String = found.rows.iter().map(|(_, row)| format!("{row}\n")).collect();
        fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let (ours, theirs) = (found.ours.as_secs_f64(), found.theirs.as_secs_f64());
    let mean = |seconds: f64| seconds * 1e3 / options.cases.max(1) as f64;
    let cases = options.cases;
    println!("{cases} cases from seed {}, of which Codex refuses {}", options.seed, found.failed);
    println!("a process takes {:.1} ms here, {:.1} ms there", mean(ours), mean(theirs));
    found.differences.iter().take(SHOWN).for_each(|difference| println!("{difference}"));
    match found.differences.len() {
        0 => Ok(()),
        several => Err(Failure::Work(format!("{several} answers differ"))),
    }
}

fn read(arguments: &[String]) -> Result<Options, Failure> {
    let mut options = Options { binary: None, ours: None, cases: 5_000, seed: 1, record: None };
    let mut words = arguments.iter();
    while let Some(name) = words.next() {
        let wrong = || Failure::Usage(format!("`cargo xtask codex-diff` takes {ARGUMENTS}"));
        let value = words.next().ok_or_else(wrong)?;
        match name.as_str() {
            "--binary" => options.binary = Some(value.into()),
            "--ours" => options.ours = Some(value.into()),
            "--record" => options.record = Some(value.into()),
            "--cases" => options.cases = value.parse().map_err(|_| wrong())?,
            "--seed" => options.seed = value.parse().map_err(|_| wrong())?,
            _ => return Err(wrong()),
        }
    }
    Ok(options)
}
