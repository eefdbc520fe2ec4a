//! The test suite: format, lints, tests and documentation of the whole workspace.

use std::process::Command;

use crate::{
    Failure, setup,
    steps::{Step, run_all},
    workspace::cargo,
};

/// The precision step. No dangerous command may be allowed. Seven of a hundred harmless commands
/// may be asked about; the goal is five.
const PRECISION: &[&str] = &[
    "run",
    "--quiet",
    "--package",
    "xtask",
    "--",
    "precision",
    "corpus/everyday/commands.tsv",
    "--max-asked",
    "7",
];

/// The steps in their order, cheapest first: name and arguments of cargo.
const STEPS: [(&str, &[&str]); 13] = [
    ("fmt", &["fmt", "--all", "--check"]),
    ("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ("naming", &["xtask", "naming", "--check"]),
    ("modules", &["xtask", "modules"]),
    ("test", &["test", "--workspace"]),
    ("referee", &["xtask", "referee", "--cases", "20000", "--seed", "1"]),
    ("dash", &["xtask", "referee", "--cases", "2000", "--seed", "1", "--shell", "dash"]),
    ("languages", &["xtask", "languages", "--cases", "2000", "--seed", "1"]),
    ("crash", &["xtask", "crash", "--kills", "200", "--seed", "1"]),
    ("programs", &["xtask", "programs", "--sample", "--each", "4"]),
    ("python", &["xtask", "python"]),
    ("precision", PRECISION),
    ("doc", &["doc", "--workspace", "--no-deps", "--document-private-items"]),
];

/// Installs missing programs and runs the steps that `names` selects, or all of them.
pub(crate) fn run(names: &[String]) -> Result<(), Failure> {
    let steps = select(names)?;
    setup::programs(setup::TESTS)?;
    setup::components()?;
    Ok(run_all(steps)?)
}

fn select(names: &[String]) -> Result<Vec<Step>, Failure> {
    let known = |name: &String| STEPS.iter().any(|(step, _)| step == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        return Err(Failure::Usage(format!("`cargo xtask test` has no step `{unknown}`")));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    let chosen = STEPS.into_iter().filter(|(name, _)| wanted(name));
    Ok(chosen.map(|(name, arguments)| Step { name, command: command(name, arguments) }).collect())
}

fn command(name: &str, arguments: &[&str]) -> Command {
    let mut command = cargo();
    command.args(arguments);
    if name == "doc" {
        command.env("RUSTDOCFLAGS", "-D warnings");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Result<Vec<&'static str>, Failure> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        select(&words).map(|steps| steps.iter().map(|step| step.name).collect())
    }

    #[test]
    fn without_names_every_step_runs_in_order() {
        let all = [
            "fmt",
            "clippy",
            "naming",
            "modules",
            "test",
            "referee",
            "dash",
            "languages",
            "crash",
            "programs",
            "python",
            "precision",
            "doc",
        ];
        assert_eq!(names(&[]).unwrap(), all);
    }

    #[test]
    fn named_steps_run_in_the_order_of_the_suite() {
        assert_eq!(names(&["doc", "fmt"]).unwrap(), ["fmt", "doc"]);
    }

    #[test]
    fn an_unknown_step_is_a_usage_failure() {
        assert!(matches!(names(&["lint"]), Err(Failure::Usage(_))));
    }
}
