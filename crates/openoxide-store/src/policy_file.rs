//! Parsing the native policy file, which is TOML. All errors are reported at once.

mod audit;
mod byte_size;
mod directories;
mod hooks;
mod policy_file_parser;
mod policy_problem;
mod rules;
mod sandbox;
mod sandbox_settings;
mod test_cases;

use openoxide_permission::{
    AdditionalDirectory, CombiningAlgorithm, Hook, Layer, LayerKind, PathAnchors, Rule,
};
use openoxide_protocol::{Effect, PermissionMode};
use toml::de::{DeTable, DeValue};

use policy_file_parser::{PolicyFileParser, TomlValue};

pub use byte_size::ByteSize;
pub use policy_problem::PolicyProblem;
pub use sandbox_settings::{
    MissingSandboxAction, NetworkSetting, PublishSetting, SandboxLimits, SandboxRequirement,
    SandboxSettings,
};
pub use test_cases::{PolicyTestCase, read_cases};

const KEYS: &[&str] = &["mode", "permissions", "directories", "audit", "sandbox", "hooks", "test"];

const MANAGED_KEYS: &[&str] =
    &["disable_bypass_permissions", "allow_managed_rules_only", "allow_managed_hooks_only"];

/// The content of a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFile {
    /// The rules. If there is any problem, the allow rules are removed.
    pub layer: Layer,
    /// The hooks. If there is any problem, they can only ask and deny.
    pub hooks: Vec<Hook>,
    /// The additional directories of the project. Empty if there is any problem.
    pub directories: Vec<AdditionalDirectory>,
    /// The sandbox settings. If there is any problem, only the restrictive ones.
    pub sandbox: SandboxSettings,
    /// The directories outside the project that confined commands can change. Empty if there is any
    /// problem.
    pub writable: Vec<AdditionalDirectory>,
    /// The settings that only the managed file may contain.
    pub managed: ManagedSettings,
    /// The line, starting at 1, of `[audit] required = true`, which makes every allow depend on an
    /// audit record.
    pub audit: Option<u32>,
    /// True if harmless commands of unproved programs require approval (`unproved = "ask"`).
    pub asks_unproved: bool,
    /// All problems, in the order of the text.
    pub problems: Vec<PolicyProblem>,
    /// Notes for the user about allow rules that were left out.
    pub notes: Vec<String>,
}

impl PolicyFile {
    /// Removes all permissive settings, as for a file with a problem.
    pub(crate) fn keep_restrictions(&mut self) {
        self.layer.rules.retain(|rule| rule.effect != Effect::Allow);
        self.layer.mode = None;
        self.hooks.iter_mut().for_each(|hook| hook.may_allow = false);
        (self.directories, self.writable) = (Vec::new(), Vec::new());
        self.sandbox = std::mem::take(&mut self.sandbox).into_restrictions();
    }
}

/// The restrictions that an administrator sets for all users (the table `managed`, which only the
/// managed file may contain).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManagedSettings {
    /// True if the mode `bypass_permissions` is disabled.
    pub disable_bypass_permissions: bool,
    /// True if rules of other files and of the command line are ignored.
    pub allow_managed_rules_only: bool,
    /// True if hooks of other files are ignored.
    pub allow_managed_hooks_only: bool,
}

/// Parses a policy file. Valid parts are kept. A file with any problem allows nothing, but its ask
/// and deny rules stay in force.
#[must_use]
pub fn parse_policy(
    text: &str,
    kind: LayerKind,
    name: &str,
    anchors: PathAnchors<'_>,
) -> PolicyFile {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut reader = PolicyFileParser::new(text, kind, name, anchors);
    for error in errors {
        let span = error.span().unwrap_or(0..text.len());
        reader.push_problem(error.message().to_owned(), span, None, true);
    }
    let settings = reader.parse_file(table.get_ref());
    reader.rules.sort_by_key(|(at, _)| *at);
    reader.problems.sort_by_key(|problem| problem.span.start);
    let broken = !reader.problems.is_empty();
    let kept = |rule: &Rule| !(broken && rule.effect == Effect::Allow);
    let rules = reader.rules.into_iter().map(|(_, rule)| rule).filter(kept).collect();
    let layer = Layer {
        kind,
        file: Some(name.to_owned()),
        combining_algorithm: settings.combining,
        rules,
        mode: settings.mode.filter(|_| !broken),
    };
    let mut hooks = reader.hooks;
    hooks.iter_mut().for_each(|hook| hook.may_allow &= !broken);
    let (directories, writable, sandbox) = match broken {
        true => (Vec::new(), Vec::new(), reader.sandbox.into_restrictions()),
        false => (reader.directories, reader.writable, reader.sandbox),
    };
    PolicyFile {
        layer,
        hooks,
        directories,
        sandbox,
        writable,
        managed: settings.managed,
        audit: settings.audit,
        asks_unproved: settings.asks_unproved,
        problems: reader.problems,
        notes: Vec::new(),
    }
}

#[derive(Default)]
struct PolicyFileSettings {
    combining: CombiningAlgorithm,
    mode: Option<PermissionMode>,
    managed: ManagedSettings,
    audit: Option<u32>,
    asks_unproved: bool,
}

impl PolicyFileParser<'_> {
    fn parse_file(&mut self, table: &DeTable<'_>) -> PolicyFileSettings {
        let mut settings = PolicyFileSettings::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "mode" => {
                    settings.mode =
                        self.parse_word(value, "mode", PermissionMode::parse, &mode_names());
                }
                "permissions" => match value.get_ref() {
                    DeValue::Table(table) => self.parse_permissions(table, &mut settings),
                    _ => {
                        self.push_problem(
                            "`permissions` must be a table",
                            value.span(),
                            None,
                            true,
                        );
                    }
                },
                "managed" if self.kind == LayerKind::Managed => match value.get_ref() {
                    DeValue::Table(table) => settings.managed = self.parse_managed(table),
                    _ => self.push_problem("`managed` must be a table", value.span(), None, true),
                },
                "managed" => {
                    let message = "`managed` is only allowed in the managed policy file";
                    self.push_problem(message, key.span(), None, true);
                }
                "audit" => settings.audit = self.parse_audit(value),
                "hooks" => self.parse_hooks(value),
                "sandbox" => self.parse_sandbox(value),
                "directories" => self.parse_directories(value),
                "test" => {
                    let (_, problems) = test_cases::parse_cases(self.text, value);
                    self.problems.extend(problems);
                }
                other => {
                    self.push_unknown_key(other, key.span(), KEYS);
                }
            }
        }
        settings
    }

    fn parse_managed(&mut self, table: &DeTable<'_>) -> ManagedSettings {
        let mut managed = ManagedSettings::default();
        for (key, value) in table {
            let place = match key.get_ref().as_ref() {
                "disable_bypass_permissions" => &mut managed.disable_bypass_permissions,
                "allow_managed_rules_only" => &mut managed.allow_managed_rules_only,
                "allow_managed_hooks_only" => &mut managed.allow_managed_hooks_only,
                other => {
                    self.push_unknown_key(other, key.span(), MANAGED_KEYS);
                    continue;
                }
            };
            match value.get_ref().as_bool() {
                Some(set) => *place = set,
                None => self.push_problem("write `true` or `false`", value.span(), None, true),
            }
        }
        managed
    }

    fn parse_permissions(&mut self, table: &DeTable<'_>, settings: &mut PolicyFileSettings) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "combining" => {
                    let known =
                        CombiningAlgorithm::ALL.map(CombiningAlgorithm::as_str).join("`, `");
                    let found =
                        self.parse_word(value, "combining", CombiningAlgorithm::parse, &known);
                    settings.combining = found.unwrap_or_default();
                }
                "unproved" => settings.asks_unproved |= self.parse_unproved(value),
                "deny" => self.parse_rule_list(value, Effect::Deny),
                "ask" => self.parse_rule_list(value, Effect::Ask),
                "allow" => self.parse_rule_list(value, Effect::Allow),
                "rule" => self.parse_long_rules(value),
                other => {
                    let known = ["combining", "unproved", "deny", "ask", "allow", "rule"];
                    self.push_unknown_key(other, key.span(), &known);
                }
            }
        }
    }

    /// Parses whether unproved programs require approval. An invalid value may have been meant to
    /// require it, so it is treated as if it did.
    fn parse_unproved(&mut self, value: &TomlValue<'_>) -> bool {
        match value.get_ref().as_str() {
            Some("ask") => true,
            Some("allow") => false,
            _ => {
                self.push_problem("write `\"ask\"` or `\"allow\"`", value.span(), None, true);
                true
            }
        }
    }
}

fn mode_names() -> String {
    PermissionMode::ALL.map(PermissionMode::as_str).join("`, `")
}

#[cfg(test)]
mod tests;
