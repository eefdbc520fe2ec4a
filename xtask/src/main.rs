//! The development tasks of the project. Each is a command, run as `cargo xtask COMMAND`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the tasks print their results")]

mod agents;
mod bench;
mod bypasses;
#[path = "../../crates/openoxide-shell/tests/it/chance.rs"]
mod chance;
mod codex_diff;
mod codex_session;
mod crash;
mod day;
mod e2e;
mod fuzz;
mod http;
mod languages;
mod modules;
mod mutants;
mod naming;
mod precision;
mod programs;
mod python;
mod redcode;
mod referee;
mod setup;
mod slowness;
mod steps;
mod suite;
mod tool_lists;
mod workspace;

use std::{env, process::ExitCode};

/// A command: its name, its arguments, its description, and its function.
struct TaskCommand {
    name: &'static str,
    arguments: &'static str,
    description: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

/// The reason for which a command failed.
#[derive(Debug)]
enum Failure {
    /// The arguments are wrong. The exit code is 2.
    Usage(String),
    /// The task failed. The exit code is 1.
    Work(String),
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Work(message)
    }
}

const COMMANDS: [TaskCommand; 19] = [
    TaskCommand {
        name: "test",
        arguments: "[fmt|clippy|naming|modules|test|referee|dash|languages|crash|programs|python|precision|doc]…",
        description: "install missing programs, then check format and lints, run all tests, and build the documentation",
        run: suite::run,
    },
    TaskCommand {
        name: "e2e",
        arguments: e2e::ARGUMENTS,
        description: "run the real agents offline with the release build (scenarios whose names contain WORD)",
        run: e2e::run,
    },
    TaskCommand {
        name: "day",
        arguments: day::ARGUMENTS,
        description: "count the questions that an agent asks on a scripted working day, alone and with each preset",
        run: day::run,
    },
    TaskCommand {
        name: "referee",
        arguments: referee::ARGUMENTS,
        description: "run random scripts in real shells, and compare their actions with the analysis",
        run: referee::run,
    },
    TaskCommand {
        name: "languages",
        arguments: languages::ARGUMENTS,
        description: "run awk, jq, sed and SQL programs that the analysis finds harmless in every implementation",
        run: languages::run,
    },
    TaskCommand {
        name: "programs",
        arguments: programs::ARGUMENTS,
        description: "run the real programs that the table marks as harmless in a hostile project (docs/programs.md)",
        run: programs::run,
    },
    TaskCommand {
        name: "python",
        arguments: python::ARGUMENTS,
        description: "build the Python package, install it into a clean environment, and run its tests",
        run: python::run,
    },
    TaskCommand {
        name: "bench",
        arguments: "",
        description: "run the benchmarks, and measure the start-up time of the hook",
        run: bench::run,
    },
    TaskCommand {
        name: "fuzz",
        arguments: "[--seconds N] [TARGET]…",
        description: "fuzz the shell analysis",
        run: fuzz::run,
    },
    TaskCommand {
        name: "mutants",
        arguments: mutants::ARGUMENTS,
        description: "run the tests on small changes of the code, each of which must make a test fail (docs/mutants.md)",
        run: mutants::run,
    },
    TaskCommand {
        name: "crash",
        arguments: crash::ARGUMENTS,
        description: "kill processes that ask and answer, and check the stored data",
        run: crash::run,
    },
    TaskCommand {
        name: "slowness",
        arguments: slowness::ARGUMENTS,
        description: "run the hook on payloads that take as long as possible, and measure it",
        run: slowness::run,
    },
    TaskCommand {
        name: "codex-diff",
        arguments: codex_diff::ARGUMENTS,
        description: "compare `openoxide codex execpolicy check` with the real one, byte for byte",
        run: codex_diff::run,
    },
    TaskCommand {
        name: "codex-session",
        arguments: codex_session::ARGUMENTS,
        description: "compare `openoxide codex decide` with a session of the real Codex",
        run: codex_session::run,
    },
    TaskCommand {
        name: "precision",
        arguments: "FILE…",
        description: "count the decisions of the built-in policy on labelled commands (docs/precision.md)",
        run: precision::run,
    },
    TaskCommand {
        name: "redcode",
        arguments: redcode::ARGUMENTS,
        description: "run the scripts of RedCode-Exec, confined and not, and count their effects (docs/redcode.md)",
        run: redcode::run,
    },
    TaskCommand {
        name: "naming",
        arguments: naming::ARGUMENTS,
        description: "compute statistics of names and comments, list them, draw a sample, or check them",
        run: naming::run,
    },
    TaskCommand {
        name: "modules",
        arguments: modules::ARGUMENTS,
        description: "find modules of a crate that import from each other",
        run: modules::run,
    },
    TaskCommand {
        name: "bypasses",
        arguments: "",
        description: "generate docs/bypasses.md from the corpus",
        run: bypasses::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            eprint!("error: {message}\n\n{}", usage());
            ExitCode::from(2)
        }
        Err(Failure::Work(message)) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), Failure> {
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) if !["help", "--help", "-h"].contains(&name.as_str()) => (name, rest),
        _ => {
            print!("{}", usage());
            return Ok(());
        }
    };
    let command = COMMANDS.iter().find(|command| command.name == name);
    let command = command.ok_or_else(|| Failure::Usage(format!("unknown command `{name}`")))?;
    (command.run)(rest)
}

fn usage() -> String {
    let lines = COMMANDS.iter().map(|command| {
        let call = format!("{} {}", command.name, command.arguments);
        format!("  {call:<36} {}\n", command.description)
    });
    format!("usage: cargo xtask COMMAND\n\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_has_one_line_for_each_command() {
        assert_eq!(usage().lines().count(), COMMANDS.len() + 2);
    }

    #[test]
    fn an_unknown_command_is_a_usage_failure() {
        assert!(matches!(dispatch(&["frobnicate".to_owned()]), Err(Failure::Usage(_))));
    }
}
