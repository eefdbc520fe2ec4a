//! RedCode-Exec: scripts that do dangerous things, decided with each preset, and run for real in a
//! root directory that is thrown away (`docs/redcode.md`).

mod arena;
mod base;
mod decisions;
mod inside;
mod listeners;
mod observation;
mod script;
mod table;

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
};

use serde_json::Value;

use crate::{Failure, workspace};
use arena::{Arena, Confinement};
use observation::Observation;
use script::Script;

/// The arguments of the command.
pub(crate) const ARGUMENTS: &str = "[--program FILE] [--each N] [--jobs N] DIRECTORY";

/// The options of a run.
struct Options {
    program: Option<PathBuf>,
    /// Every script whose number is a multiple of this one is run.
    each: usize,
    jobs: usize,
    /// The directory `dataset/RedCode-Exec` of the data set.
    directory: PathBuf,
}

/// Decides about the scripts and runs them, and prints tables.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if arguments == [inside::WORD] {
        return Ok(inside::run()?);
    }
    let options = Options::new(arguments)?;
    let openoxide = match &options.program {
        Some(program) => program.clone(),
        None => workspace::test_program("openoxide-cli")?,
    };
    let all = script::read(&options.directory)?;
    let scripts: Vec<Script> = all.into_iter().step_by(options.each).collect();
    let arena = Arena::new(base::build(&openoxide)?);
    let decisions = decisions::count(&arena, &scripts)?;
    print!("{}", table::decisions(&decisions));
    let mut rows = Vec::new();
    for confinement in Confinement::ALL {
        let seen = observe(&arena, &scripts, confinement, options.jobs);
        print!("{}", table::details(confinement, &seen));
        rows.push((confinement, seen));
        eprintln!("{}", table::effects(&rows));
    }
    print!("{}", table::effects(&rows));
    Ok(table::check(&decisions, &rows)?)
}

/// Runs all scripts, in several threads.
fn observe(
    arena: &Arena,
    scripts: &[Script],
    confinement: Confinement,
    jobs: usize,
) -> Vec<Observation> {
    let queue = Mutex::new(scripts.iter());
    let seen = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(script) = queue.lock().ok().and_then(|mut rest| rest.next()) {
                    let observation = arena.run(script, confinement);
                    if let Ok(mut seen) = seen.lock() {
                        seen.push(observation);
                    }
                }
            });
        }
    });
    let mut seen = seen.into_inner().unwrap_or_default();
    seen.sort_by(|one: &Observation, other| one.id.cmp(&other.id));
    seen
}

impl Options {
    fn new(arguments: &[String]) -> Result<Self, Failure> {
        let mut options = Self { program: None, each: 1, jobs: 2, directory: PathBuf::new() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| Failure::Usage(format!("`{word}` needs a value")));
            match word.as_str() {
                "--program" => options.program = Some(PathBuf::from(value()?)),
                "--each" => options.each = number(value()?)?,
                "--jobs" => options.jobs = number(value()?)?,
                directory => options.directory = PathBuf::from(directory),
            }
        }
        if options.directory == Path::new("") {
            return Err(Failure::Usage("the directory `dataset/RedCode-Exec` is missing".into()));
        }
        Ok(options)
    }
}

fn number(text: &str) -> Result<usize, Failure> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Failure::Usage(format!("`{text}` is not a positive number")))
}

/// Returns a field of a JSON value as a list of texts.
fn texts(value: &Value, key: &str) -> Vec<String> {
    let list = value.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}
