//! The permissions of a `settings.json`.

use std::sync::Arc;

use jsonc_parser::ast::{Object, Value};
use openoxide_protocol::{AbsPath, Effect, PermissionMode};

use super::rules::ClaudeRule;
use crate::{
    json_text::{JsonDialect, effective_members, find_member, parse_object, value_span},
    policy_translation::{PolicyTextError, RuleOrigin, line_number},
};

/// A mode of Claude Code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaudeMode {
    /// `default`, `manual`, and also `auto`, because its classification is not known.
    #[default]
    Default,
    /// `acceptEdits`
    AcceptEdits,
    /// `plan`
    Plan,
    /// `dontAsk`
    DontAsk,
    /// `bypassPermissions`
    Bypass,
}

impl ClaudeMode {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "default" | "manual" | "auto" => Self::Default,
            "acceptEdits" => Self::AcceptEdits,
            "plan" => Self::Plan,
            "dontAsk" => Self::DontAsk,
            "bypassPermissions" => Self::Bypass,
            _ => return None,
        })
    }
}

impl From<PermissionMode> for ClaudeMode {
    fn from(mode: PermissionMode) -> Self {
        match mode {
            // Claude Code has no such mode, and asks more.
            PermissionMode::Default | PermissionMode::Sandboxed => Self::Default,
            PermissionMode::AcceptEdits => Self::AcceptEdits,
            PermissionMode::Plan => Self::Plan,
            PermissionMode::DontAsk => Self::DontAsk,
            PermissionMode::BypassPermissions => Self::Bypass,
        }
    }
}

/// The permissions of a settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaudeSettings {
    pub(crate) rules: Vec<ClaudeRule>,
    pub(crate) mode: Option<ClaudeMode>,
    pub(crate) directories: Vec<String>,
    pub(crate) bypass_disabled: bool,
    /// Rules that the client skips.
    pub notes: Vec<String>,
}

impl ClaudeSettings {
    /// Parses a settings file. `base` is the directory that a leading `/` in its paths refers to.
    ///
    /// # Errors
    /// Returns an error in every case in which the client would skip the whole file, including its
    /// deny rules.
    pub fn parse(text: &str, file: &str, base: &AbsPath) -> Result<Self, Vec<PolicyTextError>> {
        let whole = parse_object(text, JsonDialect::Strict).map_err(|fault| vec![fault])?;
        let mut reader = SettingsReader {
            text,
            file: Arc::from(file),
            base,
            errors: vec![],
            settings: Self::default(),
        };
        match find_member(&whole, "permissions") {
            None => {}
            Some(Value::Object(permissions)) => reader.read_permissions(permissions),
            Some(other) => reader.add_error("`permissions` must be an object", other),
        }
        if reader.errors.is_empty() { Ok(reader.settings) } else { Err(reader.errors) }
    }

    /// Returns the combined settings: all rules of both, and the mode of the higher one if it sets
    /// one.
    #[must_use]
    pub fn merge_with(mut self, higher: Self) -> Self {
        self.rules.extend(higher.rules);
        self.directories.extend(higher.directories);
        self.notes.extend(higher.notes);
        self.mode = higher.mode.or(self.mode);
        self.bypass_disabled |= higher.bypass_disabled;
        self
    }
}

struct SettingsReader<'t> {
    text: &'t str,
    file: Arc<str>,
    base: &'t AbsPath,
    errors: Vec<PolicyTextError>,
    settings: ClaudeSettings,
}

impl SettingsReader<'_> {
    fn read_permissions(&mut self, permissions: &Object<'_>) {
        for (name, value) in effective_members(permissions) {
            match name {
                "deny" => self.read_rules(value, Effect::Deny),
                "ask" => self.read_rules(value, Effect::Ask),
                "allow" => self.read_rules(value, Effect::Allow),
                "defaultMode" => self.read_mode(value),
                "additionalDirectories" => {
                    let texts = value.as_array().map(|array| array.elements.iter());
                    let texts = texts.into_iter().flatten().filter_map(Value::as_string_lit);
                    self.settings.directories.extend(texts.map(|text| text.value.to_string()));
                }
                "disableBypassPermissionsMode" => {
                    let word = value.as_string_lit().map(|literal| literal.value.as_ref());
                    self.settings.bypass_disabled = word == Some("disable");
                }
                _ => {}
            }
        }
    }

    fn read_mode(&mut self, value: &Value<'_>) {
        let word = value.as_string_lit().map(|literal| literal.value.as_ref());
        self.settings.mode = word.and_then(ClaudeMode::parse);
        if self.settings.mode.is_none() {
            self.add_error("unknown mode of Claude Code", value);
        }
    }

    fn read_rules(&mut self, value: &Value<'_>, effect: Effect) {
        let Value::Array(array) = value else {
            return self.add_error("expected an array of rules", value);
        };
        for item in &array.elements {
            let line = line_number(self.text, value_span(item).start);
            let origin = RuleOrigin { file: Some(Arc::clone(&self.file)), line };
            let text = item.as_string_lit().map(|literal| literal.value.as_ref());
            match text.and_then(|text| ClaudeRule::parse(text, effect, origin, self.base)) {
                Some(rule) => self.settings.rules.push(rule),
                None => {
                    let text = text.unwrap_or("a value that is not a string");
                    let note = format!("{}:{line}: Claude Code skips `{text}`", self.file);
                    self.settings.notes.push(note);
                }
            }
        }
    }

    fn add_error(&mut self, message: &str, value: &Value<'_>) {
        self.errors.push(PolicyTextError::new(message, value_span(value)));
    }
}
