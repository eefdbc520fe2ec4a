//! The results of the referee, in numbers.

use std::{collections::BTreeMap, time::Duration};

use openoxide_protocol::OperationFacts;

use super::{
    compare::{self, Miss},
    deeds::Deeds,
    generate::{BUILTINS, CONSTRUCTS},
    work::Case,
};

/// The exit status of a shell after a syntax error in its script.
const SYNTAX_ERROR: i32 = 2;
/// The lowest status that stands for a signal.
const SIGNALS: i32 = 1000;
/// The number of lost scripts per thousand that is accepted as accidental.
const MOST_LOST: usize = 2;

/// A miss, and the case that showed it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) case: Case,
    pub(crate) miss: Miss,
    pub(crate) number: u64,
    pub(crate) seed: u64,
}

impl Found {
    fn report(&self) -> String {
        let facts = compare::facts(&self.case);
        let said: String =
            compare::lines(&facts).iter().map(|line| format!("  => {line}\n")).collect();
        format!(
            "MISS {} (seed {}, case {}, luck {})\n{}\n{said}",
            self.miss, self.seed, self.number, self.case.luck, self.case.script
        )
    }
}

/// Sums over all scripts.
#[derive(Debug, Default)]
pub(crate) struct Score {
    run: usize,
    /// The shell read the script to its end.
    valid: usize,
    killed: usize,
    did_something: usize,
    opaque: usize,
    programs: usize,
    files: usize,
    /// Programs ran, and all of them are read-only according to the analysis.
    harmless: usize,
    /// Programs that the analysis reported, if the shell was not killed and nothing was opaque, and
    /// those of them that never started.
    listed: usize,
    idle: usize,
    /// Scripts that did not run, because the analysis reports that it does not understand them.
    pub(crate) passed_over: usize,
    /// Scripts that must not run even here.
    pub(crate) refused: usize,
    /// The reasons for which scripts have no result.
    pub(crate) lost: Vec<String>,
    pub(crate) misses: Vec<Found>,
    constructs: BTreeMap<&'static str, usize>,
}

impl Score {
    /// Returns whether each of these constructs has run.
    pub(crate) fn covers(&self, tags: &[&str]) -> bool {
        tags.iter().all(|tag| self.constructs.contains_key(tag))
    }

    /// Adds the results of one script.
    pub(crate) fn count(&mut self, facts: &OperationFacts, deeds: &Deeds, tags: &[&'static str]) {
        let valid = deeds.status != SYNTAX_ERROR;
        self.run += 1;
        self.valid += usize::from(valid);
        self.killed += usize::from(deeds.status >= SIGNALS);
        let did = !deeds.started.is_empty() || deeds.written.iter().any(|each| each.by_shell);
        self.did_something += usize::from(did);
        self.harmless += usize::from(!deeds.started.is_empty() && compare::is_harmless(facts));
        self.programs += deeds.started.len();
        self.files += deeds.written.iter().filter(|each| each.by_shell).count();
        if did && compare::is_opaque(facts) {
            self.opaque += 1;
        } else if valid && deeds.status < SIGNALS {
            self.count_idle(facts, deeds);
        }
        if valid {
            for tag in tags {
                *self.constructs.entry(tag).or_default() += 1;
            }
        }
    }

    fn count_idle(&mut self, facts: &OperationFacts, deeds: &Deeds) {
        for exec in compare::programs(facts) {
            let name = exec.argv.known_word(0).unwrap_or_default();
            if !BUILTINS.contains(&name) {
                self.listed += 1;
                let started = deeds.started.iter().any(|started| compare::can_be(exec, started));
                self.idle += usize::from(!started);
            }
        }
    }

    /// Adds what another worker has counted.
    pub(crate) fn add(&mut self, other: Self) {
        self.run += other.run;
        self.valid += other.valid;
        self.killed += other.killed;
        self.did_something += other.did_something;
        self.opaque += other.opaque;
        self.programs += other.programs;
        self.files += other.files;
        self.harmless += other.harmless;
        self.listed += other.listed;
        self.idle += other.idle;
        self.passed_over += other.passed_over;
        self.refused += other.refused;
        self.lost.extend(other.lost);
        self.misses.extend(other.misses);
        for (construct, count) in other.constructs {
            *self.constructs.entry(construct).or_default() += count;
        }
    }

    /// Returns the report as text.
    pub(crate) fn report(&self, time: Duration, coverage: bool) -> String {
        let mut text = String::new();
        if coverage {
            text = CONSTRUCTS.iter().map(|name| self.line(name)).collect();
        }
        text.extend(self.misses.iter().map(Found::report));
        text.extend(self.lost.iter().take(5).map(|why| format!("lost: {why}\n")));
        text + &self.sums(time)
    }

    fn line(&self, construct: &str) -> String {
        format!("{construct:<28} {}\n", self.constructs.get(construct).copied().unwrap_or_default())
    }

    fn sums(&self, time: Duration) -> String {
        let seconds = time.as_secs_f64();
        let share = |part: usize, whole: usize| 100.0 * as_f64(part) / as_f64(whole.max(1));
        format!(
            "{} scripts in {seconds:.1} s ({:.0} a second): {} read to the end, {} killed, {} lost, {} refused\n\
             {} more were opaque and did not run\n\
             {} did something ({} programs, {} files), {} of these were opaque, {} all harmless\n\
             {} programs listed where nothing was opaque, {:.1} % of them never started\n\
             {} missed\n",
            self.run,
            as_f64(self.run) / seconds.max(0.001),
            self.valid,
            self.killed,
            self.lost.len(),
            self.refused,
            self.passed_over,
            self.did_something,
            self.programs,
            self.files,
            self.opaque,
            self.harmless,
            self.listed,
            share(self.idle, self.listed),
            self.misses.len()
        )
    }

    /// Returns an error if the analysis missed something, too many scripts were lost, or a
    /// construct is absent.
    pub(crate) fn verdict(&self, coverage: bool) -> Result<(), String> {
        let absent = self.absent();
        if !self.misses.is_empty() {
            return Err(format!("the analysis missed something in {} scripts", self.misses.len()));
        }
        if self.lost.len() * 1000 > self.run * MOST_LOST {
            return Err(format!("{} scripts were lost", self.lost.len()));
        }
        if coverage && !absent.is_empty() {
            return Err(format!("no script that ran holds: {}", absent.join(", ")));
        }
        Ok(())
    }

    fn absent(&self) -> Vec<&'static str> {
        CONSTRUCTS.iter().copied().filter(|name| !self.constructs.contains_key(name)).collect()
    }
}

fn as_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
