//! `explain`: every rule that spoke, and why the others lost.

use openoxide_permission::{Match, evaluate, matching};
use openoxide_protocol::{Decision, Part, SCHEMA};
use openoxide_session::facts;
use openoxide_tui::{Lines, visible};
use serde_json::{Value, json};

use crate::{
    args::{CallArgs, Global},
    color,
    commands::{call, check},
    exit::Exit,
    policy::World,
    report,
};

/// Judges one call, and says why.
pub(crate) fn explain(args: CallArgs, global: Global) -> Result<Exit, String> {
    let world = World::of(&args.policy, true)?;
    if let Err(exit) = world.sound(global) {
        return Ok(exit);
    }
    let operation = call::operation(&args, &world.cwd)?;
    let facts = facts(&operation, world.home.as_ref());
    let context = world.context(&world.cwd);
    let decision = evaluate(&world.loaded.policy, &context, &facts);
    let considered: Vec<_> = decision
        .parts
        .iter()
        .map(|part| matching(&world.loaded.layers, &context, &part.access))
        .collect();
    if args.json {
        println!("{}", in_json(&decision, &considered)?);
    } else {
        print!("{}", in_words(&decision, &considered, &args, &world, global));
    }
    Ok(check::exit_of(decision.effect))
}

fn in_json(decision: &Decision, considered: &[Vec<Match<'_>>]) -> Result<Value, String> {
    let mut answer = serde_json::to_value(decision).map_err(|error| error.to_string())?;
    answer["schema"] = json!(SCHEMA);
    let parts = answer.get_mut("parts").and_then(Value::as_array_mut);
    for (part, matches) in parts.into_iter().flatten().zip(considered) {
        part["considered"] = matches.iter().map(rule_in_json).collect();
    }
    Ok(answer)
}

fn rule_in_json(found: &Match<'_>) -> Value {
    json!({
        "layer": found.layer.kind.as_str(),
        "file": found.layer.file,
        "line": found.rule.line,
        "text": format!("{} {}", found.rule.effect.as_str(), found.rule.text),
        "lost": found.lost,
    })
}

fn in_words(
    decision: &Decision,
    considered: &[Vec<Match<'_>>],
    args: &CallArgs,
    world: &World,
    global: Global,
) -> String {
    let mut text =
        format!("{}: {}\n", decision.effect.as_str(), visible(&decision.reason, Lines::One));
    text +=
        &format!("mode {}, in {}\n", world.mode.as_str(), visible(world.cwd.as_str(), Lines::One));
    for (part, matches) in decision.parts.iter().zip(considered) {
        text += &part_in_words(part, matches);
    }
    if !decision.always.is_empty() {
        text +=
            &format!("\nalways would add: {}\n", visible(&decision.always.join(", "), Lines::One));
    }
    if !decision.findings.is_empty() {
        let script = args.script.as_deref().unwrap_or_default();
        let colored = color::wanted(global.color, &std::io::stdout());
        text += &format!("\n{}", report::findings(script, &decision.findings, colored));
    }
    text
}

fn part_in_words(part: &Part, matches: &[Match<'_>]) -> String {
    let summary = visible(part.access.summary(), Lines::One);
    let effect = part.decision.as_str();
    let mut text = format!(
        "\n{} {summary}\n  {effect}: {}\n",
        part.access.permission(),
        visible(&part.reason, Lines::One)
    );
    if matches.is_empty() {
        text += "  no rule of any layer matches\n";
    }
    for found in matches {
        text += &rule_in_words(found);
    }
    text
}

fn rule_in_words(found: &Match<'_>) -> String {
    let rule = format!("{} {}", found.rule.effect.as_str(), found.rule.text);
    let place = match &found.layer.file {
        Some(file) => format!("{}:{}", visible(file, Lines::One), found.rule.line),
        None => "built in".to_owned(),
    };
    let fate = found.lost.unwrap_or("it decides among the rules");
    format!("  {} `{}` ({place}): {fate}\n", found.layer_name(), visible(&rule, Lines::One))
}
