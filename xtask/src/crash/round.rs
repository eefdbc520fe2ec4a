//! One round: one process asks, others answer, and processes chosen at random are killed.

use std::{
    process::{Child, Command},
    time::Duration,
};

use serde_json::Value;

use super::{
    chance::Chance,
    ledger::{Answer, Entry, Ledger},
    stage::{Stage, tool},
};

/// The maximum number of attempts to find the request.
const LOOKS: u64 = 60;

pub(super) fn play(
    stage: &Stage,
    ledger: &Ledger,
    number: u64,
    chance: &mut Chance,
) -> Result<(), String> {
    stage.tool(number)?;
    let script = format!("{} go", tool(number));
    let mut asker = start(&mut stage.command(&["run", "--no-input", "--wait=120", "-c", &script]))?;
    if chance.percent(25) {
        std::thread::sleep(chance.within(60));
        kill(&mut asker, ledger)?;
    }
    let mut entry = Entry { number, ..Entry::default() };
    entry.id = find(stage, ledger, &script, &mut asker, chance)?;
    if let Some(id) = entry.id.clone() {
        entry.acknowledged = answer(stage, ledger, &id, chance)?;
    }
    if entry.acknowledged.is_empty() || chance.percent(30) {
        std::thread::sleep(chance.within(60));
        kill(&mut asker, ledger)?;
    }
    entry.status = asker.wait().map_err(|error| error.to_string())?.code();
    ledger.add(entry);
    Ok(())
}

fn start(command: &mut Command) -> Result<Child, String> {
    command.spawn().map_err(|error| format!("cannot start the program: {error}"))
}

/// Kills a process that still runs. Only such kills are counted.
fn kill(child: &mut Child, ledger: &Ledger) -> Result<(), String> {
    if child.try_wait().map_err(|error| error.to_string())?.is_none() {
        child.kill().map_err(|error| error.to_string())?;
        ledger.killed();
    }
    Ok(())
}

/// Finds the request with `openoxide pending`, and returns its id.
fn find(
    stage: &Stage,
    ledger: &Ledger,
    script: &str,
    asker: &mut Child,
    chance: &mut Chance,
) -> Result<Option<String>, String> {
    for _ in 0..LOOKS {
        if chance.percent(10) {
            let mut looker = start(&mut stage.command(&["pending"]))?;
            std::thread::sleep(chance.within(20));
            kill(&mut looker, ledger)?;
            drop(looker.wait());
        }
        let (status, text) = stage.run(&["pending", "--json"])?;
        match status {
            Some(0) => {}
            // Sixteen processes run at once on a busy machine. A process that does not get the lock
            // in time reports an error, which is correct.
            Some(1) if text.contains("kept it locked for too long") => ledger.was_busy(),
            _ => return Err(format!("`pending` ended with {status:?}: {text}")),
        }
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut ours = lines.filter(|request| request.get("content").is_some_and(|c| c == script));
        if let Some(request) = ours.next() {
            return Ok(request.get("id").and_then(Value::as_str).map(str::to_owned));
        }
        if asker.try_wait().map_err(|error| error.to_string())?.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    Ok(None)
}

/// Starts one or two answers at once, and returns those that were acknowledged.
fn answer(
    stage: &Stage,
    ledger: &Ledger,
    id: &str,
    chance: &mut Chance,
) -> Result<Vec<Answer>, String> {
    let mut answering = Vec::new();
    for _ in 0..=chance.below(2) {
        let (answer, words) = match chance.below(4) {
            0 => (Answer::No, vec!["deny", id]),
            1 | 2 => (Answer::Project, vec!["approve", id, "--scope", "project"]),
            _ => (Answer::Once, vec!["approve", id]),
        };
        answering.push((answer, start(&mut stage.command(&words))?));
    }
    let mut acknowledged = Vec::new();
    for (answer, mut child) in answering {
        if chance.percent(40) {
            std::thread::sleep(chance.within(25));
            kill(&mut child, ledger)?;
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        acknowledged.extend(status.success().then_some(answer));
    }
    Ok(acknowledged)
}
