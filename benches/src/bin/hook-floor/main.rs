//! The cost of a hook as a whole process, compared with the cheapest possible process and with
//! other hooks; and the number of commands that `check --batch` evaluates per second.
//!
//! `cargo run --release --bin hook-floor -- [--rounds N] [--peer NAME=COMMAND]… [OPENOXIDE]`
//!
//! Without OPENOXIDE, the release build of this repository is used. A peer's command is split at
//! blanks and gets the same payload on standard input.

mod batch;
mod rows;

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use openoxide_benches::{clock::median, process, table};
use rows::Row;

/// The call that every hook is asked about.
const PAYLOAD: &str = r#"{"session_id":"5b0c","transcript_path":"/tmp/t.jsonl","cwd":"PROJECT","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git status && npm run build","description":"Build"},"tool_use_id":"toolu_01"}"#;

/// Programs slower than this many runs of `/bin/true` run in fewer rounds.
const SLOW: f64 = 20.0;

struct Arguments {
    rounds: usize,
    peers: Vec<(String, String)>,
    program: PathBuf,
}

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).is_some_and(|word| word == rows::NOTHING) {
        return Ok(());
    }
    let arguments = arguments()?;
    let place = std::env::temp_dir().join(format!("hook-floor-{}", std::process::id()));
    fs::create_dir_all(&place)?;
    let result = all(&arguments, &place);
    fs::remove_dir_all(&place)?;
    result
}

fn all(arguments: &Arguments, place: &Path) -> Result<(), Box<dyn Error>> {
    let payload = place.join("payload.json");
    let project = place.join("project");
    fs::create_dir_all(project.join(".git"))?;
    fs::create_dir_all(project.join("src/components"))?;
    fs::write(&payload, PAYLOAD.replace("PROJECT", &project.to_string_lossy()))?;
    let mut rows = rows::rows(place, &payload, &arguments.program, &arguments.peers)?;
    measure(&mut rows, &payload, arguments.rounds)?;
    print(&mut rows);
    batch::measure(&arguments.program, place)
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut arguments = Arguments { rounds: 300, peers: Vec::new(), program: PathBuf::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => arguments.rounds = words.next().ok_or("--rounds N")?.parse()?,
            "--peer" => {
                let peer = words.next().ok_or("--peer NAME=COMMAND")?;
                let (name, command) = peer.split_once('=').ok_or("--peer NAME=COMMAND")?;
                arguments.peers.push((name.to_owned(), command.to_owned()));
            }
            program => arguments.program = PathBuf::from(program),
        }
    }
    if arguments.program.as_os_str().is_empty() {
        arguments.program = release_build()?;
    }
    Ok(arguments)
}

/// Returns the newest release build that is found in the usual places.
fn release_build() -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let native = format!("{}-unknown-linux-gnu/release/openoxide", std::env::consts::ARCH);
    let places = [target.join(native), target.join("release/openoxide")];
    let found = places.into_iter().find(|place| place.is_file());
    found.ok_or_else(|| "build it first: cargo build --release -p openoxide-cli".to_owned())
}

fn measure(rows: &mut [Row], payload: &Path, rounds: usize) -> Result<(), Box<dyn Error>> {
    for round in 0..rounds {
        for row in rows.iter_mut().filter(|row| !row.slow || round % 10 == 0) {
            let taken = process::run(&mut row.command, payload)?;
            row.walls.push(taken.wall.as_nanos() as f64);
            row.rss = row.rss.max(taken.rss);
        }
        if round == 2 {
            let floor = median(&mut rows[0].walls.clone());
            for row in rows.iter_mut() {
                row.slow = median(&mut row.walls.clone()) > SLOW * floor;
            }
        }
    }
    Ok(())
}

fn print(rows: &mut [Row]) {
    let floor = (median(&mut rows[0].walls), rows[0].walls[0]);
    println!("\nA whole process, `git status && npm run build` on standard input\n");
    table::head(&["program", "median", "min", "× /bin/true (medians)", "(mins)", "peak RSS", "n"]);
    for row in rows {
        let (middle, least) = (median(&mut row.walls), row.walls[0]);
        table::row([
            row.name.clone(),
            table::time(middle),
            table::time(least),
            format!("{:.2}", middle / floor.0),
            format!("{:.2}", least / floor.1),
            format!("{:.1} MiB", row.rss as f64 / 1024.0),
            row.walls.len().to_string(),
        ]);
    }
}
