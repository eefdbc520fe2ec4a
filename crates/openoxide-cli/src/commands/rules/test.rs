//! `rules test`: the tests and examples in policy files.

use openoxide_engine::{Engine, EngineCall};
use openoxide_formats::PolicyProgram;
use openoxide_store::{PolicyTestCase, read_cases};
use openoxide_tui::{LineMode, escape_text};
use serde_json::Value;

use super::policy_texts::{self, PolicyText};
use crate::{
    args::{GlobalArgs, PolicyArgs, TestArgs},
    error::CliError,
    policy_args,
    program_exit::ProgramExit,
    user_messages,
};

/// Runs the tests of each file with that file as the only policy. The examples of its rules were
/// checked when it was read.
pub(super) fn test_files(args: &TestArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    let (mut text, mut exit) = (String::new(), ProgramExit::Success);
    for file in policy_texts::read_native_policies(&args.files)? {
        if let Err(broken) = file.check_problems(global) {
            // A failing example is one of the problems.
            exit = broken;
            continue;
        }
        let Ok(cases) = read_cases(&file.text) else { continue };
        let engine = open_policy(&file, args)?;
        let mut failed = 0;
        for case in &cases {
            if let Some(line) = failure_message(&file, &engine, case) {
                text += &line;
                failed += 1;
            }
        }
        if failed > 0 && exit == ProgramExit::Success {
            exit = ProgramExit::Failure;
        }
        let shown = escape_text(&file.display_path, LineMode::SingleLine);
        let (held, examples) = (cases.len() - failed, count_examples(&file));
        text.extend([format!(
            "{shown}: {held} of {} tests passed, {examples} lists of examples checked\n",
            cases.len()
        )]);
    }
    Ok(user_messages::print_data(&text, exit))
}

/// Counts the lists of examples. They all pass, because a file with a failing example has problems.
fn count_examples(file: &PolicyText) -> usize {
    let example = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("match") || line.starts_with("not_match")
    };
    file.text.lines().filter(example).count()
}

/// Returns the message for a failing test.
fn failure_message(file: &PolicyText, engine: &Engine, case: &PolicyTestCase) -> Option<String> {
    let call = EngineCall::from_tool(&case.tool, &case.input, engine.cwd().clone());
    let decision = engine.evaluate(&call.with_mode(case.mode)).decision;
    if decision.effect == case.expect {
        return None;
    }
    let line = |text: &str| escape_text(text, LineMode::SingleLine);
    let (shown, found) = (line(&file.display_path), decision.effect.as_str());
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

/// Opens an engine with this file as the only policy.
fn open_policy(file: &PolicyText, args: &TestArgs) -> Result<Engine, CliError> {
    let (policy, cwd) = (vec!["/dev/null".into()], args.cwd.clone());
    let format = Some(PolicyProgram::Native);
    let args = PolicyArgs { policy, format, cwd, ..PolicyArgs::default() };
    Ok(policy_args::open_engine_with_layers(&args)?.with_layer(&file.policy_file.layer)?)
}
