//! `explain`: every rule that spoke, and why the others lost.

use openoxide_engine::{Call, Engine};
use openoxide_protocol::{Decision, Part, RuleRef};
use openoxide_tui::{Lines, visible};

use crate::{
    args::{CallArgs, Global},
    color,
    commands::{call, check, run::confined},
    error::CliError,
    exact::Exact,
    exit::Exit,
    hooks, policy_args, report,
};

/// Judges one call, and says why.
pub(crate) fn explain(args: &CallArgs, global: Global) -> Result<Exit, CliError> {
    if args.exact {
        let exact = Exact::of(args, global)?;
        return exact.map_or(Ok(Exit::Usage), |exact| check::one_exactly(args, &exact, global));
    }
    let engine = policy_args::open_with_layers(&args.policy)?;
    let sound = policy_args::sound(&engine, global);
    if let (Err(exit), true) = (sound, engine.managed_policy_error().is_some()) {
        return Ok(exit);
    }
    let operation = call::operation(args, engine.cwd())?;
    let decision = engine.explain(&Call::from_operation(&operation)).decision;
    let text = match args.json {
        true => hooks::in_json(&check::in_json(&decision)?, &engine, &operation.tool)?,
        false => {
            let hooks = hooks::in_words(&engine, &operation.tool);
            hooks + &in_words(&decision, args, &engine, global)
        }
    };
    Ok(report::data(text.as_bytes(), check::exit_if(sound, decision.effect)))
}

fn in_words(decision: &Decision, args: &CallArgs, engine: &Engine, global: Global) -> String {
    let line = |text: &str| visible(text, Lines::One);
    let mut lines = vec![
        format!("{}: {}", decision.effect.as_str(), line(&decision.reason)),
        format!("mode {}, in {}", engine.mode().as_str(), line(engine.cwd().as_str())),
    ];
    lines.extend(decision.parts.iter().flat_map(part_in_words));
    if !decision.always.is_empty() {
        lines.push(format!("\nalways would add: {}", line(&decision.always.join(", "))));
    }
    lines.extend(
        check::audited(decision, engine.audit_requirements())
            .map(|line| format!("\n{}", line.trim_start())),
    );
    lines.extend(
        confined::in_words(engine.sandbox_settings())
            .map(|line| format!("\n{}", visible(&line, Lines::One))),
    );
    let script = args.script.as_deref().unwrap_or_default();
    let colored = color::wanted(global.color, &std::io::stdout());
    let findings = report::findings(script, &decision.findings, colored);
    lines.push(if findings.is_empty() { findings } else { format!("\n{findings}") });
    lines.join("\n")
}

fn part_in_words(part: &Part) -> Vec<String> {
    let line = |text: &str| visible(text, Lines::One);
    let mut lines = vec![
        format!("\n{} {}", part.access.permission(), line(part.access.summary())),
        format!("  {}: {}", part.decision.as_str(), line(&part.reason)),
    ];
    lines.extend(part.rule.as_ref().map(|rule| rule_in_words(rule, "it decides")));
    lines.extend(part.lost.iter().map(|lost| rule_in_words(&lost.rule, &lost.why)));
    if part.rule.is_none() && part.lost.is_empty() {
        lines.push("  no rule in any layer matches".to_owned());
    }
    lines
}

fn rule_in_words(rule: &RuleRef, fate: &str) -> String {
    format!("  `{}`{}: {fate}", visible(&rule.text, Lines::One), check::place(rule))
}
