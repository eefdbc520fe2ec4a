//! `rules test`: do the policy files decide what their authors expect?

use openoxide_adapters::tool;
use openoxide_engine::facts;
use openoxide_permission::{Context, PolicyStack, default_layer, evaluate};
use openoxide_protocol::Decision;
use openoxide_store::{Case, read_cases};
use openoxide_tui::{Lines, visible};
use serde_json::Value;

use super::files::{self, PolicyText};
use crate::{
    args::{Global, PolicyArgs, TestArgs},
    commands::call,
    exit::Exit,
    formats::Program,
    policy::World,
    report,
};

/// Runs the tests of each file under that file alone. Examples were run when it was read.
pub(super) fn test(args: &TestArgs, global: Global) -> Result<Exit, String> {
    let (mut text, mut exit) = (String::new(), Exit::Success);
    for file in files::read_native(&args.files)? {
        if let Err(broken) = file.sound(global) {
            // An example that is not met is one of the problems.
            exit = broken;
            continue;
        }
        let Ok(cases) = read_cases(&file.text) else { continue };
        let mut failed = 0;
        for case in &cases {
            if let Some(line) = wrong(&file, case, args)? {
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
            "{shown}: {held} of {} tests hold, and {examples} lists of examples\n",
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
fn wrong(file: &PolicyText, case: &Case, args: &TestArgs) -> Result<Option<String>, String> {
    let decision = decided(file, case, args)?;
    if decision.effect == case.expect {
        return Ok(None);
    }
    let line = |text: &str| visible(text, Lines::One);
    let (shown, found) = (line(&file.shown), decision.effect.as_str());
    let call = match case.input.get("command").and_then(Value::as_str) {
        Some(script) if case.tool == "Bash" => script.to_owned(),
        _ => format!("{} {}", case.tool, case.input),
    };
    Ok(Some(format!(
        "{shown}:{}: `{}`: expected {}, found {found}: {}\n",
        case.line,
        line(&call),
        case.expect.as_str(),
        line(&decision.reason)
    )))
}

fn decided(file: &PolicyText, case: &Case, args: &TestArgs) -> Result<Decision, String> {
    // No other policy counts.
    let (policy, cwd) = (vec!["/dev/null".into()], args.cwd.clone());
    let format = Some(Program::Native);
    let world = World::of(&PolicyArgs { policy, format, cwd, ..PolicyArgs::default() }, true)?;
    let layer = &file.read.layer;
    let policy = PolicyStack::compile(&[layer.clone(), default_layer()])
        .map_err(|error| error.to_string())?;
    let action = tool::action(&case.tool, &case.input);
    let operation = call::of(case.tool.clone(), action, case.input.clone(), &world.cwd);
    let facts = facts(&operation, world.home.as_ref());
    let mode = case.mode.or(layer.mode).unwrap_or_default();
    Ok(evaluate(&policy, &Context { mode, ..world.context() }, &facts))
}
