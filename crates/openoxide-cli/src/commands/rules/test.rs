//! `rules test`: do the policy files decide what their authors expect?

use openoxide_engine::{Call, Engine};
use openoxide_store::{Case, read_cases};
use openoxide_tui::{Lines, visible};
use serde_json::Value;

use super::files::{self, PolicyText};
use crate::{
    args::{Global, PolicyArgs, TestArgs},
    error::CliError,
    exit::Exit,
    formats::Program,
    policy_args, report,
};

/// Runs the tests of each file under that file alone. Examples were run when it was read.
pub(super) fn test(args: &TestArgs, global: Global) -> Result<Exit, CliError> {
    let (mut text, mut exit) = (String::new(), Exit::Success);
    for file in files::read_native(&args.files)? {
        if let Err(broken) = file.sound(global) {
            // An example that is not met is one of the problems.
            exit = broken;
            continue;
        }
        let Ok(cases) = read_cases(&file.text) else { continue };
        let engine = open(&file, args)?;
        let mut failed = 0;
        for case in &cases {
            if let Some(line) = wrong(&file, &engine, case) {
                text += &line;
                failed += 1;
            }
        }
        if failed > 0 && exit == Exit::Success {
            exit = Exit::Failure;
        }
        let shown = visible(&file.shown, Lines::One);
        let (held, examples) = (cases.len() - failed, examples(&file));
        text.extend([format!(
            "{shown}: {held} of {} tests passed, {examples} lists of examples checked\n",
            cases.len()
        )]);
    }
    Ok(report::data(text.as_bytes(), exit))
}

/// Counts the lists of examples; a file is only read if they are met.
fn examples(file: &PolicyText) -> usize {
    let example = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("match") || line.starts_with("not_match")
    };
    file.text.lines().filter(example).count()
}

/// Returns what to say of a test that fails.
fn wrong(file: &PolicyText, engine: &Engine, case: &Case) -> Option<String> {
    let call = Call::from_tool(&case.tool, &case.input, engine.cwd().clone());
    let decision = engine.evaluate(&call.in_mode(case.mode)).decision;
    if decision.effect == case.expect {
        return None;
    }
    let line = |text: &str| visible(text, Lines::One);
    let (shown, found) = (line(&file.shown), decision.effect.as_str());
    let call = match case.input.get("command").and_then(Value::as_str) {
        Some(script) if case.tool == "Bash" => script.to_owned(),
        _ => format!("{} {}", case.tool, case.input),
    };
    Some(format!(
        "{shown}:{}: `{}`: expected {}, found {found}: {}\n",
        case.line,
        line(&call),
        case.expect.as_str(),
        line(&decision.reason)
    ))
}

/// Opens an engine with the policy of this file alone.
fn open(file: &PolicyText, args: &TestArgs) -> Result<Engine, CliError> {
    let (policy, cwd) = (vec!["/dev/null".into()], args.cwd.clone());
    let format = Some(Program::Native);
    let args = PolicyArgs { policy, format, cwd, ..PolicyArgs::default() };
    Ok(policy_args::open_with_layers(&args)?.with_layer(&file.read.layer)?)
}
