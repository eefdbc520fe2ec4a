//! The programs whose policies are supported, and the detection of their file formats.

use std::{ops::Range, path::Path};

use openoxide_adapters::{
    claude_code, llm_do, opencode,
    policy_translation::{PolicyTextError, PolicyTranslation},
};
use openoxide_codex as codex;
use openoxide_permission::{CombiningAlgorithm, Layer, LayerKind, PathAnchors, Rule};
use openoxide_protocol::{AbsPath, Effect};
use openoxide_store::{ManagedSettings, PolicyFile, PolicyFormat, PolicyProblem, SandboxSettings};

use crate::{error::NamedPolicyError, starlark_process};

/// A program whose policies can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum PolicyProgram {
    /// OpenOxide: `*.toml`.
    Native,
    /// Claude Code: `settings.json`, `settings.local.json`.
    Claude,
    /// OpenCode: `opencode.json` and `opencode.jsonc`.
    Opencode,
    /// Codex: `*.rules`.
    Codex,
    /// llm-do: `*.yaml` and `*.yml`.
    LlmDo,
}

impl PolicyProgram {
    /// Returns the program that a policy file is written for: the one that a person names, or the
    /// one that the file name indicates.
    ///
    /// # Errors
    /// If the format is unknown. No file is skipped silently.
    pub fn detect(path: &Path, named: Option<Self>) -> Result<Self, NamedPolicyError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match named {
            Some(program) => Ok(program),
            None if name == "opencode.json" || name == "opencode.jsonc" => Ok(Self::Opencode),
            None if name.starts_with("settings") && name.ends_with(".json") => Ok(Self::Claude),
            None if name.ends_with(".rules") => Ok(Self::Codex),
            None if name.ends_with(".yaml") || name.ends_with(".yml") => Ok(Self::LlmDo),
            None if name.ends_with(".toml") || !name.contains('.') => Ok(Self::Native),
            None => Err(NamedPolicyError::UnknownFormat(path.to_owned())),
        }
    }

    /// Returns the format of its policy files.
    #[must_use]
    pub const fn policy_format(self) -> PolicyFormat {
        match self {
            Self::Native => PolicyFormat::NATIVE,
            Self::Claude => PolicyFormat { name: "claude", read: read_claude },
            Self::Opencode => PolicyFormat { name: "opencode", read: read_opencode },
            Self::Codex => PolicyFormat { name: "codex", read: read_codex },
            Self::LlmDo => PolicyFormat { name: "llm-do", read: read_llm_do },
        }
    }
}

fn read_claude(text: &str, kind: LayerKind, name: &str, anchors: PathAnchors<'_>) -> PolicyFile {
    to_policy_file(claude_code::translate_settings(text, kind, name, anchors), kind, name)
}

fn read_opencode(text: &str, kind: LayerKind, name: &str, anchors: PathAnchors<'_>) -> PolicyFile {
    to_policy_file(opencode::translate_config(text, kind, name, anchors), kind, name)
}

fn read_codex(text: &str, kind: LayerKind, name: &str, anchors: PathAnchors<'_>) -> PolicyFile {
    to_policy_file(
        codex::translate_rule_file(text, kind, name, anchors, starlark_process::evaluate_rule_file),
        kind,
        name,
    )
}

fn read_llm_do(text: &str, kind: LayerKind, name: &str, anchors: PathAnchors<'_>) -> PolicyFile {
    to_policy_file(llm_do::translate_config(text, kind, name, anchors), kind, name)
}

/// Returns the policy file of a translation. A file with errors allows nothing.
fn to_policy_file(
    read: Result<PolicyTranslation, Vec<PolicyTextError>>,
    kind: LayerKind,
    name: &str,
) -> PolicyFile {
    let read =
        read.unwrap_or_else(|faults| PolicyTranslation::new_empty(empty_layer(kind, name), faults));
    let PolicyTranslation {
        mut layer,
        mut directories,
        errors: faults,
        notes,
        mut hooks,
        managed_hooks_only,
    } = read;
    if !faults.is_empty() {
        layer.rules.retain(|rule: &Rule| rule.effect != Effect::Allow);
        layer.mode = None;
        directories.clear();
        hooks.iter_mut().for_each(|hook| hook.may_allow = false);
    }
    let managed = ManagedSettings {
        allow_managed_hooks_only: managed_hooks_only,
        ..ManagedSettings::default()
    };
    let problems = to_policy_problems(faults);
    let (sandbox, writable) = (SandboxSettings::default(), Vec::new());
    let audit = None;
    PolicyFile {
        layer,
        hooks,
        directories,
        sandbox,
        writable,
        managed,
        audit,
        asks_unproved: false,
        problems,
        notes,
    }
}

fn empty_layer(kind: LayerKind, name: &str) -> Layer {
    let (file, combining) = (Some(name.to_owned()), CombiningAlgorithm::Strictest);
    Layer { kind, file, combining_algorithm: combining, rules: Vec::new(), mode: None }
}

/// Returns errors of a policy text as problems of a policy file.
#[must_use]
pub fn to_policy_problems(faults: Vec<PolicyTextError>) -> Vec<PolicyProblem> {
    let problem = |fault: PolicyTextError| {
        let PolicyTextError { message, help, span, loses_restriction: loses_restraint } = fault;
        PolicyProblem {
            message,
            help,
            span: non_empty_span(&span),
            loses_restriction: loses_restraint,
        }
    };
    faults.into_iter().map(problem).collect()
}

/// Returns the directory that `/` stands for in a settings file of Claude Code: the project or home
/// directory that contains `.claude`.
#[must_use]
pub fn settings_base_directory(file: &AbsPath) -> AbsPath {
    let directory = file.parent().unwrap_or_else(AbsPath::root);
    match directory.file_name() {
        Some(".claude") => directory.parent().unwrap_or_else(AbsPath::root),
        _ => directory,
    }
}

fn non_empty_span(span: &Range<usize>) -> Range<usize> {
    span.start..span.end.max(span.start)
}
