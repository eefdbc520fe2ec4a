//! `explain`: a decision with every matching rule and the reason for which it decided or was
//! overridden.

use openoxide_engine::{Engine, EngineCall};
use openoxide_protocol::{AccessDecision, Decision, RuleRef};
use openoxide_tui::{LineMode, escape_text};

use crate::{
    args::{CallArgs, GlobalArgs},
    commands::{call_operation, check, run::confined_run},
    error::CliError,
    exact_evaluation::ExactPolicy,
    hook_display, policy_args,
    program_exit::ProgramExit,
    terminal_color, user_messages,
};

/// Evaluates one call, and prints the reasons.
pub(crate) fn explain_call(args: &CallArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    if args.exact {
        let exact = ExactPolicy::from_args(args, global)?;
        return exact.map_or(Ok(ProgramExit::Usage), |exact| {
            check::check_call_exactly(args, &exact, global)
        });
    }
    let engine = policy_args::open_engine_to_explain(args)?;
    let sound = policy_args::check_policy(&engine, global);
    if let (Err(exit), true) = (sound, engine.managed_policy_error().is_some()) {
        return Ok(exit);
    }
    let operation = call_operation::operation_from_args(args, engine.cwd())?;
    let decision = engine.explain(&EngineCall::from_operation(&operation)).decision;
    let text = match args.json {
        true => hook_display::add_hooks_to_json(
            &check::render_json(&decision)?,
            &engine,
            &operation.tool,
        )?,
        false => {
            let hooks = hook_display::render_text(&engine, &operation.tool);
            hooks + &render_text(&decision, args, &engine, global)
        }
    };
    Ok(user_messages::print_data(&text, check::exit_for_policy_and_effect(sound, decision.effect)))
}

fn render_text(
    decision: &Decision,
    args: &CallArgs,
    engine: &Engine,
    global: GlobalArgs,
) -> String {
    let line = |text: &str| escape_text(text, LineMode::SingleLine);
    let mut lines = vec![
        check::decision_line(decision),
        format!("mode {}, in {}", engine.mode().as_str(), line(engine.cwd().as_str())),
    ];
    lines.extend(decision.parts.iter().flat_map(render_access_decision));
    if !decision.suggested_rules.is_empty() {
        lines.push(format!("\nalways would add: {}", line(&decision.suggested_rules.join(", "))));
    }
    lines.extend(
        check::audit_obligation_line(decision, engine.audit_requirements())
            .map(|line| format!("\n{}", line.trim_start())),
    );
    lines.extend(
        confined_run::render_text(engine.sandbox_settings())
            .map(|line| format!("\n{}", escape_text(&line, LineMode::SingleLine))),
    );
    let script = args.script.as_deref().unwrap_or_default();
    let colored = terminal_color::use_color(global.color, &std::io::stdout());
    let findings = user_messages::render_findings(script, &decision.findings, colored);
    lines.push(if findings.is_empty() { findings } else { format!("\n{findings}") });
    lines.join("\n")
}

fn render_access_decision(part: &AccessDecision) -> Vec<String> {
    let line = |text: &str| escape_text(text, LineMode::SingleLine);
    let mut lines = vec![
        format!("\n{} {}", part.access.permission_name(), line(part.access.summary())),
        format!("  {}: {}", part.decision.as_str(), line(&part.reason)),
    ];
    lines.extend(part.rule.as_ref().map(|rule| render_rule_outcome(rule, "it decides")));
    lines.extend(part.overridden.iter().map(|lost| render_rule_outcome(&lost.rule, &lost.reason)));
    if part.rule.is_none() && part.overridden.is_empty() {
        lines.push("  no rule in any layer matches".to_owned());
    }
    lines
}

fn render_rule_outcome(rule: &RuleRef, fate: &str) -> String {
    format!(
        "  `{}`{}: {fate}",
        escape_text(&rule.text, LineMode::SingleLine),
        check::format_rule_location(rule)
    )
}
