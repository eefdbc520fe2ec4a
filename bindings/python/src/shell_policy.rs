//! The rules of a shell tool: the decision about a command.
//!
//! The analysis of the engine finds every program that a command starts. Each of them is decided by
//! the first rule whose words begin it, and the strictest decision applies.

mod containment;
mod decision_text;
mod path_rules;

use std::path::{Path, PathBuf};

use openoxide_adapters::{llm_do::translate_config, policy_translation::PolicyTextError};
use openoxide_engine::{
    CallLocation, absolute_directory, collect_action_facts, evaluate_tool_rules,
};
use openoxide_permission::{Layer, LayerKind, PathAnchors, PolicyStack, default_layer};
use openoxide_protocol::{AbsPath, Action, Decision, OperationFacts};
use openoxide_store::UserEnvironment;
use pyo3::{prelude::*, types::PyDict};
use serde_json::{Value, json};

use self::{
    containment::{Containment, PathCheck},
    decision_text::{asking_rule, blocking_reason},
};
use crate::{
    error::ErrorClass, json_value::to_json, sandbox_paths::SandboxPaths, tool_config::omitted_rule,
};

/// The rules of a shell tool. It has no state, so threads and forked processes may use it.
#[pyclass(module = "tool_approval._native", frozen)]
pub(crate) struct ShellPolicy {
    settings: ShellSettings,
    /// The rules, if none depends on the paths of a command.
    unconditional: Option<PolicyStack>,
}

/// The settings that decisions depend on.
struct ShellSettings {
    shell: Value,
    paths: SandboxPaths,
    cwd: AbsPath,
    home: Option<AbsPath>,
    roots: Vec<AbsPath>,
}

/// The decision about a command, for Python.
#[pyclass(module = "tool_approval._native", frozen, get_all)]
pub(crate) struct ShellDecision {
    /// `allow`, `ask` or `deny`.
    effect: &'static str,
    /// The reason, in one sentence.
    reason: String,
    /// The pattern of the rule that asks, if one rule is the reason.
    rule: Option<String>,
    /// The description of that rule.
    description: Option<String>,
}

/// The handling of a rule with `sandbox_paths` for one command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RuleUse {
    /// The rule applies.
    Keep,
    /// The rule does not apply.
    Drop,
    /// It is unknown whether the rule applies.
    Unknown,
}

#[pymethods]
impl ShellPolicy {
    /// `shell` and `paths` are settings. The roots of `paths` and `cwd` are real paths.
    #[new]
    fn new(
        py: Python<'_>,
        shell: &Bound<'_, PyDict>,
        paths: &Bound<'_, PyDict>,
        cwd: PathBuf,
    ) -> PyResult<Self> {
        let policy_error = |message: String| ErrorClass::Policy.with_message(py, message);
        let settings =
            ShellSettings::new(to_json(shell.as_any())?, &to_json(paths.as_any())?, &cwd)
                .map_err(policy_error)?;
        // All rules are compiled once, so that an error in one of them is reported here.
        let all = settings.compile(&|_| RuleUse::Keep, false).map_err(policy_error)?;
        let unconditional = (!settings.has_conditions()).then_some(all);
        Ok(Self { settings, unconditional })
    }

    /// Decide about a command. Nothing is run.
    fn check(&self, py: Python<'_>, command: &str) -> PyResult<ShellDecision> {
        let decision = py.detach(|| self.decide(command));
        let decision = decision.map_err(|message| ErrorClass::Policy.with_message(py, message))?;
        Ok(ShellDecision::new(&decision))
    }

    /// Return the names of sandboxes that rules refer to and that do not exist.
    fn unknown_sandboxes(&self) -> Vec<String> {
        let known = |name: &str| self.settings.paths.iter().any(|path| path.name == name);
        let names = self.settings.rules().flat_map(conditions);
        names.filter(|name| !known(name)).map(str::to_owned).collect()
    }
}

impl ShellPolicy {
    /// Decides about a command.
    ///
    /// # Errors
    /// Returns an error if the rules cannot be compiled.
    pub(crate) fn decide(&self, command: &str) -> Result<Decision, String> {
        let settings = &self.settings;
        let facts = settings.collect_facts(command);
        if let Some(policy) = &self.unconditional {
            return Ok(settings.evaluate(policy, &facts));
        }
        let use_of = |rule: &Value| settings.rule_use(rule, &facts);
        let strict = settings.evaluate(&settings.compile(&use_of, false)?, &facts);
        if !settings.rules().any(|rule| use_of(rule) == RuleUse::Unknown) {
            return Ok(strict);
        }
        let dropped = settings.evaluate(&settings.compile(&use_of, true)?, &facts);
        Ok(if dropped.effect > strict.effect { dropped } else { strict })
    }

    /// Returns the settings.
    pub(crate) const fn cwd(&self) -> &AbsPath {
        &self.settings.cwd
    }

    /// Returns the home directory, if it is known.
    pub(crate) const fn home(&self) -> Option<&AbsPath> {
        self.settings.home.as_ref()
    }

    /// Returns the real paths of all sandboxes.
    pub(crate) fn sandbox_roots(&self) -> impl Iterator<Item = &AbsPath> {
        self.settings.roots.iter()
    }

    /// Returns the rules without those about files, for the derivation of a profile.
    ///
    /// # Errors
    /// Returns an error if the rules cannot be compiled.
    pub(crate) fn command_rules(&self) -> Result<PolicyStack, String> {
        let layer = self.settings.shell_layer(&|_| RuleUse::Drop, true)?;
        PolicyStack::compile(&[layer, default_layer()]).map_err(|error| error.to_string())
    }
}

impl ShellSettings {
    fn new(shell: Value, paths: &Value, cwd: &Path) -> Result<Self, String> {
        let paths = SandboxPaths::from_json(paths).ok_or("invalid settings of a sandbox")?;
        let cwd = absolute_directory(Some(cwd)).map_err(|error| error.to_string())?;
        let root = |path: &Path| absolute_directory(Some(path)).map_err(|error| error.to_string());
        let roots = paths.iter().map(|path| root(&path.root)).collect::<Result<_, _>>()?;
        Ok(Self { shell, paths, cwd, home: UserEnvironment::from_process().home, roots })
    }

    fn rules(&self) -> impl Iterator<Item = &Value> {
        self.shell.get("rules").and_then(Value::as_array).into_iter().flatten()
    }

    fn has_conditions(&self) -> bool {
        self.rules().any(|rule| conditions(rule).next().is_some())
    }

    fn collect_facts(&self, command: &str) -> OperationFacts {
        let action = Action::Command { script: command.to_owned() };
        let place = CallLocation { cwd: &self.cwd, home: self.home.as_ref() };
        collect_action_facts(&action, "Bash", place)
    }

    fn evaluate(&self, policy: &PolicyStack, facts: &OperationFacts) -> Decision {
        let roots: Vec<_> = std::iter::once(&self.cwd).chain(&self.roots).cloned().collect();
        evaluate_tool_rules(policy, facts, &self.cwd, &roots)
    }

    /// Compiles the rules. A rule whose use is unknown is left out if `drops_unknown` is true.
    fn compile(
        &self,
        use_of: &dyn Fn(&Value) -> RuleUse,
        drops_unknown: bool,
    ) -> Result<PolicyStack, String> {
        let mut layer = self.shell_layer(use_of, drops_unknown)?;
        layer.rules.extend(path_rules::build_rules(&self.paths));
        PolicyStack::compile(&[layer, default_layer()]).map_err(|error| error.to_string())
    }

    /// Translates the rules about commands and hosts.
    fn shell_layer(
        &self,
        use_of: &dyn Fn(&Value) -> RuleUse,
        drops_unknown: bool,
    ) -> Result<Layer, String> {
        let kept = |rule: &&Value| match use_of(rule) {
            RuleUse::Keep => true,
            RuleUse::Drop => false,
            RuleUse::Unknown => !drops_unknown,
        };
        let rules = self.rules().filter(kept).map(without_conditions);
        let mut shell = self.shell.clone();
        if let Some(fields) = shell.as_object_mut() {
            fields.insert("rules".to_owned(), rules.collect());
        }
        let text = json!({ "shell": shell }).to_string();
        let anchors = PathAnchors { home: self.home.as_ref(), base: &self.cwd };
        let translated = translate_config(&text, LayerKind::Cli, "shell", anchors);
        let translated = translated.map_err(|errors| join_messages(&errors))?;
        let omitted = translated.notes.iter().find_map(|note| omitted_rule(note));
        match (translated.errors.as_slice(), omitted) {
            ([], None) => Ok(translated.layer),
            ([], Some(message)) => Err(message),
            (errors, _) => Err(join_messages(errors)),
        }
    }

    /// Returns whether a rule applies to a command. A rule that forbids applies to all paths.
    fn rule_use(&self, rule: &Value, facts: &OperationFacts) -> RuleUse {
        if conditions(rule).next().is_none() || !flag(rule, "allowed") {
            return RuleUse::Keep;
        }
        let named = |name: &str| conditions(rule).any(|condition| condition == name);
        let roots = self.paths.iter().filter(|path| named(&path.name));
        let roots: Vec<_> = roots.map(|path| path.root.as_path()).collect();
        let pattern = rule.get("pattern").and_then(Value::as_str).unwrap_or_default();
        match (PathCheck::new(&self.cwd, pattern, &roots).check(facts), flag(rule, "approval")) {
            (Containment::Inside, _) => RuleUse::Keep,
            (Containment::Unknown, true) => RuleUse::Unknown,
            (Containment::Outside | Containment::Unknown, _) => RuleUse::Drop,
        }
    }
}

impl ShellDecision {
    fn new(decision: &Decision) -> Self {
        let asking = asking_rule(decision);
        Self {
            effect: decision.effect.as_str(),
            reason: blocking_reason(decision).unwrap_or_else(|| decision.reason.clone()),
            rule: asking.as_ref().map(|(pattern, _)| pattern.clone()),
            description: asking.and_then(|(_, description)| description),
        }
    }
}

/// Returns the names of the sandboxes that the paths of a command must lie in.
fn conditions(rule: &Value) -> impl Iterator<Item = &str> {
    let names = rule.get("sandbox_paths").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str)
}

fn flag(rule: &Value, name: &str) -> bool {
    rule.get(name).and_then(Value::as_bool).unwrap_or(true)
}

fn without_conditions(rule: &Value) -> Value {
    let mut rule = rule.clone();
    if let Some(fields) = rule.as_object_mut() {
        fields.remove("sandbox_paths");
    }
    rule
}

fn join_messages(errors: &[PolicyTextError]) -> String {
    let message = |error: &PolicyTextError| match &error.help {
        Some(help) => format!("{}\nhelp: {help}", error.message),
        None => error.message.clone(),
    };
    errors.iter().map(message).collect::<Vec<_>>().join("\n")
}

/// Returns the exception for a command that is blocked.
pub(crate) fn blocked_command(py: Python<'_>, decision: &Decision) -> PyErr {
    let reason = blocking_reason(decision).unwrap_or_else(|| decision.reason.clone());
    ErrorClass::OperationBlocked.with_message(py, format!("Command blocked: {reason}"))
}
