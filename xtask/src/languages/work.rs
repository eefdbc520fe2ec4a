//! The work on one language: programs are generated and analysed, and the harmless ones are run.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

use super::{
    chance::Chance,
    enclosure::{Enclosure, Request},
    generate::{self, Generated},
    ground::{BASE, Base, Ground},
    language::{Implementation, Language},
    options::Options,
    said::{self, Said},
};

/// One in this number of the programs that are reported but not harmless is run. The
/// implementations take turns.
const TOLD_RUN: u64 = 8;

/// The report of the enclosure about a program that a limit or a signal ended. It is not a
/// violation.
const STOPS: &str = "stops";

/// The maximum number of violations that are shown.
const MOST_SHOWN: usize = 20;

/// The results for one language.
#[derive(Debug, Default)]
pub(crate) struct Score {
    pub(crate) generated: u64,
    /// Programs that were called harmless, each counted once.
    pub(crate) harmless: u64,
    /// The number of those that contain a part of a hostile program.
    pub(crate) border: u64,
    pub(crate) opaque: u64,
    pub(crate) told: u64,
    pub(crate) told_run: u64,
    /// The number of runs, over all programs and implementations.
    pub(crate) runs: u64,
    /// The number of runs that a limit or a signal ended.
    pub(crate) stopped: u64,
    pub(crate) violations: Vec<String>,
}

struct Work<'a> {
    language: &'static Language,
    options: &'a Options,
    since: Instant,
    next: AtomicU64,
    seen: Mutex<HashSet<u64>>,
    score: Mutex<Score>,
}

/// Generates, analyses and runs as many programs of a language as `options` request.
pub(crate) fn run(
    language: &'static Language,
    options: &Options,
    ground: &Ground,
) -> Result<Score, String> {
    let work = Work {
        language,
        options,
        since: Instant::now(),
        next: AtomicU64::new(0),
        seen: Mutex::default(),
        score: Mutex::default(),
    };
    thread::scope(|scope| {
        let start = |index| {
            scope.spawn({
                let work = &work;
                move || work.take_part(ground, index)
            })
        };
        let all: Vec<_> = (0..options.jobs).map(start).collect();
        let join = |one: thread::ScopedJoinHandle<'_, Result<(), String>>| {
            one.join().unwrap_or_else(|_| Err("a worker has panicked".to_owned()))
        };
        all.into_iter().try_for_each(join)
    })?;
    Ok(work.score.into_inner().unwrap_or_else(PoisonError::into_inner))
}

impl Work<'_> {
    fn take_part(&self, ground: &Ground, index: usize) -> Result<(), String> {
        let mut enclosure = ground.enclosure(index)?;
        let mut score = Score::default();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let late = self.since.elapsed().as_secs() >= self.options.seconds;
            if late || number >= self.options.cases {
                break;
            }
            self.case(self.options.from + number, ground, &mut enclosure, &mut score)?;
        }
        self.score.lock().unwrap_or_else(PoisonError::into_inner).add(score);
        Ok(())
    }

    /// Analyses the case `number`, and runs it if it is selected. The same number of the same seed
    /// is the same program.
    fn case(
        &self,
        number: u64,
        ground: &Ground,
        enclosure: &mut Enclosure,
        score: &mut Score,
    ) -> Result<(), String> {
        let seed = self.options.seed.wrapping_mul(1_000_003).wrapping_add(number) << 1;
        let Generated { words, has_hostile_part } =
            generate::command(self.language, &mut Chance::new(seed));
        score.generated += 1;
        let said = said::ask(&words);
        match said {
            Said::Opaque => {
                score.opaque += 1;
                return Ok(());
            }
            _ if !self.is_new(&words) => return Ok(()),
            Said::Harmless { .. } => {
                score.harmless += 1;
                score.border += u64::from(has_hostile_part);
            }
            Said::Told { .. } => {
                score.told += 1;
                if !number.is_multiple_of(TOLD_RUN) {
                    return Ok(());
                }
                score.told_run += 1;
            }
        }
        for implementation in self.implementations(&said, number) {
            score.runs += 1;
            let mut deeds = attempt(
                (implementation, self.language.milliseconds),
                &words,
                &said,
                ground,
                enclosure,
            )?;
            let all = deeds.len();
            deeds.retain(|deed| deed != STOPS);
            score.stopped += u64::from(all > deeds.len());
            if deeds.is_empty() {
                continue;
            }
            let shrunk = shrink(&words, self.language.files.len(), |words| {
                let said = said::ask(words);
                said != Said::Opaque
                    && attempt(
                        (implementation, self.language.milliseconds),
                        words,
                        &said,
                        ground,
                        enclosure,
                    )
                    .is_ok_and(|deeds| deeds.iter().any(|deed| deed != STOPS))
            });
            let seed = self.options.seed;
            let shown = format!(
                "{} {:?} {deeds:?} by {said:?} (seed {seed}, case {number}): {words:?}; shortened: {shrunk:?}",
                implementation.file, implementation.called
            );
            eprintln!("violation: {shown}");
            score.violations.push(shown);
            break;
        }
        Ok(())
    }

    /// Returns the implementations that run a program: all of them if the analysis calls it
    /// harmless, and otherwise one.
    fn implementations(&self, said: &Said, number: u64) -> Vec<&'static Implementation> {
        let all = self.language.implementations;
        match said {
            Said::Harmless { .. } => all.iter().collect(),
            _ => {
                let at = usize::try_from(number / TOLD_RUN).unwrap_or_default();
                all.iter().cycle().skip(at % all.len().max(1)).take(1).collect()
            }
        }
    }

    fn is_new(&self, words: &[String]) -> bool {
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(hasher.finish())
    }
}

/// Runs a command in one implementation, and returns the actions that the analysis did not report.
pub(crate) fn attempt(
    (implementation, milliseconds): (&Implementation, u32),
    words: &[String],
    said: &Said,
    ground: &Ground,
    enclosure: &mut Enclosure,
) -> Result<Vec<String>, String> {
    let called = implementation.called.iter().map(ToString::to_string);
    let file = ground.program(implementation.file)?;
    let arguments = [file].into_iter().chain(called).chain(words.iter().skip(1).cloned());
    let base = enclosure.place().join(BASE).display().to_string();
    let mut writes = ["", "-journal", "-wal", "-shm"].map(|end| format!("{base}{end}")).to_vec();
    let mut reads = ["a", "a.json", BASE, "-"].map(str::to_owned).to_vec();
    match said {
        Said::Harmless { reads: told } => reads.extend(told.iter().cloned()),
        Said::Told { writes: told, .. } => writes.extend(told.iter().cloned()),
        Said::Opaque => {}
    }
    let request = Request { milliseconds, arguments: arguments.collect(), reads, writes };
    let kind = if let Said::Harmless { .. } = said { Base::Hostile } else { Base::Plain };
    let uses_base = implementation.file == "sqlite3";
    if uses_base && ground.is_changed(kind, enclosure.place())? {
        ground.put_base(kind, enclosure.place())?;
    }
    let mut deeds = enclosure.run(&request)?;
    if uses_base && ground.is_changed(kind, enclosure.place())? {
        deeds.push("changes the data base".to_owned());
    }
    if let Said::Told { starts, .. } = said {
        // The analysis reports that the program is not harmless: it may show the environment, and
        // change what its words name.
        deeds.retain(|deed| {
            deed.starts_with("connects")
                || deed.starts_with("writes")
                || deed.starts_with("starts") && !starts
                || deed == STOPS
        });
    }
    Ok(deeds)
}

/// Removes characters of the program, which `behind` words follow, as long as `violates` returns
/// true.
fn shrink(
    words: &[String],
    behind: usize,
    mut violates: impl FnMut(&[String]) -> bool,
) -> Vec<String> {
    let index = words.len().saturating_sub(behind + 1);
    let mut best = words.to_vec();
    let mut size = 16;
    while size > 0 {
        let mut at = 0;
        while let Some(word) = best.get(index).filter(|word| at < word.chars().count()) {
            let place = at..at + size;
            let letters = word.chars().enumerate().filter(|(each, _)| !place.contains(each));
            let kept: String = letters.map(|(_, letter)| letter).collect();
            let mut shorter = best.clone();
            if let Some(word) = shorter.get_mut(index) {
                *word = kept;
            }
            if violates(&shorter) {
                best = shorter;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    best
}

impl Score {
    fn add(&mut self, other: Self) {
        self.generated += other.generated;
        self.harmless += other.harmless;
        self.border += other.border;
        self.opaque += other.opaque;
        self.told += other.told;
        self.told_run += other.told_run;
        self.runs += other.runs;
        self.stopped += other.stopped;
        self.violations.extend(other.violations);
    }

    /// Returns the numbers as text.
    pub(crate) fn report(&self) -> String {
        let mut text = format!(
            "{} generated, {} opaque, {} different ones told ({} of them run), {} different ones harmless ({} with a hostile part); {} runs ({} of them stopped); {} violations",
            self.generated,
            self.opaque,
            self.told,
            self.told_run,
            self.harmless,
            self.border,
            self.runs,
            self.stopped,
            self.violations.len()
        );
        for violation in self.violations.iter().take(MOST_SHOWN) {
            text.push_str("\n  ");
            text.push_str(violation);
        }
        text
    }
}
