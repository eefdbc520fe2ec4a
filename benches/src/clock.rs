//! The processor time of this thread, and rounds that are interleaved.
//!
//! The machines that run this are shared, so that wall time measures the neighbours. Every contestant runs once in each
//! round: what disturbs a round disturbs all of them, and the ratios hold.

use std::{hint::black_box, time::Duration};

/// Returns the processor time that this thread has used.
#[must_use]
pub fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec, and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// One thing to measure.
pub struct Contestant<'a> {
    /// Its name in the table.
    pub name: String,
    /// A function that does `units` units of work.
    pub work: Box<dyn FnMut() + 'a>,
    /// The number of units that `work` does.
    pub units: usize,
}

/// A measurement, in nanoseconds per unit.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The contestant's name.
    pub name: String,
    /// The median of the rounds.
    pub median: f64,
    /// The best round.
    pub min: f64,
}

/// Shorter than this, the clock itself would be measured.
const SHORTEST: Duration = Duration::from_micros(200);

/// Runs every contestant once in each round, and each long enough to be measured.
pub fn interleaved(contestants: Vec<Contestant<'_>>, rounds: usize) -> Vec<Measured> {
    let mut running: Vec<_> = contestants.into_iter().map(Running::warmed_up).collect();
    for _ in 0..rounds {
        for one in &mut running {
            let nanos = one.round();
            one.rounds.push(nanos);
        }
    }
    running.into_iter().map(Running::measured).collect()
}

struct Running<'a> {
    contestant: Contestant<'a>,
    repeats: usize,
    rounds: Vec<f64>,
}

impl<'a> Running<'a> {
    fn warmed_up(contestant: Contestant<'a>) -> Self {
        let mut this = Self { contestant, repeats: 1, rounds: Vec::new() };
        (this.contestant.work)();
        let before = thread_time();
        (this.contestant.work)();
        let one = (thread_time() - before).as_nanos().max(1);
        this.repeats = usize::try_from(SHORTEST.as_nanos() / one).unwrap_or(0) + 1;
        this
    }

    /// Returns the nanoseconds for one unit.
    fn round(&mut self) -> f64 {
        (self.contestant.work)(); // What the one before pushed out of the caches comes back.
        let before = thread_time();
        for _ in 0..self.repeats {
            black_box(&mut self.contestant.work)();
        }
        let spent = thread_time() - before;
        spent.as_nanos() as f64 / (self.repeats * self.contestant.units) as f64
    }

    fn measured(mut self) -> Measured {
        let median = median(&mut self.rounds);
        Measured { name: self.contestant.name, median, min: self.rounds[0] }
    }
}

/// Sorts, and returns the middle.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
