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
pub(crate) fn explain(args: &CallArgs, global: Global) -> Result<Exit, String> {
    let world = World::of(&args.policy, true)?;
    if let Err(exit) = world.sound(global) {
        return Ok(exit);
    }
    let operation = call::operation(args, &world.cwd)?;
    let facts = facts(&operation, world.home.as_ref());
    let context = world.context();
    let decision = evaluate(&world.loaded.policy, &context, &facts);
    let considered: Vec<_> = decision
        .parts
        .iter()
        .map(|part| matching(&world.loaded.layers, &context, &part.access))
        .collect();
    if args.json {
        println!("{}", in_json(&decision, &considered)?);
    } else {
        print!("{}", in_words(&decision, &considered, args, &world, global));
    }
    Ok(check::exit_of(decision.effect))
}

fn in_json(decision: &Decision, considered: &[Vec<Match<'_>>]) -> Result<Value, String> {
    let mut answer = serde_json::to_value(decision).map_err(|error| error.to_string())?;
    let parts = answer.get_mut("parts").and_then(Value::as_array_mut);
    for (part, matches) in parts.into_iter().flatten().zip(considered) {
        add(part, "considered", matches.iter().map(rule_in_json).collect());
    }
    add(&mut answer, "schema", json!(SCHEMA));
    Ok(answer)
}

fn add(object: &mut Value, key: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
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
    let line = |text: &str| visible(text, Lines::One);
    let mut lines = vec![
        format!("{}: {}", decision.effect.as_str(), line(&decision.reason)),
        format!("mode {}, in {}", world.mode.as_str(), line(world.cwd.as_str())),
    ];
    for (part, matches) in decision.parts.iter().zip(considered) {
        lines.extend(part_in_words(part, matches));
    }
    if !decision.always.is_empty() {
        lines.push(format!("\nalways would add: {}", line(&decision.always.join(", "))));
    }
    let script = args.script.as_deref().unwrap_or_default();
    let colored = color::wanted(global.color, &std::io::stdout());
    let findings = report::findings(script, &decision.findings, colored);
    lines.push(if findings.is_empty() { findings } else { format!("\n{findings}") });
    lines.join("\n")
}

fn part_in_words(part: &Part, matches: &[Match<'_>]) -> Vec<String> {
    let line = |text: &str| visible(text, Lines::One);
    let mut lines = vec![
        format!("\n{} {}", part.access.permission(), line(part.access.summary())),
        format!("  {}: {}", part.decision.as_str(), line(&part.reason)),
    ];
    if matches.is_empty() {
        lines.push("  no rule of any layer matches".to_owned());
    }
    lines.extend(matches.iter().map(rule_in_words));
    lines
}

fn rule_in_words(found: &Match<'_>) -> String {
    let rule = format!("{} {}", found.rule.effect.as_str(), found.rule.text);
    let place = match &found.layer.file {
        Some(file) => format!("{}:{}", visible(file, Lines::One), found.rule.line),
        None => "built in".to_owned(),
    };
    let fate = found.lost.unwrap_or("it decides among the rules");
    format!("  {} `{}` ({place}): {fate}", found.layer_name(), visible(&rule, Lines::One))
}
