//! Claude Code's rules in our own: deny over ask over allow, never looser than theirs.

use std::ops::Range;

use jsonc_parser::ast::Value;
use openoxide_permission::{
    Anchors, Combining, Directory, Layer, LayerKind, Rule, directory, parse,
};
use openoxide_protocol::{AbsPath, Effect, PermissionMode};

use super::{
    hooks::{self, Hooks},
    rules::{self, parameter},
    settings::{Mode, Settings},
    wrappers::NEVER_BY_WILDCARD,
};
use crate::{
    foreign::{Fault, Origin, Translation, line},
    json_text::{Dialect, member, object, span},
};

/// Returns the settings as a layer. `anchors.base` is what `/` stands for in their paths.
///
/// # Errors
/// As [`Settings::read`].
pub fn translate(
    text: &str,
    kind: LayerKind,
    file: &str,
    anchors: Anchors<'_>,
) -> Result<Translation, Vec<Fault>> {
    let settings = Settings::read(text, file, anchors.base)?;
    let mut to = Translator { text, file, anchors, rules: vec![], faults: vec![], notes: vec![] };
    to.lists()?;
    let mode = to.mode(&settings);
    let directories = to.directories(kind)?;
    let (rules, name) = (to.rules, Some(file.to_owned()));
    let layer = Layer { kind, file: name, combining: Combining::Strictest, rules, mode };
    let Hooks { hooks, faults, notes, managed_only } = hooks::read(text, kind, file);
    let (faults, notes) = ([to.faults, faults].concat(), [to.notes, notes].concat());
    Ok(Translation {
        directories,
        hooks,
        managed_hooks_only: managed_only,
        ..Translation::new(layer, faults, notes)
    })
}

struct Translator<'a> {
    text: &'a str,
    file: &'a str,
    anchors: Anchors<'a>,
    rules: Vec<Rule>,
    faults: Vec<Fault>,
    notes: Vec<String>,
}

/// Parameters of a shell call, which are no commands.
const OF_BASH: &[&str] =
    &["timeout", "description", "run_in_background", "dangerouslyDisableSandbox"];

impl Translator<'_> {
    fn lists(&mut self) -> Result<(), Vec<Fault>> {
        let whole = object(self.text, Dialect::Strict).map_err(|fault| vec![fault])?;
        let permissions = member(&whole, "permissions").and_then(Value::as_object);
        for (name, effect) in
            [("deny", Effect::Deny), ("ask", Effect::Ask), ("allow", Effect::Allow)]
        {
            let list =
                permissions.and_then(|object| member(object, name)).and_then(Value::as_array);
            for item in list.map(|array| array.elements.as_slice()).unwrap_or_default() {
                let text = item.as_string_lit().map(|literal| literal.value.as_ref());
                self.rule(text.unwrap_or_default(), effect, span(item));
            }
        }
        Ok(())
    }

    /// There a relative path counts from where the client was started: in a project's settings that is taken for the project.
    fn directories(&mut self, kind: LayerKind) -> Result<Vec<Directory>, Vec<Fault>> {
        let whole = object(self.text, Dialect::Strict).map_err(|fault| vec![fault])?;
        let permissions = member(&whole, "permissions").and_then(Value::as_object);
        let list = permissions.and_then(|object| member(object, "additionalDirectories"));
        let mut all = Vec::new();
        for item in list.and_then(Value::as_array).into_iter().flat_map(|array| &array.elements) {
            let Some(text) = item.as_string_lit().map(|literal| literal.value.to_string()) else {
                continue;
            };
            let line = line(self.text, span(item).start);
            match self.directory(&text) {
                Ok(path) => {
                    let (layer, file) = (kind, self.file.to_owned());
                    all.push(Directory { layer, file, line, text, path });
                }
                Err(why) => self.notes.push(format!("{}:{line}: {why}; it is left out", self.file)),
            }
        }
        Ok(all)
    }

    fn directory(&self, text: &str) -> Result<AbsPath, String> {
        let relative = !text.starts_with(['/', '~']);
        match relative && self.anchors.home == Some(self.anchors.base) {
            true => Err(format!("`{text}` counts from wherever Claude Code is started")),
            false => directory(text, self.anchors),
        }
    }

    fn rule(&mut self, text: &str, effect: Effect, span: Range<usize>) {
        let line = line(self.text, span.start);
        let theirs = rules::Rule::read(text, effect, Origin::default(), self.anchors.base);
        let said = match theirs {
            None => Err("Claude Code skips it".to_owned()),
            Some(theirs) => self.said(&theirs),
        };
        match said {
            Ok(rules) => self.rules.extend(rules.into_iter().map(|rule| Rule { line, ..rule })),
            Err(why) => {
                let message =
                    format!("`{} {text}` cannot be said in our rules: {why}", effect.as_str());
                match effect {
                    Effect::Allow => {
                        self.notes.push(format!("{}:{line}: {message}; it is left out", self.file));
                    }
                    _ => self.faults.push(
                        Fault::new(message, span).help("`--exact` reads it as Claude Code does"),
                    ),
                }
            }
        }
    }

    /// Returns the rules that say the same.
    fn said(&self, theirs: &rules::Rule) -> Result<Vec<Rule>, String> {
        let (tool, content) = (theirs.tool.as_str(), theirs.content.as_deref());
        let holds_back = theirs.effect != Effect::Allow;
        if let Some(why) = unsaid(tool, content, holds_back) {
            return Err(why.to_owned());
        }
        let read =
            |text: &str| parse(text, theirs.effect, self.anchors).map_err(|error| error.message);
        let mut all = vec![read(&theirs.text)?];
        // `src/**` lies at any depth where it holds back.
        let one = content.and_then(|content| content.strip_suffix("/**"));
        let floats = one.filter(|name| !name.contains('/') && !name.starts_with(['~', '*']));
        if let (true, Some(name)) = (holds_back && tool != "Bash", floats) {
            all.push(read(&format!("{tool}(**/{name}/**)"))?);
        }
        Ok(all)
    }

    /// Ours accepts more edits than theirs, so that mode is not taken over.
    fn mode(&mut self, settings: &Settings) -> Option<PermissionMode> {
        match settings.mode? {
            Mode::Default => None,
            Mode::Plan => Some(PermissionMode::Plan),
            Mode::DontAsk => Some(PermissionMode::DontAsk),
            Mode::Bypass if settings.no_bypass => None,
            Mode::Bypass => Some(PermissionMode::BypassPermissions),
            Mode::AcceptEdits => {
                let note =
                    "`acceptEdits` is left out, because ours accepts more; name it with --mode";
                self.notes.push(format!("{}: {note}", self.file));
                None
            }
        }
    }
}

/// Says why a rule means something else with us.
fn unsaid(tool: &str, content: Option<&str>, holds_back: bool) -> Option<&'static str> {
    let named = content.and_then(parameter).map(|(name, _)| name);
    match (tool, content, named) {
        ("Bash", _, Some(name)) if OF_BASH.contains(&name) && holds_back => {
            Some("it is about a parameter of the call")
        }
        // It compares texts: a blank too many and the rule matches nothing.
        ("Bash", Some(content), _)
            if !holds_back && (content.trim() != content || content.contains("  ")) =>
        {
            Some("a blank too many is part of the text that Claude Code compares")
        }
        ("Agent", _, Some(_)) => Some("it is about a parameter of the call"),
        ("Edit" | "Write" | "MultiEdit", None, _) if !holds_back => {
            Some("it is about one of the tools that edit; `Edit(**)` is about all")
        }
        ("Write" | "MultiEdit" | "NotebookEdit", Some(_), _) if !holds_back => {
            Some("Claude Code never looks at it")
        }
        ("Bash", Some(content), _) if !holds_back && content.contains('*') => {
            let first = content.split([' ', ':', '*']).next().unwrap_or_default();
            NEVER_BY_WILDCARD
                .contains(&first)
                .then_some("what this program starts is not looked at")
        }
        _ => None,
    }
}
