//! `rules import`, `export` and `convert`: translation of the rules of one program into those of
//! another, never less strict.

use std::io::{self, IsTerminal as _};

use openoxide_adapters::{
    claude_code, llm_do, opencode,
    policy_export::{PolicyExport, UnsupportedRule},
};
use openoxide_codex as codex;
use openoxide_formats::PolicyProgram;
use openoxide_permission::{CombiningAlgorithm, LayerKind};
use openoxide_protocol::{Effect, SCHEMA};
use openoxide_store::{PolicyFile, SandboxSettings, policy_edit, read_policy};
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use super::{
    native_rules,
    policy_texts::{self, PolicyText},
    rule_edit::EditTarget,
};
use crate::{
    args::{ConvertArgs, ExportArgs, GlobalArgs, ImportArgs},
    error::{
        CliError,
        file_error::{FileError, FileProblem},
        policy_file_error::PolicyFileError,
        rules_error::RulesError,
    },
    program_exit::ProgramExit,
    user_messages,
};

/// Prints a policy in another format.
pub(super) fn convert_policy(
    args: &ConvertArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let file = policy_texts::read_policy_file(&args.file, args.from)?;
    print_policy(&file, args.to, args.partial, args.json, global)
}

/// Prints a native policy in another format.
pub(super) fn export_policy(
    args: &ExportArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let users = || {
        policy_texts::sources_in_force()
            .map(|all| all.into_iter().find(|one| one.kind == LayerKind::User))
    };
    let file = match &args.file {
        Some(file) => file.clone(),
        None => users()?.ok_or(PolicyFileError::NoUserPolicy)?.path,
    };
    let file = policy_texts::read_policy_file(&file, Some(PolicyProgram::Native))?;
    print_policy(&file, args.format, args.partial, args.json, global)
}

/// Prints a policy in the native format, or adds its rules to a native policy file.
pub(super) fn import_policy(
    args: &ImportArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let file = policy_texts::read_policy_file(&args.file, args.format)?;
    if !args.write {
        return print_policy(&file, PolicyProgram::Native, false, args.json, global);
    }
    if let Err(exit) = file.check_problems(global) {
        return Ok(exit);
    }
    let target = EditTarget::open(args.target)?;
    if let Err(exit) = target.check_text(&target.text, global) {
        return Ok(exit);
    }
    let (text, export) = merge_rules(&file.policy_file, &target)?;
    print_losses(&file, &export, args.json);
    if let Err(exit) = target.check_text(&text, global) {
        return Ok(exit);
    }
    let path = target.source.path.display().to_string();
    target.write_text(
        &text,
        file.policy_file.layer.rules.iter().any(|rule| rule.effect == Effect::Allow),
    )?;
    let path = escape_text(&path, LineMode::SingleLine);
    Ok(user_messages::print_data(
        &format!("{path}: {} rules read\n", file.policy_file.layer.rules.len()),
        ProgramExit::Success,
    ))
}

/// Returns the text of a file with the rules of a layer at its end.
///
/// # Errors
///
/// If the order of the rules decides in one of the files, and both have rules.
fn merge_rules(read: &PolicyFile, target: &EditTarget) -> Result<(String, PolicyExport), CliError> {
    let (layer, directories) = (&read.layer, &read.directories);
    let name = target.source.path.to_string_lossy();
    let own = read_policy(&target.text, target.source.kind, &name, target.anchors()).layer;
    if own.rules.is_empty() && own.mode.is_none() && target.text.trim().is_empty() {
        let export = native_rules::render_policy(layer, directories);
        return Ok((export.text.clone(), export));
    }
    if own.combining_algorithm != CombiningAlgorithm::Strictest
        || layer.combining_algorithm == CombiningAlgorithm::LastMatch
    {
        return Err(FileError::new(&target.source.path, FileProblem::OrderedRules).into());
    }
    if layer.mode.is_some() {
        user_messages::print_note(&"the mode was not imported; set it with `mode = …`");
    }
    if !directories.is_empty() {
        user_messages::print_note(
            &"the directories were not imported; set them with `directories = …`",
        );
    }
    let (rules, export) = native_rules::render_rules(layer);
    let mut text = target.text.clone();
    for one in rules {
        if one.requires_human {
            return Err(RulesError::RequiresPerson(one.text).into());
        }
        text = policy_edit::with_rule(&text, one.effect, &one.text, one.reason.as_deref())
            .map_err(|error| FileError::new(&target.source.path, error))?;
    }
    Ok((text, export))
}

fn print_policy(
    file: &PolicyText,
    to: PolicyProgram,
    partial: bool,
    json: bool,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    if let Err(exit) = file.check_problems(global) {
        return Ok(exit);
    }
    let (layer, directories) = (&file.policy_file.layer, file.policy_file.directories.as_slice());
    let mut export = match to {
        PolicyProgram::Native => native_rules::render_policy(layer, directories),
        PolicyProgram::Claude => claude_code::render_settings(layer, directories),
        PolicyProgram::Opencode => opencode::render_config(layer),
        PolicyProgram::Codex => codex::render_rule_file(layer),
        PolicyProgram::LlmDo => llm_do::render_config(layer),
    };
    if matches!(to, PolicyProgram::Opencode | PolicyProgram::Codex | PolicyProgram::LlmDo) {
        export.add_unsupported_directories(directories);
    }
    print_losses(file, &export, json);
    if let Some(line) = file.policy_file.audit {
        user_messages::print_note(&format!(
            "{}:{line}: a required audit cannot be expressed",
            file.display_path
        ));
    }
    if file.policy_file.sandbox != SandboxSettings::default()
        || !file.policy_file.writable.is_empty()
    {
        user_messages::print_note(&format!(
            "{}: `[sandbox]` cannot be expressed in this format",
            file.display_path
        ));
    }
    if (export.is_looser() || file.policy_file.audit.is_some()) && !partial {
        let what =
            "the output would be less strict than the input; nothing printed (see --partial)";
        user_messages::print_error(&what);
        return Ok(ProgramExit::Failure);
    }
    // A terminal is not a file: it would obey the characters of a rule.
    let text = match io::stdout().is_terminal() {
        true => escape_text(&export.text, LineMode::MultiLine),
        false => export.text,
    };
    Ok(user_messages::print_document(text.as_bytes(), ProgramExit::Success))
}

/// Reports on standard error the rules that cannot be converted, and the hooks that are omitted.
fn print_losses(file: &PolicyText, export: &PolicyExport, json: bool) {
    for hook in &file.policy_file.hooks {
        let what = format!("{} omitted: only rules are converted", hook.command);
        user_messages::print_note(&format!("{}:{}: the hook {what}", file.display_path, hook.line));
    }
    for one in &export.unsupported_rules {
        if json {
            user_messages::print_line(&render_json(file, one));
        } else {
            let place = match one.line {
                0 => file.display_path.clone(),
                line => format!("{}:{line}", file.display_path),
            };
            user_messages::print_note(&format!("{place}: `{}`: {}", one.rule, one.loss.message()));
        }
    }
}

fn render_json(file: &PolicyText, one: &UnsupportedRule) -> String {
    json!({
        "schema": SCHEMA,
        "file": file.display_path,
        "line": (one.line != 0).then_some(one.line),
        "rule": one.rule,
        "became": one.loss.as_str(),
    })
    .to_string()
}
