//! Running the cases on several stages at once.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use super::{
    chance::Chance,
    compare, corpus,
    generate::Generator,
    options::{Options, Shell},
    report::{Found, Score},
    shrink,
    stage::{Ground, Stage},
};

/// The minimum number of scripts for which every construct must occur.
const ENOUGH_FOR_ALL: u64 = 10_000;
/// The number of misses that are shortened. Each takes a few hundred runs, and this many misses
/// already show that something is broken.
const MOST_SHRUNK: usize = 24;
/// The number of lost stages above which the run fails.
const MOST_LOST: usize = 100;
/// One in this number of opaque scripts is run, for the figures. The others are skipped, because an
/// opaque script is always asked about, so nothing can be missed in it. An opaque script with a
/// construct that has not run yet is also run.
const OPAQUE_RUN: u64 = 16;

/// A script with its options.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) script: String,
    pub(crate) shell: Shell,
    /// The number that determines the output and the exit status of the stubs.
    pub(crate) luck: u32,
}

impl Case {
    /// Returns a case without a script.
    pub(crate) fn new(options: &Options) -> Self {
        let luck = u32::try_from(options.seed % 1_000_003).unwrap_or_default();
        Self { script: String::new(), shell: options.shell, luck }
    }

    /// Returns the script as bash would be given it.
    pub(crate) fn for_bash(&self) -> String {
        match self.shell {
            Shell::Bash => self.script.clone(),
            Shell::Dash => format!("dash -c '{}'", self.script.replace('\'', "'\\''")),
        }
    }
}

/// The work that the threads share.
#[derive(Debug)]
pub(crate) struct Work {
    options: Options,
    generator: Generator,
    /// The number of the next script.
    next: AtomicU64,
    /// The number of scripts that have run.
    run: AtomicU64,
}

impl Work {
    /// Collects the initial scripts of the generator.
    pub(crate) fn new(options: Options) -> Result<Self, String> {
        let generator = Generator::new(corpus::scripts()?);
        let next = AtomicU64::new(options.from);
        Ok(Self { options, generator, next, run: AtomicU64::new(0) })
    }

    /// Returns whether enough scripts run to require every construct among them.
    pub(crate) const fn demands_coverage(&self) -> bool {
        self.options.cases >= ENOUGH_FOR_ALL && matches!(self.options.shell, Shell::Bash)
    }

    /// Runs all cases.
    pub(crate) fn run(&self, ground: &Ground) -> Result<Score, String> {
        let total = Mutex::new(Score::default());
        let results: Vec<Result<(), String>> = thread::scope(|scope| {
            let jobs = (0..self.options.jobs.max(1)).map(|index| {
                scope.spawn({
                    let total = &total;
                    move || self.job(index, ground, total)
                })
            });
            let jobs: Vec<_> = jobs.collect();
            let gone = |_| Err("a worker is gone".to_owned());
            jobs.into_iter().map(|job| job.join().unwrap_or_else(gone)).collect()
        });
        results.into_iter().collect::<Result<Vec<()>, String>>()?;
        Ok(total.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn job(&self, index: usize, ground: &Ground, total: &Mutex<Score>) -> Result<(), String> {
        let mut score = Score::default();
        let mut stage = Stage::open(ground, index)?;
        while self.run.load(Ordering::Relaxed) < self.options.cases {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if stage.is_worn() {
                stage = Stage::open(ground, index)?;
            }
            if let Err(why) = self.case(number, &mut stage, &mut score) {
                // A script that ends the stage does not affect other scripts.
                score.lost.push(why);
                if score.lost.len() > MOST_LOST {
                    return Err(format!(
                        "the stage falls again and again: {:?}",
                        score.lost.last()
                    ));
                }
                stage = Stage::open(ground, index)?;
            }
        }
        total.lock().unwrap_or_else(PoisonError::into_inner).add(score);
        Ok(())
    }

    /// Runs the case `number`. The same number with the same seed gives the same script in every
    /// worker.
    fn case(&self, number: u64, stage: &mut Stage, score: &mut Score) -> Result<(), String> {
        let mut chance =
            Chance::new(self.options.seed.wrapping_mul(1_000_003).wrapping_add(number) << 1);
        let (script, tags) = self.generator.script(number, self.options.shell, &mut chance);
        let luck = u32::try_from(chance.below(1 << 20)).unwrap_or_default();
        if !self.generator.accepts(&script) {
            score.refused += 1;
            return Ok(());
        }
        let case = Case { script, shell: self.options.shell, luck };
        let facts = compare::facts(&case);
        let is_wanted = number.is_multiple_of(OPAQUE_RUN) || !score.covers(&tags);
        if compare::is_opaque(&facts) && !is_wanted {
            score.passed_over += 1;
            return Ok(());
        }
        self.run.fetch_add(1, Ordering::Relaxed);
        if self.options.cases == 1 {
            println!("{}", case.script); // Somebody looks for what it is.
        }
        let deeds = stage.run(&case)?;
        score.count(&facts, &deeds, &tags);
        if let Some(miss) = compare::judge(&facts, &deeds) {
            eprintln!(
                "missed: {miss} (seed {}, case {number})\n{}",
                self.options.seed, case.script
            );
            let found = Found { case, miss, number, seed: self.options.seed };
            let shrunk = score.misses.len() < MOST_SHRUNK;
            score.misses.push(if shrunk { shrink::shrink(found, stage) } else { found });
        }
        Ok(())
    }
}
