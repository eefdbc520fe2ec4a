//! The fuzzer for slowness: payloads that are made to take long, and how long the hook takes for each.
//!
//! A hook that answers too late is as good as none. What bounds its work is counted in steps, which the tests hold
//! (`openoxide-engine`, `steps`); this campaign measures what the steps cost.

mod hook_call;
mod inputs;
mod kind_times;
mod payloads;
mod repositories;
mod scripts;
mod slow_files;
mod world;

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use crate::{Failure, setup, workspace::test_program};

use self::{
    hook_call::run_hook,
    kind_times::KindTimes,
    payloads::{KINDS, payload},
    world::World,
};

/// The arguments of the verb.
pub(crate) const ARGUMENTS: &str =
    "[--cases N] [--seed S] [--from CASE] [--most-ms M] [--program FILE]";

/// The number of hooks that run at once. More would measure the load of the others.
const WORKERS: u64 = 2;

/// The settings of a run.
struct Settings {
    cases: u64,
    seed: u64,
    /// The first case.
    from: u64,
    /// The processor time that one payload may take.
    most: Duration,
    program: PathBuf,
}

/// Runs the hook on as many payloads as `arguments` ask for. Fails if one took too long or had no answer, or if a kind never ran.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let settings = Settings::read(arguments)?;
    setup::programs(setup::SLOWNESS)?;
    let world = World::new()?;
    let (next, times) = (AtomicU64::new(settings.from), KindTimes::new());
    let since = Instant::now();
    let results: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let work = || run_cases(&settings, &world, &next, &times);
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".to_owned())))
            .collect()
    });
    results.into_iter().collect::<Result<(), String>>()?;
    let worst = times.print()?;
    let (cases, seconds) = (settings.cases, since.elapsed().as_secs_f64());
    println!(
        "{cases} payloads (seed {}) in {seconds:.0} s; the worst took {} ms of processor time",
        settings.seed,
        worst.as_millis()
    );
    match worst > settings.most {
        true => Err(format!("the worst may take {} ms", settings.most.as_millis()).into()),
        false => Ok(()),
    }
}

/// Runs one case after the other, until all have run.
fn run_cases(
    settings: &Settings,
    world: &World,
    next: &AtomicU64,
    times: &KindTimes,
) -> Result<(), String> {
    let project = world.project();
    loop {
        let case = next.fetch_add(1, Ordering::Relaxed);
        if case >= settings.from + settings.cases {
            return Ok(());
        }
        let payload = payload(case, settings.seed, &project);
        let time = run_hook(&settings.program, world, case, &payload)?;
        times.add(payload.kind, case, time);
    }
}

impl Settings {
    fn read(arguments: &[String]) -> Result<Self, Failure> {
        let (mut cases, mut seed, mut from, mut most, mut program) = (1_000, 1, 0, 500, None);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value =
                words.next().ok_or_else(|| Failure::Usage(format!("`{word}` needs a value")))?;
            let number = || {
                value.parse::<u64>().map_err(|_| Failure::Usage(format!("`{word}` needs a number")))
            };
            match word.as_str() {
                "--cases" => cases = number()?,
                "--seed" => seed = number()?,
                "--from" => from = number()?,
                "--most-ms" => most = number()?,
                "--program" => program = Some(PathBuf::from(value)),
                _ => {
                    return Err(Failure::Usage(format!(
                        "`cargo xtask slowness` takes no `{word}`"
                    )));
                }
            }
        }
        if cases < KINDS.len() as u64 {
            let why = format!("`--cases` is at least {}, one of each kind", KINDS.len());
            return Err(Failure::Usage(why));
        }
        let program = program.map_or_else(|| test_program("openoxide-cli"), Ok)?;
        Ok(Self { cases, seed, from, most: Duration::from_millis(most), program })
    }
}
