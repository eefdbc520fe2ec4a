//! Positive controls: command lines that are known to spring a trap, each in a project with that trap alone.

use std::{collections::VecDeque, fs, sync::Mutex};

use super::{
    installation::Installation,
    judge::{self, Bench, Kind},
    machine::Machine,
    trap::{Selection, Trap},
};
use crate::{Failure, workspace};

/// The time limit of a control, in seconds.
const SECONDS: u32 = 60;

/// A command line, and the trap that it springs.
struct Control {
    /// The trap, and what else has to be there.
    traps: Vec<String>,
    /// The programs without which it cannot be run.
    needs: Vec<String>,
    script: String,
}

/// The outcome of a control.
enum Outcome {
    Fired,
    /// The program did something, or nothing, and not what the trap is for.
    Silent(String),
    /// A program is not there.
    NotRun(String),
}

/// Runs the controls whose programs are wanted, and fails if a trap was not sprung.
pub(super) fn run(
    machine: &Machine,
    installation: &Installation,
    jobs: usize,
    wants: impl Fn(&str) -> bool,
) -> Result<(), Failure> {
    let mut wanted: VecDeque<_> = read()?.into_iter().enumerate().collect();
    wanted.retain(|(_, control)| control.needs.iter().all(|name| wants(name)));
    let queue = Mutex::new(wanted);
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((number, control)) =
                    queue.lock().ok().and_then(|mut queue| queue.pop_front())
                {
                    let outcome = spring(number, &control, machine, installation);
                    if let Ok(mut outcomes) = outcomes.lock() {
                        outcomes.push((control, outcome));
                    }
                }
            });
        }
    });
    report(&outcomes.into_inner().map_err(|_| "a thread failed".to_owned())?)
}

/// Reads `controls.tsv`.
fn read() -> Result<Vec<Control>, String> {
    let path = workspace::root().join("corpus/programs/controls.tsv");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let control = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [traps, needs, script] = fields[..] else {
            return Err(format!("controls.tsv: `{line}` has not three fields"));
        };
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Ok(Control { traps: words(traps), needs: words(needs), script: script.to_owned() })
    };
    text.lines().skip(1).filter(|line| !line.is_empty()).map(control).collect()
}

fn spring(
    number: usize,
    control: &Control,
    machine: &Machine,
    installation: &Installation,
) -> Outcome {
    if let Some(missing) = control.needs.iter().find(|name| !machine.has(name)) {
        return Outcome::NotRun(missing.clone());
    }
    let name = format!("control-{number}");
    let trap = match Trap::new(machine.work(), &name, Selection::Only(&control.traps)) {
        Ok(trap) => trap,
        Err(error) => return Outcome::Silent(error),
    };
    let record = machine.run(&control.script, &trap, SECONDS);
    drop(fs::remove_dir_all(trap.directory()));
    let record = match record {
        Ok(record) => record,
        Err(error) => return Outcome::Silent(error),
    };
    let bench = Bench { trap: &trap, installation, is_harmless: &|_| false };
    let deeds = judge::deeds(&record, &control.script, &bench);
    let of_home = control.traps.first().is_some_and(|name| name.starts_with("home:"));
    let expected = if of_home { Kind::Home } else { Kind::Trap };
    if deeds.iter().any(|deed| deed.kind == expected) {
        return Outcome::Fired;
    }
    let printed: String = record.output.chars().take(300).collect();
    Outcome::Silent(printed.replace('\n', " / "))
}

fn report(outcomes: &[(Control, Outcome)]) -> Result<(), Failure> {
    let (mut fired, mut missing, mut silent) = (0, 0, 0);
    for (control, outcome) in outcomes {
        let trap = control.traps.first().map_or("", String::as_str);
        match outcome {
            Outcome::Fired => fired += 1,
            Outcome::NotRun(program) => {
                missing += 1;
                println!("not run: {trap}: `{program}` is not installed");
            }
            Outcome::Silent(output) => {
                silent += 1;
                println!("not sprung: {trap}: `{}`: {output}", control.script);
            }
        }
    }
    println!("controls: {fired} traps fired, {silent} did not, {missing} could not be tried");
    if silent > 0 {
        return Err("a trap cannot be sprung".to_owned().into());
    }
    if fired == 0 {
        return Err("no control was run".to_owned().into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_trap_has_a_control_and_every_control_a_trap() {
        let traps: BTreeSet<String> = Trap::names().into_iter().collect();
        let controls = read().unwrap();
        let named: BTreeSet<String> =
            controls.iter().flat_map(|control| control.traps.clone()).collect();
        let without: Vec<_> = traps.difference(&named).collect();
        assert!(without.is_empty(), "traps without a control: {without:?}");
        let unknown: Vec<_> =
            named.difference(&traps).filter(|name| !Trap::has_marker(name)).collect();
        assert!(unknown.is_empty(), "controls of unknown traps: {unknown:?}");
    }
}
