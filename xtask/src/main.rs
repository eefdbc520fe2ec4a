//! The project's chores: one verb each, run as `cargo xtask VERB`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore speaks to a person")]

mod agents;
mod bench;
mod bypasses;
#[path = "../../crates/openoxide-shell/tests/it/chance.rs"]
mod chance;
mod codex_diff;
mod codex_session;
mod crash;
mod e2e;
mod fuzz;
mod http;
mod languages;
mod modules;
mod mutants;
mod naming;
mod precision;
mod programs;
mod referee;
mod setup;
mod slowness;
mod steps;
mod suite;
mod workspace;

use std::{env, process::ExitCode};

/// A verb: its name, its arguments, what it does, and how.
struct Verb {
    name: &'static str,
    arguments: &'static str,
    does: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

/// The reason for which a verb failed.
#[derive(Debug)]
enum Failure {
    /// The call was wrong: status 2.
    Usage(String),
    /// The work failed: status 1.
    Work(String),
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Work(message)
    }
}

const VERBS: [Verb; 16] = [
    Verb {
        name: "test",
        arguments: "[fmt|clippy|naming|test|referee|dash|languages|crash|programs|precision|doc]…",
        does: "install what is missing, then format, lint, test and document the workspace",
        run: suite::run,
    },
    Verb {
        name: "e2e",
        arguments: e2e::ARGUMENTS,
        does: "drive the real agents, offline, through the release build (scenarios with WORD)",
        run: e2e::run,
    },
    Verb {
        name: "referee",
        arguments: referee::ARGUMENTS,
        does: "run scripts by chance in real shells, and compare with the result of the analysis",
        run: referee::run,
    },
    Verb {
        name: "languages",
        arguments: languages::ARGUMENTS,
        does: "run programs of awk, jq, sed and SQL that the analysis calls harmless in every implementation",
        run: languages::run,
    },
    Verb {
        name: "programs",
        arguments: programs::ARGUMENTS,
        does: "run the real programs that the table calls harmless in a hostile project (docs/programs.md)",
        run: programs::run,
    },
    Verb {
        name: "bench",
        arguments: "",
        does: "run the benchmarks and the start-up floor of the hook",
        run: bench::run,
    },
    Verb {
        name: "fuzz",
        arguments: "[--seconds N] [TARGET]…",
        does: "try the laws of the shell analysis on scripts that a fuzzer makes",
        run: fuzz::run,
    },
    Verb {
        name: "mutants",
        arguments: mutants::ARGUMENTS,
        does: "change the code in small ways, each of which has to make a test fail (docs/mutants.md)",
        run: mutants::run,
    },
    Verb {
        name: "crash",
        arguments: crash::ARGUMENTS,
        does: "kill processes that ask and answer, and hold every promise against what is left",
        run: crash::run,
    },
    Verb {
        name: "slowness",
        arguments: slowness::ARGUMENTS,
        does: "run the hook on payloads that are made to take long, and measure the slowest",
        run: slowness::run,
    },
    Verb {
        name: "codex-diff",
        arguments: codex_diff::ARGUMENTS,
        does: "ask our `codex execpolicy check` and the real one the same, and compare every byte",
        run: codex_diff::run,
    },
    Verb {
        name: "codex-session",
        arguments: codex_session::ARGUMENTS,
        does: "have our `codex decide` and a session of the real Codex judge the same calls",
        run: codex_session::run,
    },
    Verb {
        name: "precision",
        arguments: "FILE…",
        does: "count what the built-in default decides on labelled commands (docs/precision.md)",
        run: precision::run,
    },
    Verb {
        name: "naming",
        arguments: naming::ARGUMENTS,
        does: "measure the names and the words of the crates, list them, or draw a sample",
        run: naming::run,
    },
    Verb {
        name: "modules",
        arguments: modules::ARGUMENTS,
        does: "find modules of a crate that import from each other",
        run: modules::run,
    },
    Verb {
        name: "bypasses",
        arguments: "",
        does: "write docs/bypasses.md anew from the corpus",
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
    let verb = VERBS.iter().find(|verb| verb.name == name);
    let verb = verb.ok_or_else(|| Failure::Usage(format!("unknown command `{name}`")))?;
    (verb.run)(rest)
}

fn usage() -> String {
    let lines = VERBS.iter().map(|verb| {
        let call = format!("{} {}", verb.name, verb.arguments);
        format!("  {call:<36} {}\n", verb.does)
    });
    format!("usage: cargo xtask VERB\n\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_has_one_line_for_each_verb() {
        assert_eq!(usage().lines().count(), VERBS.len() + 2);
    }

    #[test]
    fn an_unknown_verb_is_a_usage_failure() {
        assert!(matches!(dispatch(&["frobnicate".to_owned()]), Err(Failure::Usage(_))));
    }
}
