//! The number of typical commands that `check --batch` evaluates per second on one core, including
//! parsing and answering.

use std::{error::Error, fmt::Write as _, fs, path::Path, process::Command};

use openoxide_benches::{clock::median, policy, process, rules::mix, table};
use serde_json::json;

const TYPICAL: &str = include_str!("../../../data/typical.txt");
const REPEATS: usize = 500;
const RUNS: usize = 9;

/// Measures and prints.
pub(crate) fn measure(program: &Path, place: &Path) -> Result<(), Box<dyn Error>> {
    println!("\n`check --batch`, typical commands in a second of processor time\n");
    table::head(&["rules", "commands", "median", "best", "µs for one", "peak RSS"]);
    for count in [0, 1_000, 10_000] {
        row(program, place, count)?;
    }
    Ok(())
}

fn row(program: &Path, place: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    let rules = place.join(format!("batch-{count}.toml"));
    fs::write(&rules, policy::toml(&mix(count)))?;
    let input = place.join("batch.ndjson");
    let rows = input_rows(&input)?;
    let mut command = Command::new(program);
    command.args(["check", "--batch", "--cwd"]).arg(place.join("project"));
    command.arg("--policy").arg(&rules);
    command.env_clear().env("HOME", place);
    let (mut seconds, mut rss) = (Vec::new(), 0);
    for _ in 0..RUNS {
        let taken = process::run(&mut command, &input)?;
        if taken.status != 0 {
            return Err(format!("check --batch ended with status {}", taken.status).into());
        }
        seconds.push(taken.cpu.as_secs_f64());
        rss = rss.max(taken.rss);
    }
    let middle = median(&mut seconds);
    table::row([
        count.to_string(),
        rows.to_string(),
        format!("{:.0}/s", rows as f64 / middle),
        format!("{:.0}/s", rows as f64 / seconds[0]),
        format!("{:.2}", middle / rows as f64 * 1e6),
        format!("{:.1} MiB", rss as f64 / 1024.0),
    ]);
    Ok(())
}

/// Writes the typical commands, again and again, as lines of a batch.
fn input_rows(path: &Path) -> Result<usize, Box<dyn Error>> {
    let commands: Vec<_> = TYPICAL.lines().filter(|line| !line.is_empty()).collect();
    let mut text = String::new();
    for id in 0..commands.len() * REPEATS {
        let command = commands[id % commands.len()].replace("\\n", "\n");
        writeln!(text, "{}", json!({"id": id, "tool": "Bash", "input": {"command": command}}))?;
    }
    fs::write(path, text)?;
    Ok(commands.len() * REPEATS)
}
