//! Comparison of `openoxide codex decide` with a session of the real Codex, whose model is
//! scripted. Verdict, reason, amendment and offered decisions must be the same.

mod amendments;
mod answer;
mod client;
mod compare;
mod generate;
mod leftovers;
mod model;
mod options;
mod ours;
mod rejection;
mod stage;
mod tally;
mod theirs;
mod wiring;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

use serde_json::Value;

use crate::{Failure, agents, workspace::test_program};

use self::{
    generate::{CALLS, Group},
    leftovers::Leftovers,
    model::Model,
    options::Options,
    ours::Ours,
    stage::Stage,
    tally::Tally,
};

pub(crate) use self::options::ARGUMENTS;

/// The number of differences that are shown.
const SHOWN: usize = 20;

/// The results of all threads.
#[derive(Default)]
struct Found {
    differences: Vec<String>,
    rows: Vec<(u64, Vec<Value>)>,
    tally: Tally,
}

/// The state that all threads share.
struct Shared<'a> {
    options: &'a Options,
    ours: Option<PathBuf>,
    model: Model,
    next: AtomicU64,
    found: Mutex<Found>,
}

/// Tests the settings that `openoxide init` writes, with the pinned Codex.
pub(crate) fn wiring(ours: &Path) -> Result<(), Failure> {
    let _leftovers = Leftovers::before();
    let model = Model::start().map_err(|error| error.to_string())?;
    let theirs = agents::CODEX.install()?;
    wiring::holds(ours, &theirs, &model)?;
    Ok(wiring::blocks_without_program(ours, &theirs, &model)?)
}

/// Asks both programs about as many cases as `arguments` request, and reports where they differ.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::read(arguments)?;
    let _leftovers = Leftovers::before();
    if let Some(file) = &options.amendments {
        return Ok(write(file, &amendments::rows(&options)?)?);
    }
    let model = Model::start().map_err(|error| error.to_string())?;
    let (next, found) = (AtomicU64::new(0), Mutex::default());
    let shared = Shared { ours: ours(&options)?, options: &options, model, next, found };
    let since = Instant::now();
    let jobs = thread::available_parallelism().map_or(2, std::num::NonZero::get);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(|| work(&shared))).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned()))
        })
    })?;
    println!("{} cases in {:.0} s", options.cases, since.elapsed().as_secs_f64());
    let found = shared.found.into_inner().map_err(|error| error.to_string())?;
    report(&options, found)
}

/// Returns the path of `openoxide`, or `None` if the run only records answers.
fn ours(options: &Options) -> Result<Option<PathBuf>, String> {
    match &options.ours {
        None if options.record.is_some() => Ok(None),
        None => test_program("openoxide-cli").map(Some),
        Some(path) => Ok(Some(path.clone())),
    }
}

fn work(shared: &Shared<'_>) -> Result<(), String> {
    let options = shared.options;
    let mut stage = Stage::new(&options.binary, &shared.model)?;
    let ours = shared.ours.as_deref().map(Ours::new).transpose()?;
    loop {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        let left = options.cases.saturating_sub(number * CALLS as u64);
        if left == 0 {
            return Ok(());
        }
        let mut group = Group::new(options.seed, number);
        group.setting.speak(&options.dialect);
        group.calls.truncate(usize::try_from(left).unwrap_or(CALLS));
        ask(shared, &mut stage, ours.as_ref(), number, &group)
            .map_err(|why| format!("group {number}: {why}"))?;
    }
}

fn ask(
    shared: &Shared<'_>,
    stage: &mut Stage,
    ours: Option<&Ours>,
    number: u64,
    group: &Group,
) -> Result<(), String> {
    let theirs = theirs::answers(stage, &shared.model, number, group)?;
    let ours = ours.map_or_else(|| Ok(theirs.clone()), |ours| ours.answers(group))?;
    let mut found = shared.found.lock().map_err(|error| error.to_string())?;
    let setting = &group.setting;
    let mut rows = Vec::new();
    for ((call, theirs), ours) in group.calls.iter().zip(&theirs).zip(&ours) {
        found.tally.count(setting, call, theirs);
        found.differences.extend(compare::difference(setting, call, ours, theirs));
        rows.push(compare::row(setting, call, theirs));
    }
    found.rows.push((number, rows));
    Ok(())
}

fn report(options: &Options, mut found: Found) -> Result<(), Failure> {
    found.rows.sort_unstable_by_key(|(number, _)| *number);
    if let Some(file) = &options.record {
        let rows: Vec<Value> = found.rows.into_iter().flat_map(|(_, rows)| rows).collect();
        write(file, &rows)?;
    }
    println!("{}", found.tally);
    found.differences.iter().take(SHOWN).for_each(|difference| println!("{difference}"));
    match found.differences.len() {
        0 => Ok(()),
        several => Err(Failure::Work(format!("{several} answers differ"))),
    }
}

fn write(file: &Path, rows: &[Value]) -> Result<(), String> {
    let text: String = rows.iter().map(|row| format!("{}\n", shown(&row.to_string()))).collect();
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Replaces characters that are not visible in a file by their JSON escapes.
fn shown(row: &str) -> String {
    let mut out = String::new();
    for c in row.chars() {
        if c.is_alphanumeric() || (' '..='~').contains(&c) {
            out.push(c);
        } else {
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units).iter();
            out.extend(units.map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_its_meaning_and_shows_every_character() {
        let row = serde_json::json!({ "cmd": "é\u{202e}\u{7f}\n😀" }).to_string();
        assert_eq!(shown(&row), r#"{"cmd":"é\u202e\u007f\n\ud83d\ude00"}"#);
        let read: Value = serde_json::from_str(&shown(&row)).unwrap();
        assert_eq!(read.to_string(), row);
    }
}
