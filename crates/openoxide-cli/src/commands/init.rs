//! `init`: the OpenOxide hook in the settings of the installed agents.

mod agent_settings;
mod claude_ask_rule;
mod installed_program;
mod line_question;
mod policy_change;
mod preset;
mod preset_choice;
mod settings_change;
mod wiring;

use openoxide_adapters::wiring::HookInvocation;

use crate::{
    args::{AgentName, GlobalArgs, InitArgs},
    commands::rules::offer_starter,
    error::CliError,
    program_exit::ProgramExit,
    user_messages,
};
pub(crate) use agent_settings::settings_directory;
use agent_settings::{agent_changes, select_agents};
use claude_ask_rule::describe_ask_rule;
use installed_program::HookProgram;
pub(crate) use installed_program::{build_directory, init_command};
use policy_change::PolicyChange;
use preset_choice::choose_preset;
use settings_change::SettingsChange;
use wiring::Wiring;

/// Installs the hook into the settings of each named agent, or of each agent that is found; or
/// removes it. Sets or removes the preset in the user's policy.
///
/// # Errors
///
/// If no agent is found, if the program is in a build directory, or if settings cannot be read or
/// written. Settings with errors are not changed.
pub(crate) fn install_hooks(args: &InitArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    let agents = select_agents(args)?;
    let program = HookProgram::find(args, global)?;
    let invocation = HookInvocation { program: &program.path, wait: args.wait };
    let wiring = Wiring { invocation, undo: args.undo, strict: args.strict };
    // All of them are read before anything is written.
    let changes = agents.iter().map(|(agent, home)| agent_changes(*agent, home, wiring));
    let changes: Vec<Vec<SettingsChange>> = changes.collect::<Result<_, CliError>>()?;
    let policy = match prepare_policy(args, global, wiring)? {
        Ok(policy) => policy,
        Err(exit) => return Ok(exit),
    };
    if args.dry_run {
        changes.iter().flatten().for_each(|change| print_ask_rule(change, wiring));
        let text: String = changes.iter().flatten().map(SettingsChange::to_diff).collect();
        let text = text + &policy.map(|policy| policy.to_diff()).unwrap_or_default();
        return Ok(user_messages::print_data(&text, ProgramExit::Success));
    }
    program.install()?;
    for (agent, home) in &agents {
        // The agent may have written its settings while the person answered a question.
        let changes = agent_changes(*agent, home, wiring)?;
        changes.iter().try_for_each(SettingsChange::apply)?;
        print_summary(*agent, &changes, args.undo);
        changes.iter().for_each(|change| print_ask_rule(change, wiring));
    }
    policy.as_ref().map_or(Ok(()), PolicyChange::apply)?;
    let has_preset = policy.is_some();
    // This unlocks the policy.
    drop(policy);
    if !args.undo {
        let agents: Vec<AgentName> = agents.iter().map(|(agent, _)| *agent).collect();
        if has_preset {
            offer_starter(global)?;
        }
        print_next_steps(&agents, args);
    }
    Ok(ProgramExit::Success)
}

/// Prepares the change of the policy, if there is one. The inner error is the exit code after the
/// problems of the policy were printed.
fn prepare_policy(
    args: &InitArgs,
    global: GlobalArgs,
    wiring: Wiring<'_>,
) -> Result<Result<Option<PolicyChange>, ProgramExit>, CliError> {
    if !args.undo {
        return Ok(match choose_preset(args, global)? {
            None => Ok(None),
            Some(chosen) => PolicyChange::from_preset(chosen, global)?.map(Some),
        });
    }
    // The preset also applies to an agent that remains wired.
    if !args.agents.is_empty() && other_agent_is_wired(&args.agents, wiring) {
        return Ok(Ok(None));
    }
    match PolicyChange::undo_preset() {
        Ok(policy) => Ok(Ok(policy)),
        Err(error) => {
            user_messages::print_note(&format!("the policy is not changed: {error}"));
            Ok(Ok(None))
        }
    }
}

/// Returns whether an agent that is not named has the hook, or has settings that cannot be read.
fn other_agent_is_wired(named: &[AgentName], wiring: Wiring<'_>) -> bool {
    let all = [AgentName::Claude, AgentName::Codex];
    let others = all.into_iter().filter(|agent| !named.contains(agent));
    let mut homes = others.filter_map(|agent| Some((agent, settings_directory(agent)?)));
    homes.any(|(agent, home)| {
        agent_changes(agent, &home, wiring)
            .map_or(true, |changes| changes.iter().any(SettingsChange::is_change))
    })
}

fn print_summary(agent: AgentName, changes: &[SettingsChange], undo: bool) {
    let name = agent.display_name();
    let changed = changes.iter().filter(|change| change.is_change());
    let files: Vec<String> = changed.map(SettingsChange::display_path).collect();
    let what = match (files.is_empty(), undo) {
        (true, false) => "hook already installed".to_owned(),
        (true, true) => "hook not installed".to_owned(),
        (false, false) => {
            format!("hook installed; takes effect in the next session: {}", files.join(", "))
        }
        (false, true) => format!("hook removed: {}", files.join(", ")),
    };
    user_messages::print_line(&format!("openoxide: {name} {what}"));
}

fn print_ask_rule(change: &SettingsChange, wiring: Wiring<'_>) {
    if let Some(message) = describe_ask_rule(change, wiring) {
        user_messages::print_note(&message);
    }
}

/// Prints the effect of the hook, one thing to try, and how to undo it.
fn print_next_steps(agents: &[AgentName], args: &InitArgs) {
    let has = |agent| agents.contains(&agent);
    if has(AgentName::Claude) && args.strict {
        user_messages::print_line(
            "  strict:  Claude Code asks you about every call that the policy does not allow, also about calls that\n           \
its own rules allow, and hides the reason behind `Rule * from user settings`",
        );
    }
    if args.wait.is_some_and(|seconds| seconds > 0) {
        user_messages::print_line(
            "  wait:    `openoxide pending` lists the questions that wait, and `openoxide approve ID` answers one",
        );
    }
    if has(AgentName::Codex) && args.wait.is_none_or(|seconds| seconds == 0) {
        user_messages::print_line(
            "  codex:   its hook cannot ask, so a call that needs approval is blocked. To answer such questions,\n           \
run `openoxide init --undo codex`, and `openoxide codex review` next to Codex",
        );
    }
    let agent = agents.first().copied().unwrap_or(AgentName::Claude).display_name();
    user_messages::print_line(&format!(
        "  try:     ask {agent} to run `cat ~/.ssh/id_ed25519`: the call does not run without you\n  \
why:     openoxide explain -c 'COMMAND' shows the decision about a command\n  \
undo:    openoxide init --undo"
    ));
}
