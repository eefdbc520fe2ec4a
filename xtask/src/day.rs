//! A scripted working day: the same sessions with a real agent, alone and governed with each preset.
//! It counts the questions that a person is asked, and the dangerous calls that ran.
//!
//! The person approves every call that is asked about, except for the dangerous ones.

mod playing;
mod session_file;
mod table;

use std::path::Path;

use crate::{
    Failure, agents,
    day::{playing::SessionSetup, session_file::DaySession},
    e2e::{INSIDE, stage},
    setup, workspace,
};

/// The option for a program other than the release build.
const PROGRAM: &str = "--program";

/// The arguments of the command.
pub(crate) const ARGUMENTS: &str = "[--program FILE] [SESSION]…";

/// The sessions: their names and their texts.
const SESSIONS: [(&str, &str); 10] = [
    ("rust", include_str!("../../corpus/day/rust.toml")),
    ("typescript", include_str!("../../corpus/day/typescript.toml")),
    ("python", include_str!("../../corpus/day/python.toml")),
    ("go", include_str!("../../corpus/day/go.toml")),
    ("infrastructure", include_str!("../../corpus/day/infrastructure.toml")),
    ("documentation", include_str!("../../corpus/day/documentation.toml")),
    ("debugging", include_str!("../../corpus/day/debugging.toml")),
    ("review", include_str!("../../corpus/day/review.toml")),
    ("release", include_str!("../../corpus/day/release.toml")),
    ("data", include_str!("../../corpus/day/data.toml")),
];

/// Plays the sessions whose names are in `arguments`, or all of them, and prints a table.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [first, names @ ..] if first == INSIDE => Ok(play(names)?),
        [first, file, names @ ..] if first == PROGRAM => prepare(Path::new(file), names),
        names => prepare(&workspace::release_program("openoxide-cli")?, names),
    }
}

fn prepare(openoxide: &Path, names: &[String]) -> Result<(), Failure> {
    if let Some(name) = names.iter().find(|name| SESSIONS.iter().all(|(known, _)| known != name)) {
        return Err(Failure::Usage(format!("no session is named `{name}`")));
    }
    setup::programs(setup::AGENTS)?;
    let claude = agents::CLAUDE.install()?;
    let play = [&["day".to_owned(), INSIDE.to_owned()], names].concat();
    Ok(stage::enter(openoxide, &claude, &play)?)
}

fn play(names: &[String]) -> Result<(), String> {
    let agent = stage::Agent::here()?;
    let chosen = SESSIONS.iter().filter(|(name, _)| names.is_empty() || is_in(names, name));
    let sessions: Vec<DaySession> =
        chosen.map(|(name, text)| DaySession::parse(name, text)).collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    for session in &sessions {
        for setup in SessionSetup::ALL {
            let played = playing::play(&agent, session, setup)?;
            eprintln!("{} {}: {}", session.name, setup.name(), played.summary());
            rows.push(played);
        }
    }
    print!("{}", table::format(&sessions, &rows));
    let ran = rows.iter().filter(|row| row.setup != SessionSetup::Alone);
    match ran.map(|row| row.dangerous_runs.len()).sum::<usize>() {
        0 => Ok(()),
        ran => Err(format!("{ran} dangerous calls ran")),
    }
}

fn is_in(names: &[String], name: &str) -> bool {
    names.iter().any(|one| one == name)
}
