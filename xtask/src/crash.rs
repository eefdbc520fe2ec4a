//! The crash campaign: processes that ask, answer, grant and record are killed at random times.
//! Then the guarantees about the stored data are checked.

pub(crate) mod chance;
mod ledger;
mod round;
mod stage;
mod verdict;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use crate::{Failure, workspace::test_program};

use self::{chance::Chance, ledger::Ledger, stage::Stage};

/// The arguments of the command.
pub(crate) const ARGUMENTS: &str = "[--kills N] [--seed S]";

/// The number of rounds that run at once.
const WORKERS: u64 = 16;

/// The state that the threads share, with the number of kills after which they stop.
struct Campaign<'a> {
    stage: &'a Stage,
    ledger: &'a Ledger,
    kills: u64,
    rounds: AtomicU64,
}

/// Kills as many processes as `arguments` request, and then checks the guarantees about the stored
/// data.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let (kills, seed) = read(arguments)?;
    let stage = Stage::build(test_program("openoxide-cli")?)?;
    let (ledger, since) = (Ledger::default(), Instant::now());
    let campaign = Campaign { stage: &stage, ledger: &ledger, kills, rounds: AtomicU64::new(0) };
    campaign.run(seed)?;
    let rounds = campaign.rounds.into_inner();
    println!("{rounds} rounds, {} in {:.0} s", ledger.summary(), since.elapsed().as_secs_f64());
    let broken = verdict::broken(&stage, &ledger)?;
    broken.iter().for_each(|promise| println!("BROKEN {promise}"));
    if !broken.is_empty() {
        return Err(format!("{} promises are broken", broken.len()).into());
    }
    println!("every promise holds");
    Ok(())
}

fn read(arguments: &[String]) -> Result<(u64, u64), Failure> {
    let (mut kills, mut seed) = (500, 1);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let number = words.next().and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| Failure::Usage(format!("`{word}` needs a number")))?;
        match word.as_str() {
            "--kills" => kills = number,
            "--seed" => seed = number,
            _ => return Err(Failure::Usage(format!("`cargo xtask crash` takes no `{word}`"))),
        }
    }
    Ok((kills, seed))
}

impl Campaign<'_> {
    fn run(&self, seed: u64) -> Result<(), String> {
        std::thread::scope(|scope| {
            let work = |worker| move || self.work(Chance::new(seed ^ (worker << 32)));
            let threads: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(work(worker))).collect();
            let mut ends = threads.into_iter().map(|thread| thread.join());
            ends.try_for_each(|end| end.map_err(|_| "a worker failed".to_owned())?)
        })
    }

    fn work(&self, mut chance: Chance) -> Result<(), String> {
        while self.ledger.kills() < self.kills {
            let number = self.rounds.fetch_add(1, Ordering::Relaxed);
            round::play(self.stage, self.ledger, number, &mut chance)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(read(&words("--seed 7 --kills 9")).ok(), Some((9, 7)));
        assert_eq!(read(&[]).ok(), Some((500, 1)));
        assert!(read(&words("--kills")).is_err() && read(&words("--x 1")).is_err());
    }
}
