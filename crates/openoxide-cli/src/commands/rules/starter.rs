//! `rules starter`: a starter policy for the kind of the project.

mod project_kind;
mod starter_policy;

use std::{collections::BTreeSet, fs, path::Path};

use openoxide_engine::Engine;
use openoxide_protocol::{AbsPath, Effect, PermissionMode, SandboxAutoAllow};
use openoxide_store::{PolicySource, find_project_root, read_policy};
use openoxide_tui::{LineMode, can_ask, escape_text};

use super::rule_edit::EditTarget;
use crate::{
    args::{EditTargetArgs, GlobalArgs, PolicyArgs, StarterArgs},
    commands::{confirmation::SettingChange, sandbox},
    error::{
        CliError,
        file_error::{FileError, FileProblem},
    },
    policy_args,
    program_exit::ProgramExit,
    user_messages,
};
use project_kind::{ProjectKind, find_project_kinds};
use starter_policy::{AllowRules, starter_policy};

/// The file that `rules starter` writes without an option.
const PROJECT_POLICY: EditTargetArgs = EditTargetArgs { user: false, project: true, local: false };

/// Prints a starter policy, or writes it after the person has confirmed it.
pub(super) fn write_starter(
    args: StarterArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let place = args.target.edit_target();
    let Some(starter) = StarterPolicy::for_project(place)? else {
        user_messages::print_error(
            &"no rules to start with: this project has no file of Cargo, npm, pnpm, Yarn, Bun, Python, Go, Make, Docker or Terraform",
        );
        return Ok(ProgramExit::Failure);
    };
    if args.dry_run {
        return Ok(user_messages::print_document(starter.text.as_bytes(), ProgramExit::Success));
    }
    let change = match starter.prepare(global)? {
        Ok(change) => change,
        Err(exit) => return Ok(exit),
    };
    starter.print();
    if !args.yes
        && let Some(exit) = change.confirm_rules(global)?
    {
        return Ok(exit);
    }
    starter.write()?;
    Ok(ProgramExit::Success)
}

/// Offers a starter policy for the project after `init` has set a preset. Without a terminal, prints
/// the command that writes it.
///
/// # Errors
///
/// If the file cannot be written.
pub(crate) fn offer_starter(global: GlobalArgs) -> Result<(), CliError> {
    let Some(starter) = StarterPolicy::for_project(PROJECT_POLICY)? else { return Ok(()) };
    if starter.file_exists()? {
        return Ok(());
    }
    if global.no_input || !can_ask() {
        let kinds = starter.kind_names();
        user_messages::print_line(&format!(
            "  rules:   `openoxide rules starter` proposes rules for this project ({kinds})"
        ));
        return Ok(());
    }
    let Ok(change) = starter.prepare(global)? else { return Ok(()) };
    starter.print();
    match change.confirm_rules(global)? {
        None => starter.write(),
        Some(_) => Ok(()),
    }
}

/// A starter policy that was not written.
struct StarterPolicy {
    place: EditTargetArgs,
    kinds: BTreeSet<ProjectKind>,
    has_allow_rules: bool,
    text: String,
}

impl StarterPolicy {
    /// Returns the starter policy of the current project, or `None` if its kind is not known. A home
    /// directory is not a project.
    fn for_project(place: EditTargetArgs) -> Result<Option<Self>, CliError> {
        let engine = policy_args::open_engine(&PolicyArgs::default())?;
        let project = find_project_root(engine.cwd(), engine.home());
        if Some(&project) == engine.home() || project == AbsPath::root() {
            return Ok(None);
        }
        let kinds = find_project_kinds(Path::new(project.as_str()));
        let is_confined = confines_commands(&engine) && sandbox::unavailable_reason().is_none();
        let allow = match (place.user, is_confined) {
            (_, true) => AllowRules::Confined,
            (true, false) => AllowRules::AllProjects,
            (false, false) => AllowRules::Included,
        };
        let text = starter_policy(&kinds, allow);
        let has_allow_rules = allow == AllowRules::Included;
        Ok((!kinds.is_empty()).then_some(Self { place, kinds, has_allow_rules, text }))
    }

    fn kind_names(&self) -> String {
        self.kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Returns whether the file exists, as anything.
    fn file_exists(&self) -> Result<bool, CliError> {
        Ok(fs::symlink_metadata(&EditTarget::open(self.place)?.source.path).is_ok())
    }

    /// Returns the change that a person confirms, or an exit code if the policy is not valid.
    ///
    /// # Errors
    ///
    /// If the file exists.
    fn prepare(&self, global: GlobalArgs) -> Result<Result<SettingChange, ProgramExit>, CliError> {
        let target = EditTarget::open(self.place)?;
        let path = &target.source.path;
        if fs::symlink_metadata(path).is_ok() {
            return Err(FileError::new(path, FileProblem::Exists).into());
        }
        if let Err(exit) = target.check_text(&self.text, global) {
            return Ok(Err(exit));
        }
        Ok(Ok(SettingChange {
            tool: "Starter",
            title: format!("write these rules to {}?", path.display()),
            reason: format!("rules to start with, for {}", self.kind_names()),
            diff: self.summarize(&target),
            directory: target.source.base.clone(),
        }))
    }

    /// Prints the file. The question itself may not have enough space for it.
    fn print(&self) {
        user_messages::print_line(&format!("\n{}", self.text));
    }

    /// Returns one line for each rule. Those that allow come first.
    fn summarize(&self, target: &EditTarget) -> String {
        let PolicySource { kind, path, .. } = &target.source;
        let policy = read_policy(&self.text, *kind, &path.to_string_lossy(), target.anchors());
        let mut rules = policy.layer.rules;
        rules.sort_by_key(|rule| rule.effect != Effect::Allow);
        rules.iter().map(|rule| format!("+{} {}\n", rule.effect.as_str(), rule.text)).collect()
    }

    fn write(&self) -> Result<(), CliError> {
        let target = EditTarget::open(self.place)?;
        target.create(&self.text)?;
        let path = target.source.path.display().to_string();
        let path = escape_text(&path, LineMode::SingleLine);
        user_messages::print_line(&format!("openoxide: rules written to {path}"));
        target.print_trust_note(self.has_allow_rules);
        Ok(())
    }
}

/// Returns whether the policy runs tests, builds and linters in the sandbox without a question.
fn confines_commands(engine: &Engine) -> bool {
    match engine.sandbox_settings().auto_allow {
        Some(setting) => setting != SandboxAutoAllow::Off,
        None => engine.mode() == PermissionMode::Sandboxed,
    }
}
