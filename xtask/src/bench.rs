//! The benchmarks. They are a separate workspace, so that their dependencies stay out of the
//! product.

use crate::{
    Failure,
    steps::{Step, run_all},
    workspace::cargo,
};

/// The benchmarks and the start-up time of the hook: name and arguments of cargo.
const STEPS: [(&str, &[&str]); 2] = [
    ("bench", &["bench", "--manifest-path", "benches/Cargo.toml"]),
    (
        "hook-floor",
        &["run", "--release", "--manifest-path", "benches/Cargo.toml", "--bin", "hook-floor"],
    ),
];

/// Runs both, and prints their names.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(stranger) = arguments.first() {
        return Err(Failure::Usage(format!("`cargo xtask bench` takes no `{stranger}`")));
    }
    let steps = STEPS.into_iter().map(|(name, arguments)| {
        let mut command = cargo();
        command.args(arguments);
        Step { name, command }
    });
    Ok(run_all(steps.collect())?)
}
