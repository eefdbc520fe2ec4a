//! `rules import`, `export`, `convert`: from the rules of one program to those of another, never looser.

use std::path::PathBuf;

use openoxide_adapters::{
    claude_code, codex,
    export::{Export, Unsaid},
    llm_do, opencode,
};
use openoxide_permission::{Combining, LayerKind};
use openoxide_protocol::{Effect, SCHEMA};
use openoxide_store::{PolicyFile, SandboxSettings, edit, read_policy};
use openoxide_tui::{Lines, visible};
use serde_json::json;

use super::{
    edit::Target,
    files::{self, PolicyText},
    native,
};
use crate::{
    args::{ConvertArgs, ExportArgs, Global, ImportArgs},
    exit::Exit,
    formats::Program,
    report,
};

/// Prints a policy in another format.
pub(super) fn convert(args: &ConvertArgs, global: Global) -> Result<Exit, String> {
    let file = one(args.file.clone(), args.from)?;
    written(&file, args.to, args.partial, args.json, global)
}

/// Prints a policy of ours in another format.
pub(super) fn export(args: &ExportArgs, global: Global) -> Result<Exit, String> {
    let users =
        || files::in_force().map(|all| all.into_iter().find(|one| one.kind == LayerKind::User));
    let file = match &args.file {
        Some(file) => file.clone(),
        None => users()?.ok_or("no configuration directory: name a file")?.path,
    };
    let file = one(file, Some(Program::Native))?;
    written(&file, args.format, args.partial, args.json, global)
}

/// Prints a policy in our rules, or adds them to a file of ours.
pub(super) fn import(args: &ImportArgs, global: Global) -> Result<Exit, String> {
    let file = one(args.file.clone(), args.format)?;
    if !args.write {
        return written(&file, Program::Native, false, args.json, global);
    }
    if let Err(exit) = file.sound(global) {
        return Ok(exit);
    }
    let target = Target::of(args.place)?;
    if let Err(exit) = target.sound(&target.text, global) {
        return Ok(exit);
    }
    let (text, export) = merged(&file.read, &target)?;
    say(&file, &export, args.json);
    if let Err(exit) = target.sound(&text, global) {
        return Ok(exit);
    }
    let path = target.source.path.display().to_string();
    target.write(&text, file.read.layer.rules.iter().any(|rule| rule.effect == Effect::Allow))?;
    let path = visible(&path, Lines::One);
    Ok(report::data(
        format!("{path}: {} rules read\n", file.read.layer.rules.len()).as_bytes(),
        Exit::Success,
    ))
}

fn one(file: PathBuf, format: Option<Program>) -> Result<PolicyText, String> {
    let mut files = files::read(&[file], format)?;
    files.pop().ok_or_else(|| "no file is named".to_owned())
}

/// Returns the text of a file with the rules of a layer at its end. Where the order decides, rules of two files cannot be
/// mixed: one of them must be empty.
fn merged(read: &PolicyFile, target: &Target) -> Result<(String, Export), String> {
    let (layer, directories) = (&read.layer, &read.directories);
    let name = target.source.path.to_string_lossy();
    let own = read_policy(&target.text, target.source.kind, &name, target.anchors()).layer;
    if own.rules.is_empty() && own.mode.is_none() && target.text.trim().is_empty() {
        let export = native::write(layer, directories);
        return Ok((export.text.clone(), export));
    }
    if own.combining != Combining::Strictest || layer.combining == Combining::LastMatch {
        return Err(format!(
            "{name}: the order of rules decides in one of the files, so they cannot be put together; print them without --write"
        ));
    }
    if layer.mode.is_some() {
        report::note(&"the mode was not imported; set it with `mode = …`");
    }
    if !directories.is_empty() {
        report::note(&"the directories were not imported; set them with `directories = …`");
    }
    let (said, export) = native::said(layer);
    let mut text = target.text.clone();
    for one in said {
        if one.human {
            return Err(format!("`{}` is answered by a person alone: copy it by hand", one.text));
        }
        text = edit::with_rule(&text, one.effect, &one.text, one.reason.as_deref())
            .map_err(|error| format!("{name}: {error}"))?;
    }
    Ok((text, export))
}

fn written(
    file: &PolicyText,
    to: Program,
    partial: bool,
    json: bool,
    global: Global,
) -> Result<Exit, String> {
    if let Err(exit) = file.sound(global) {
        return Ok(exit);
    }
    let (layer, directories) = (&file.read.layer, file.read.directories.as_slice());
    let mut export = match to {
        Program::Native => native::write(layer, directories),
        Program::Claude => claude_code::write(layer, directories),
        Program::Opencode => opencode::write(layer),
        Program::Codex => codex::write(layer),
        Program::LlmDo => llm_do::write(layer),
    };
    if matches!(to, Program::Opencode | Program::Codex | Program::LlmDo) {
        export.no_directories(directories);
    }
    say(file, &export, json);
    if let Some(line) = file.read.audit {
        report::note(&format!("{}:{line}: a required audit cannot be expressed", file.shown));
    }
    if file.read.sandbox != SandboxSettings::default() || !file.read.writable.is_empty() {
        report::note(&format!("{}: `[sandbox]` cannot be expressed in this format", file.shown));
    }
    if (export.is_looser() || file.read.audit.is_some()) && !partial {
        let what =
            "the output would be less strict than the input; nothing printed (see --partial)";
        report::failure(&what);
        return Ok(Exit::Failure);
    }
    Ok(report::data(export.text.as_bytes(), Exit::Success))
}

/// Says on standard error what cannot be said in the other format, and which hooks stay behind.
fn say(file: &PolicyText, export: &Export, json: bool) {
    for hook in &file.read.hooks {
        let what = format!("{} omitted: only rules are converted", hook.command);
        report::note(&format!("{}:{}: the hook {what}", file.shown, hook.line));
    }
    for one in &export.unsaid {
        if json {
            report::say(&in_json(file, one));
        } else {
            let place = match one.line {
                0 => file.shown.clone(),
                line => format!("{}:{line}", file.shown),
            };
            report::note(&format!("{place}: `{}`: {}", one.rule, one.became.as_str()));
        }
    }
}

fn in_json(file: &PolicyText, one: &Unsaid) -> String {
    json!({
        "schema": SCHEMA,
        "file": file.shown,
        "line": (one.line != 0).then_some(one.line),
        "rule": one.rule,
        "became": format!("{:?}", one.became).to_lowercase(),
    })
    .to_string()
}
