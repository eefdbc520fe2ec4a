//! The times of each kind of payload.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::{hook_call::CallTime, payloads::KINDS};

/// The times of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct KindTime {
    calls: u32,
    total: Duration,
    worst: CallTime,
    /// The case that took most processor time.
    worst_case: u64,
    /// The number of calls that the time limit of the hook ended.
    ended_early: u32,
}

/// The times of all kinds.
#[derive(Debug)]
pub(super) struct KindTimes(Mutex<Vec<KindTime>>);

impl KindTimes {
    pub(super) fn new() -> Self {
        Self(Mutex::new(vec![KindTime::default(); KINDS.len()]))
    }

    pub(super) fn add(&self, kind: usize, case: u64, time: CallTime) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of) = all.get_mut(kind) {
            of.calls += 1;
            of.total += time.processor;
            of.ended_early += u32::from(time.is_ended_early);
            of.worst.clock = of.worst.clock.max(time.clock);
            if of.worst.processor <= time.processor {
                (of.worst.processor, of.worst_case) = (time.processor, case);
            }
        }
    }

    /// Prints the times of each kind, and returns the most processor time of one call.
    ///
    /// # Errors
    /// When a kind never ran.
    pub(super) fn print(&self) -> Result<Duration, String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        println!(
            "{:<20} {:>7} {:>9} {:>9} {:>9} {:>7}",
            "kind", "calls", "mean", "worst", "clock", "ended"
        );
        for (kind, time) in KINDS.iter().zip(all.iter()) {
            let mean = time.total.checked_div(time.calls).unwrap_or_default();
            let (mean, worst) = (millis(mean), millis(time.worst.processor));
            let (name, calls, clock) = (kind.name, time.calls, time.worst.clock.as_millis());
            println!(
                "{name:<20} {calls:>7} {mean:>6.1} ms {worst:>6.1} ms {clock:>6} ms {:>7}  case {}",
                time.ended_early, time.worst_case
            );
        }
        let total: Duration = all.iter().map(|time| time.total).sum();
        let calls: u32 = all.iter().map(|time| time.calls).sum();
        println!(
            "the mean of all is {:.1} ms",
            millis(total.checked_div(calls).unwrap_or_default())
        );
        let mut missing = KINDS.iter().zip(all.iter()).filter(|(_, time)| time.calls == 0);
        match missing.next() {
            Some((kind, _)) => Err(format!("no payload of the kind `{}` ran", kind.name)),
            None => Ok(all.iter().map(|time| time.worst.processor).max().unwrap_or_default()),
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
