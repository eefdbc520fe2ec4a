//! The permissions of a `settings.json`.

use std::sync::Arc;

use jsonc_parser::ast::{Object, Value};
use openoxide_protocol::{AbsPath, Effect, PermissionMode};

use super::rules::Rule;
use crate::{
    foreign::{Fault, Origin, line},
    json_text::{Dialect, member, members, object, span},
};

/// A mode of Claude Code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// `default`, `manual`, and `auto` where nothing is known of what it would find.
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

impl Mode {
    fn read(word: &str) -> Option<Self> {
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

impl From<PermissionMode> for Mode {
    fn from(mode: PermissionMode) -> Self {
        match mode {
            PermissionMode::Default => Self::Default,
            PermissionMode::AcceptEdits => Self::AcceptEdits,
            PermissionMode::Plan => Self::Plan,
            PermissionMode::DontAsk => Self::DontAsk,
            PermissionMode::BypassPermissions => Self::Bypass,
        }
    }
}

/// What a settings file says about permissions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub(crate) rules: Vec<Rule>,
    pub(crate) mode: Option<Mode>,
    pub(crate) directories: Vec<String>,
    pub(crate) no_bypass: bool,
    /// Rules that the client skips.
    pub notes: Vec<String>,
}

impl Settings {
    /// Reads a settings file. `base` is what `/` stands for in its paths.
    ///
    /// # Errors
    /// Everything for which the client would leave the whole file out, its denies too: here it is an error.
    pub fn read(text: &str, file: &str, base: &AbsPath) -> Result<Self, Vec<Fault>> {
        let whole = object(text, Dialect::Strict).map_err(|fault| vec![fault])?;
        let mut reader =
            Reader { text, file: Arc::from(file), base, faults: vec![], settings: Self::default() };
        match member(&whole, "permissions") {
            None => {}
            Some(Value::Object(permissions)) => reader.permissions(permissions),
            Some(other) => reader.fault("`permissions` must be an object", other),
        }
        if reader.faults.is_empty() { Ok(reader.settings) } else { Err(reader.faults) }
    }

    /// Returns both: the rules of each, and the mode of the higher one if it sets one.
    #[must_use]
    pub fn under(mut self, higher: Self) -> Self {
        self.rules.extend(higher.rules);
        self.directories.extend(higher.directories);
        self.notes.extend(higher.notes);
        self.mode = higher.mode.or(self.mode);
        self.no_bypass |= higher.no_bypass;
        self
    }
}

struct Reader<'t> {
    text: &'t str,
    file: Arc<str>,
    base: &'t AbsPath,
    faults: Vec<Fault>,
    settings: Settings,
}

impl Reader<'_> {
    fn permissions(&mut self, permissions: &Object<'_>) {
        for (name, value) in members(permissions) {
            match name {
                "deny" => self.rules(value, Effect::Deny),
                "ask" => self.rules(value, Effect::Ask),
                "allow" => self.rules(value, Effect::Allow),
                "defaultMode" => self.mode(value),
                "additionalDirectories" => {
                    let texts = value.as_array().map(|array| array.elements.iter());
                    let texts = texts.into_iter().flatten().filter_map(Value::as_string_lit);
                    self.settings.directories.extend(texts.map(|text| text.value.to_string()));
                }
                "disableBypassPermissionsMode" => {
                    let word = value.as_string_lit().map(|literal| literal.value.as_ref());
                    self.settings.no_bypass = word == Some("disable");
                }
                _ => {}
            }
        }
    }

    fn mode(&mut self, value: &Value<'_>) {
        let word = value.as_string_lit().map(|literal| literal.value.as_ref());
        self.settings.mode = word.and_then(Mode::read);
        if self.settings.mode.is_none() {
            self.fault("this is no mode of Claude Code", value);
        }
    }

    fn rules(&mut self, value: &Value<'_>, effect: Effect) {
        let Value::Array(array) = value else {
            return self.fault("expected an array of rules", value);
        };
        for item in &array.elements {
            let line = line(self.text, span(item).start);
            let origin = Origin { file: Some(Arc::clone(&self.file)), line };
            let text = item.as_string_lit().map(|literal| literal.value.as_ref());
            match text.and_then(|text| Rule::read(text, effect, origin, self.base)) {
                Some(rule) => self.settings.rules.push(rule),
                None => {
                    let text = text.unwrap_or("what is no text");
                    let note = format!("{}:{line}: Claude Code skips `{text}`", self.file);
                    self.settings.notes.push(note);
                }
            }
        }
    }

    fn fault(&mut self, message: &str, value: &Value<'_>) {
        self.faults.push(Fault::new(message, span(value)));
    }
}
