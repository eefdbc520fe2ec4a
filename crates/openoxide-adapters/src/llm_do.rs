//! llm-do's approval configuration as a layer: file sandboxes, shell rules and the controller's
//! mode.
//!
//! In llm-do the first rule that matches a command decides. In OpenOxide the last one does, so the
//! rules are in reverse order.

mod config_export;
mod config_file;
mod config_json;
mod sandbox_rules;
mod shell_rules;

use openoxide_permission::{CombiningAlgorithm, Layer, LayerKind, PathAnchors, Pattern, Rule};
use openoxide_protocol::{Effect, PermissionMode};

use crate::policy_translation::{PolicyTextError, PolicyTranslation, new_rule};
use config_file::{LlmDoConfig, LlmDoMode};

pub use config_export::render_config;
pub use config_json::parse_config;

/// Translates the configuration into a layer that is never less strict than llm-do. `anchors.base`
/// is the directory of the file, and relative roots are relative to it.
///
/// # Errors
/// Returns an error if the text is not YAML, or if it contains something that the format does not
/// define.
pub fn translate_config(
    text: &str,
    kind: LayerKind,
    file: &str,
    anchors: PathAnchors<'_>,
) -> Result<PolicyTranslation, Vec<PolicyTextError>> {
    let config = LlmDoConfig::parse(text).map_err(|fault| vec![fault])?;
    let mut to = LlmDoTranslator { file, anchors, rules: vec![], errors: vec![], notes: vec![] };
    if let Some(sandbox) = &config.sandbox {
        to.translate_sandbox(sandbox);
    }
    if let Some(shell) = &config.shell {
        to.translate_shell(shell);
    }
    let (rules, mode) = (to.rules, config.mode.and_then(to_permission_mode));
    let (file, combining) = (Some(file.to_owned()), CombiningAlgorithm::LastMatch);
    let layer = Layer { kind, file, combining_algorithm: combining, rules, mode };
    Ok(PolicyTranslation::new(layer, to.errors, to.notes))
}

/// Returns the mode that handles approval requests as the controller does.
const fn to_permission_mode(mode: LlmDoMode) -> Option<PermissionMode> {
    match mode {
        LlmDoMode::Interactive => None,
        LlmDoMode::ApproveAll => Some(PermissionMode::BypassPermissions),
        LlmDoMode::Strict => Some(PermissionMode::DontAsk),
    }
}

struct LlmDoTranslator<'a> {
    file: &'a str,
    anchors: PathAnchors<'a>,
    rules: Vec<Rule>,
    errors: Vec<PolicyTextError>,
    notes: Vec<String>,
}

impl LlmDoTranslator<'_> {
    fn add_rule(&mut self, effect: Effect, text: String, line: u32, patterns: Vec<Pattern>) {
        self.rules.push(new_rule(effect, text, patterns, line));
    }

    fn add_note(&mut self, line: u32, what: &str) {
        self.notes.push(format!("{}:{line}: {what}", self.file));
    }
}

#[cfg(test)]
mod tests;
