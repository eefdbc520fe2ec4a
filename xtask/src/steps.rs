//! Steps: programs that run one after the other until one fails. The name and the duration of each
//! are printed.

use std::{path::Path, process::Command, time::Instant};

/// A program to run, with a short name.
#[derive(Debug)]
pub(crate) struct Step {
    /// The name that selects the step.
    pub(crate) name: &'static str,
    /// The command to run.
    pub(crate) command: Command,
}

/// Runs `steps` in order and stops at the first that fails.
///
/// The output of each program is not captured.
pub(crate) fn run_all(steps: Vec<Step>) -> Result<(), String> {
    let mut passed = 0;
    for mut step in steps {
        if let Err(why) = run_timed(&mut step) {
            println!("{passed} steps passed, 1 failed");
            return Err(format!("step `{}` failed: {why}", step.name));
        }
        passed += 1;
    }
    println!("{passed} steps passed, 0 failed");
    Ok(())
}

/// Runs `command` and returns an error that names it unless it succeeds.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    let shown = show(command);
    let status = command.status().map_err(|error| format!("cannot start `{shown}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` ended with {status}")) }
}

/// Returns `command` as it would be typed, without the directory of the program.
pub(crate) fn show(command: &Command) -> String {
    let program = command.get_program();
    let name = Path::new(program).file_name().unwrap_or(program);
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn run_timed(step: &mut Step) -> Result<(), String> {
    println!("==> {}: {}", step.name, show(&step.command));
    let start = Instant::now();
    succeed(&mut step.command)?;
    println!("==> {}: passed in {:.1} s\n", step.name, start.elapsed().as_secs_f64());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &'static str, program: &str) -> Step {
        Step { name, command: Command::new(program) }
    }

    #[test]
    fn the_first_failure_stops_and_is_named() {
        let missing = step("never reached", "/nonexistent/program");
        let failure = run_all(vec![step("good", "true"), step("bad", "false"), missing]);
        assert!(failure.unwrap_err().starts_with("step `bad` failed: `false` ended with"));
    }

    #[test]
    fn a_program_that_is_missing_is_an_error_with_its_name() {
        let failure = run_all(vec![step("gone", "/nonexistent/program")]).unwrap_err();
        assert!(failure.contains("cannot start `program`"), "{failure}");
    }
}
