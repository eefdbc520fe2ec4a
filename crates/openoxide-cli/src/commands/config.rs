//! `config`: the locations of settings.

use openoxide_engine::{EngineOpenError, absolute_directory};
use openoxide_permission::LayerKind;
use openoxide_protocol::{AbsPath, SCHEMA};
use openoxide_store::{
    LoadedPolicy, PolicySource, SourceUse, UserEnvironment, find_policy_sources, find_project_root,
    load_policy_uncached,
};
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use crate::{args::ConfigCommand, program_exit::ProgramExit, user_messages};

/// Lists the policy files that are searched for, with the state of each.
pub(crate) fn run_config_command(verb: &ConfigCommand) -> Result<ProgramExit, EngineOpenError> {
    let ConfigCommand::Path { cwd, json } = verb;
    let environment = UserEnvironment::from_process();
    let cwd = absolute_directory(cwd.as_deref())?;
    let sources =
        find_policy_sources(&environment, &find_project_root(&cwd, environment.home.as_ref()));
    let loaded = load_policy_uncached(&sources, &environment, &[]);
    let line =
        |source| if *json { render_json(source, &loaded) } else { render_text(source, &loaded) };
    // A missing policy in the account's home, which could only restrict, is not listed.
    let shown = sources.iter().filter(|source| {
        source.usage != SourceUse::RestrictionsOnly || file_state(source, &loaded) != "missing"
    });
    let text: String = shown.map(|source| line(source) + "\n").collect();
    Ok(user_messages::print_data(text.as_bytes(), ProgramExit::Success))
}

fn render_json(source: &PolicySource, loaded: &LoadedPolicy) -> String {
    let path = source.path.to_string_lossy();
    json!({ "schema": SCHEMA, "layer": source.kind.as_str(), "path": path, "state": file_state(source, loaded) })
        .to_string()
}

fn render_text(source: &PolicySource, loaded: &LoadedPolicy) -> String {
    let path = escape_text(&source.path.to_string_lossy(), LineMode::SingleLine);
    format!("{:<8} {:<10} {path}", source.kind.as_str(), file_state(source, loaded))
}

/// Returns the state of a policy file.
fn file_state(source: &PolicySource, loaded: &LoadedPolicy) -> &'static str {
    let untrusted =
        |project: &AbsPath| loaded.untrusted_projects.iter().any(|each| each.project == *project);
    if loaded.broken_files.iter().any(|broken| broken.path == source.path) {
        "broken"
    } else if !source.path.exists() {
        "missing"
    } else if loaded.managed.allow_managed_rules_only && source.kind != LayerKind::Managed {
        "ignored"
    } else if source.usage == SourceUse::RestrictionsOnly
        || !source.may_loosen && untrusted(&source.base)
    {
        "tightens"
    } else {
        "applies"
    }
}
