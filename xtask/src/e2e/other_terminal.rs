//! A second terminal, in which the questions of the client are answered.

use std::{
    process::{Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::world::World;

/// The time limit for a question to appear.
const LIMIT: Duration = Duration::from_secs(60);

/// Answers the next question with `openoxide approve` or `deny` as soon as it is pending. The thread
/// returns an error if no question appears.
pub(crate) fn answer_next(
    world: &World<'_>,
    verb: &'static str,
    options: &'static [&'static str],
) -> JoinHandle<Result<(), String>> {
    let (openoxide, home) = (world.openoxide().to_owned(), world.path("home"));
    let config = world.path("config");
    let openoxide = move |words: &[&str]| {
        let mut command = Command::new(&openoxide);
        command.args(words).env_clear().env("HOME", &home).env("XDG_CONFIG_HOME", &config);
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("cannot start `openoxide`: {error}"))?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    thread::spawn(move || {
        let start = Instant::now();
        while start.elapsed() < LIMIT {
            if let Some(id) = first_id(&openoxide(&["pending", "--json"])?) {
                return openoxide(&[&[verb, &id], options].concat()).map(drop);
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err("no question was pending".to_owned())
    })
}

/// Waits for the answer, and returns why there was none.
pub(crate) fn join(answered: JoinHandle<Result<(), String>>) -> Result<(), String> {
    answered.join().unwrap_or_else(|_| Err("the other terminal failed".to_owned()))
}

/// Returns the id of the first pending question.
fn first_id(lines: &[u8]) -> Option<String> {
    let line = lines.split(|byte| *byte == b'\n').next()?;
    let request: Value = serde_json::from_slice(line).ok()?;
    request.get("id")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_question_is_answered() {
        assert_eq!(first_id(b"{\"id\":\"1\"}\n{\"id\":\"2\"}\n"), Some("1".to_owned()));
        assert_eq!(first_id(b""), None);
    }
}
