//! llm-do's approval configuration (seed 001): file sandboxes, rules for the shell, and the controller's mode, as a layer.
//!
//! There the first rule that matches a command decides; here the last one does, so the rules stand in the other order.

mod config;
mod sandbox;
mod shell;
mod write;

use openoxide_permission::{Anchors, Combining, Layer, LayerKind, Pattern, Rule};
use openoxide_protocol::{Effect, PermissionMode};

use crate::foreign::{Fault, Translation};
use config::{Config, Mode};

pub use write::write;

/// Returns the configuration as a layer, never looser than what llm-do would do. `anchors.base` is what relative roots count
/// from: the directory of the file.
///
/// # Errors
/// Where the text is no YAML, or says what the format does not know.
pub fn translate(
    text: &str,
    kind: LayerKind,
    file: &str,
    anchors: Anchors<'_>,
) -> Result<Translation, Vec<Fault>> {
    let config = Config::read(text).map_err(|fault| vec![fault])?;
    let mut to = Translator { file, anchors, rules: vec![], faults: vec![], notes: vec![] };
    if let Some(sandbox) = &config.sandbox {
        to.sandbox(sandbox);
    }
    if let Some(shell) = &config.shell {
        to.shell(shell);
    }
    let (rules, mode) = (to.rules, config.mode.and_then(mode));
    let (file, combining) = (Some(file.to_owned()), Combining::LastMatch);
    let layer = Layer { kind, file, combining, rules, mode };
    Ok(Translation { layer, directories: vec![], faults: to.faults, notes: to.notes })
}

/// What its controller makes of a request for approval (DECISIONS 9).
const fn mode(mode: Mode) -> Option<PermissionMode> {
    match mode {
        Mode::Interactive => None,
        Mode::ApproveAll => Some(PermissionMode::BypassPermissions),
        Mode::Strict => Some(PermissionMode::DontAsk),
    }
}

struct Translator<'a> {
    file: &'a str,
    anchors: Anchors<'a>,
    rules: Vec<Rule>,
    faults: Vec<Fault>,
    notes: Vec<String>,
}

impl Translator<'_> {
    fn rule(&mut self, effect: Effect, text: String, line: u32, patterns: Vec<Pattern>) {
        let (human, reason) = (false, None);
        let (exact, bare) = (false, false);
        self.rules.push(Rule { effect, text, patterns, exact, bare, human, line, reason });
    }

    fn note(&mut self, line: u32, what: &str) {
        self.notes.push(format!("{}:{line}: {what}", self.file));
    }
}

#[cfg(test)]
mod tests;
