//! The programs whose policies are read, and how their files are told apart.

use std::{ops::Range, path::Path};

use clap::ValueEnum;
use openoxide_adapters::{
    claude_code, codex,
    foreign::{Fault, Translation},
    llm_do, opencode,
};
use openoxide_permission::{Anchors, Combining, Layer, LayerKind, Rule};
use openoxide_protocol::{AbsPath, Effect};
use openoxide_store::{Format, Managed, PolicyFile, Problem, SandboxSettings};

use crate::language;

/// A program whose policies are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Program {
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

impl Program {
    /// Returns the program that a policy file is written for: the one that a person names, or the one that its name tells.
    ///
    /// # Errors
    /// When nobody can tell: nothing is passed over in silence.
    pub(crate) fn of(path: &Path, named: Option<Self>) -> Result<Self, String> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let shown = path.display();
        match named {
            Some(program) => Ok(program),
            None if name == "opencode.json" || name == "opencode.jsonc" => Ok(Self::Opencode),
            None if name.starts_with("settings") && name.ends_with(".json") => Ok(Self::Claude),
            None if name.ends_with(".rules") => Ok(Self::Codex),
            None if name.ends_with(".yaml") || name.ends_with(".yml") => Ok(Self::LlmDo),
            None if name.ends_with(".toml") || !name.contains('.') => Ok(Self::Native),
            None => Err(format!("`{shown}`: unknown policy format; specify it with --format")),
        }
    }

    /// Returns how its files are read.
    pub(crate) const fn format(self) -> Format {
        match self {
            Self::Native => Format::NATIVE,
            Self::Claude => Format { name: "claude", read: read_claude },
            Self::Opencode => Format { name: "opencode", read: read_opencode },
            Self::Codex => Format { name: "codex", read: read_codex },
            Self::LlmDo => Format { name: "llm-do", read: read_llm_do },
        }
    }
}

fn read_claude(text: &str, kind: LayerKind, name: &str, anchors: Anchors<'_>) -> PolicyFile {
    file(claude_code::translate(text, kind, name, anchors), kind, name)
}

fn read_opencode(text: &str, kind: LayerKind, name: &str, anchors: Anchors<'_>) -> PolicyFile {
    file(opencode::translate(text, kind, name, anchors), kind, name)
}

fn read_codex(text: &str, kind: LayerKind, name: &str, anchors: Anchors<'_>) -> PolicyFile {
    file(codex::translate(text, kind, name, anchors, language::evaluate), kind, name)
}

fn read_llm_do(text: &str, kind: LayerKind, name: &str, anchors: Anchors<'_>) -> PolicyFile {
    file(llm_do::translate(text, kind, name, anchors), kind, name)
}

/// A file that cannot be relied on allows nothing.
fn file(read: Result<Translation, Vec<Fault>>, kind: LayerKind, name: &str) -> PolicyFile {
    let read = read.unwrap_or_else(|faults| Translation::nothing(empty(kind, name), faults));
    let Translation { mut layer, mut directories, faults, notes, mut hooks, managed_hooks_only } =
        read;
    if !faults.is_empty() {
        layer.rules.retain(|rule: &Rule| rule.effect != Effect::Allow);
        layer.mode = None;
        directories.clear();
        hooks.iter_mut().for_each(|hook| hook.may_allow = false);
    }
    let managed = Managed { allow_managed_hooks_only: managed_hooks_only, ..Managed::default() };
    let problems = problems(faults);
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

fn empty(kind: LayerKind, name: &str) -> Layer {
    let (file, combining) = (Some(name.to_owned()), Combining::Strictest);
    Layer { kind, file, combining, rules: Vec::new(), mode: None }
}

/// Returns the faults as problems of a file.
pub(crate) fn problems(faults: Vec<Fault>) -> Vec<Problem> {
    let problem = |fault: Fault| {
        let Fault { message, help, span, loses_restraint } = fault;
        Problem { message, help, span: at_least_one(&span), loses_restraint }
    };
    faults.into_iter().map(problem).collect()
}

/// Returns what `/` stands for in a settings file of Claude Code: the project, or home, that `.claude` lies in.
pub(crate) fn settings_base(file: &AbsPath) -> AbsPath {
    let directory = file.parent().unwrap_or_else(AbsPath::root);
    match directory.name() {
        Some(".claude") => directory.parent().unwrap_or_else(AbsPath::root),
        _ => directory,
    }
}

fn at_least_one(span: &Range<usize>) -> Range<usize> {
    span.start..span.end.max(span.start)
}
