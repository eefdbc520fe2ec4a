//! Translation of Claude Code's rules into a layer: deny over ask over allow, and never less
//! strict.

use std::ops::Range;

use jsonc_parser::ast::Value;
use openoxide_permission::{
    AdditionalDirectory, CombiningAlgorithm, Layer, LayerKind, PathAnchors, PolicyPathError, Rule,
    parse_directory, parse_rule,
};
use openoxide_protocol::{AbsPath, Effect, PermissionMode};
use thiserror::Error;

use super::{
    command_wrappers::NO_WILDCARD_COMMANDS,
    hooks::{self, ClaudeHooks},
    rules::{self, parse_parameter},
    settings::{ClaudeMode, ClaudeSettings},
};
use crate::{
    json_text::{JsonDialect, find_member, parse_object, value_span},
    policy_translation::{PolicyTextError, PolicyTranslation, RuleOrigin, line_number},
};

/// Translates the settings into a layer. `anchors.base` is the directory that a leading `/` in
/// their paths refers to.
///
/// # Errors
/// Returns the errors of [`ClaudeSettings::parse`].
pub fn translate_settings(
    text: &str,
    kind: LayerKind,
    file: &str,
    anchors: PathAnchors<'_>,
) -> Result<PolicyTranslation, Vec<PolicyTextError>> {
    let settings = ClaudeSettings::parse(text, file, anchors.base)?;
    let mut to =
        SettingsTranslator { text, file, anchors, rules: vec![], errors: vec![], notes: vec![] };
    to.translate_lists()?;
    let mode = to.translate_mode(&settings);
    let directories = to.translate_directories(kind)?;
    let (rules, name) = (to.rules, Some(file.to_owned()));
    let layer =
        Layer { kind, file: name, combining_algorithm: CombiningAlgorithm::Strictest, rules, mode };
    let ClaudeHooks { hooks, errors: faults, notes, managed_only } =
        hooks::parse_hooks(text, kind, file);
    let (faults, notes) = ([to.errors, faults].concat(), [to.notes, notes].concat());
    Ok(PolicyTranslation {
        directories,
        hooks,
        managed_hooks_only: managed_only,
        ..PolicyTranslation::new(layer, faults, notes)
    })
}

struct SettingsTranslator<'a> {
    text: &'a str,
    file: &'a str,
    anchors: PathAnchors<'a>,
    rules: Vec<Rule>,
    errors: Vec<PolicyTextError>,
    notes: Vec<String>,
}

/// Parameters of a shell call that are not commands.
const BASH_PARAMETERS: &[&str] =
    &["timeout", "description", "run_in_background", "dangerouslyDisableSandbox"];

impl SettingsTranslator<'_> {
    fn translate_lists(&mut self) -> Result<(), Vec<PolicyTextError>> {
        let whole = parse_object(self.text, JsonDialect::Strict).map_err(|fault| vec![fault])?;
        let permissions = find_member(&whole, "permissions").and_then(Value::as_object);
        for (name, effect) in
            [("deny", Effect::Deny), ("ask", Effect::Ask), ("allow", Effect::Allow)]
        {
            let list =
                permissions.and_then(|object| find_member(object, name)).and_then(Value::as_array);
            for item in list.map(|array| array.elements.as_slice()).unwrap_or_default() {
                let text = item.as_string_lit().map(|literal| literal.value.as_ref());
                self.translate_rule(text.unwrap_or_default(), effect, value_span(item));
            }
        }
        Ok(())
    }

    /// Translates the additional directories. In Claude Code a relative path is relative to the
    /// directory in which the client was started. In a project's settings this is assumed to be the
    /// project.
    fn translate_directories(
        &mut self,
        kind: LayerKind,
    ) -> Result<Vec<AdditionalDirectory>, Vec<PolicyTextError>> {
        let whole = parse_object(self.text, JsonDialect::Strict).map_err(|fault| vec![fault])?;
        let permissions = find_member(&whole, "permissions").and_then(Value::as_object);
        let list = permissions.and_then(|object| find_member(object, "additionalDirectories"));
        let mut all = Vec::new();
        for item in list.and_then(Value::as_array).into_iter().flat_map(|array| &array.elements) {
            let Some(text) = item.as_string_lit().map(|literal| literal.value.to_string()) else {
                continue;
            };
            let line = line_number(self.text, value_span(item).start);
            match self.translate_directory(&text) {
                Ok(path) => {
                    let (layer, file) = (kind, self.file.to_owned());
                    all.push(AdditionalDirectory { layer, file, line, text, path });
                }
                Err(why) => self.notes.push(format!("{}:{line}: {why}; ignored", self.file)),
            }
        }
        Ok(all)
    }

    fn translate_directory(&self, text: &str) -> Result<AbsPath, DirectoryError> {
        let relative = !text.starts_with(['/', '~']);
        match relative && self.anchors.home == Some(self.anchors.base) {
            true => Err(DirectoryError::Relative(text.to_owned())),
            false => parse_directory(text, self.anchors).map_err(DirectoryError::Unusable),
        }
    }

    fn translate_rule(&mut self, text: &str, effect: Effect, span: Range<usize>) {
        let line = line_number(self.text, span.start);
        let theirs =
            rules::ClaudeRule::parse(text, effect, RuleOrigin::default(), self.anchors.base);
        let said = match theirs {
            None => Err(TranslationError::Skipped),
            Some(theirs) => self.find_equivalent_rules(&theirs),
        };
        match said {
            Ok(rules) => self.rules.extend(rules.into_iter().map(|rule| Rule { line, ..rule })),
            Err(why) => {
                let message = format!(
                    "`{} {text}` cannot be expressed as a rule of OpenOxide: {why}",
                    effect.as_str()
                );
                match effect {
                    Effect::Allow => {
                        self.notes.push(format!("{}:{line}: {message}; ignored", self.file));
                    }
                    _ => self.errors.push(
                        PolicyTextError::new(message, span)
                            .with_help("`--exact` reads it as Claude Code does"),
                    ),
                }
            }
        }
    }

    /// Returns the equivalent OpenOxide rules.
    fn find_equivalent_rules(
        &self,
        theirs: &rules::ClaudeRule,
    ) -> Result<Vec<Rule>, TranslationError> {
        let (tool, content) = (theirs.tool.as_str(), theirs.content.as_deref());
        let holds_back = theirs.effect != Effect::Allow;
        if let Some(why) = untranslatable_reason(tool, content, holds_back) {
            return Err(TranslationError::OtherMeaning(why));
        }
        let read = |text: &str| {
            parse_rule(text, theirs.effect, self.anchors)
                .map_err(|error| TranslationError::Unparsable(error.message))
        };
        let mut all = vec![read(&theirs.text)?];
        // `src/**` matches at any depth in a restrictive rule.
        let one = content.and_then(|content| content.strip_suffix("/**"));
        let floats = one.filter(|name| !name.contains('/') && !name.starts_with(['~', '*']));
        if let (true, Some(name)) = (holds_back && tool != "Bash", floats) {
            all.push(read(&format!("{tool}(**/{name}/**)"))?);
        }
        Ok(all)
    }

    /// Translates the mode. `acceptEdits` is left out, because the OpenOxide mode accepts more
    /// edits.
    fn translate_mode(&mut self, settings: &ClaudeSettings) -> Option<PermissionMode> {
        match settings.mode? {
            ClaudeMode::Default => None,
            ClaudeMode::Plan => Some(PermissionMode::Plan),
            ClaudeMode::DontAsk => Some(PermissionMode::DontAsk),
            ClaudeMode::Bypass if settings.bypass_disabled => None,
            ClaudeMode::Bypass => Some(PermissionMode::BypassPermissions),
            ClaudeMode::AcceptEdits => {
                let note = "`acceptEdits` was not imported, because `accept_edits` accepts more; set it \
                     with --mode";
                self.notes.push(format!("{}: {note}", self.file));
                None
            }
        }
    }
}

/// The reason for which a directory is left out.
#[derive(Debug, Error)]
enum DirectoryError {
    /// The directory is relative to an unknown directory.
    #[error("`{0}` is relative to the directory in which Claude Code is started")]
    Relative(String),
    /// OpenOxide does not accept the directory.
    #[error("{0}")]
    Unusable(PolicyPathError),
}

/// The reason for which a rule cannot be expressed as a rule of OpenOxide.
#[derive(Debug, Error)]
enum TranslationError {
    /// Claude Code itself ignores the rule.
    #[error("Claude Code skips it")]
    Skipped,
    /// The rule has a different meaning in OpenOxide.
    #[error("{0}")]
    OtherMeaning(&'static str),
    /// OpenOxide cannot parse the rule.
    #[error("{0}")]
    Unparsable(String),
}

/// Returns why a rule has a different meaning in OpenOxide.
fn untranslatable_reason(
    tool: &str,
    content: Option<&str>,
    holds_back: bool,
) -> Option<&'static str> {
    let named = content.and_then(parse_parameter).map(|(name, _)| name);
    match (tool, content, named) {
        ("Bash", _, Some(name)) if BASH_PARAMETERS.contains(&name) && holds_back => {
            Some("it matches a parameter of the call")
        }
        // Claude Code compares texts, so a rule with a superfluous blank matches nothing.
        ("Bash", Some(content), _)
            if !holds_back && (content.trim() != content || content.contains("  ")) =>
        {
            Some("Claude Code compares the additional space as part of the text")
        }
        ("Agent", _, Some(_)) => Some("it matches a parameter of the call"),
        ("Edit" | "Write" | "MultiEdit", None, _) if !holds_back => {
            Some("it matches one of the tools that edit; `Edit(**)` matches all")
        }
        ("Write" | "MultiEdit" | "NotebookEdit", Some(_), _) if !holds_back => {
            Some("Claude Code ignores it")
        }
        ("Bash", Some(content), _) if !holds_back && content.contains('*') => {
            let first = content.split([' ', ':', '*']).next().unwrap_or_default();
            NO_WILDCARD_COMMANDS
                .contains(&first)
                .then_some("commands that this program starts are not analysed")
        }
        _ => None,
    }
}
