//! The choice of a preset: an argument, or a question at the terminal.

use openoxide_tui::can_ask;

use super::{
    line_question::ask_line, policy_change::policy_has_preset_settings, preset::ChosenPreset,
};
use crate::{
    args::{GlobalArgs, InitArgs, PresetName},
    commands::sandbox,
    error::init_error::InitError,
    user_messages,
};

/// The maximum number of invalid answers.
const MAX_ATTEMPTS: usize = 3;

/// Returns the preset of the arguments. Without one, asks at the terminal if the policy has no
/// setting that presets set. Returns `None` if the policy is not changed.
///
/// # Errors
///
/// If the preset needs the sandbox, and this machine has none.
pub(super) fn choose_preset(
    args: &InitArgs,
    global: GlobalArgs,
) -> Result<Option<ChosenPreset>, InitError> {
    if let Some(preset) = args.preset {
        let needs_sandbox = preset != PresetName::Careful;
        if needs_sandbox && let Some((reason, _)) = sandbox::unavailable_reason() {
            return Err(InitError::NoSandbox { preset: preset.as_str(), reason });
        }
        return Ok(Some(ChosenPreset { preset, is_explicit: true }));
    }
    let asks = !args.undo && !args.dry_run && !global.no_input && can_ask();
    if !asks || policy_has_preset_settings() {
        return Ok(None);
    }
    if let Some((reason, _)) = sandbox::unavailable_reason() {
        user_messages::print_note(&format!(
            "preset careful, because commands cannot be confined on this machine: {reason}"
        ));
        return Ok(None);
    }
    let preset = ask_preset(global);
    Ok(preset.map(|preset| ChosenPreset { preset, is_explicit: false }))
}

/// Asks for a preset. The sandbox works, so `balanced` is the default.
fn ask_preset(global: GlobalArgs) -> Option<PresetName> {
    user_messages::print_line("openoxide: what do you want to be asked about?");
    for (number, preset) in (1..).zip(PresetName::ALL) {
        let (name, questions) = (preset.as_str(), preset.questions());
        user_messages::print_line(&format!("  {number}  {name:<9}  {questions}"));
    }
    user_messages::print_line(
        "With 2 and 3, other commands run in the sandbox, which works on this machine.",
    );
    for _ in 0..MAX_ATTEMPTS {
        let answer = ask_line("preset [2]:", global)?;
        if let Some(preset) = parse_answer(&answer) {
            return Some(preset);
        }
        user_messages::print_line("type 1, 2 or 3, or the name of a preset");
    }
    None
}

fn parse_answer(answer: &str) -> Option<PresetName> {
    let answer = if answer.is_empty() { "2" } else { answer };
    let number = answer.parse().ok().and_then(|number: usize| number.checked_sub(1));
    PresetName::ALL
        .into_iter()
        .enumerate()
        .find(|(index, preset)| answer == preset.as_str() || number == Some(*index))
        .map(|(_, preset)| preset)
}
