//! Asks about the requests in a JSON file, and prints the answers as JSON: `ask FILE [SECONDS]`.
//!
//! The question is withdrawn after the given number of seconds.
#![expect(clippy::print_stdout, reason = "the program's own voice")]

use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use openoxide_protocol::ApprovalRequest;
use openoxide_tui::{AskOptions, InputMode, TextStyle, ask_group};

fn main() -> ExitCode {
    match answers() {
        Ok(json) => println!("{json}"),
        Err(error) => {
            // The terminal may be what failed.
            writeln!(io::stderr(), "error: {error}").ok();
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn answers() -> Result<String, Box<dyn Error>> {
    let file = env::args().nth(1).ok_or("usage: ask FILE [SECONDS]")?;
    let requests: Vec<ApprovalRequest> = serde_json::from_slice(&fs::read(file)?)?;
    let withdrawn =
        env::args().nth(2).map(|seconds| seconds.parse().map(raised_after)).transpose()?;
    let input = InputMode::from_term(env::var("TERM").ok().as_deref());
    let style = if env::var_os("NO_COLOR").is_some() { TextStyle::Plain } else { TextStyle::Ansi };
    let options = AskOptions { style, input, withdrawn, history_lookup: None };
    Ok(serde_json::to_string(&ask_group(&requests, &options)?)?)
}

fn raised_after(seconds: u64) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(seconds));
        raised.store(true, Ordering::Relaxed);
    });
    flag
}
