//! `config`: the locations of settings.

use std::path::PathBuf;

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
    let project = find_project_root(&cwd, environment.home.as_ref());
    let files = policy_file_states(&environment, &project);
    let line = |file| if *json { render_json(file) } else { render_text(file) };
    let text: String = files.iter().map(|file| line(file) + "\n").collect();
    Ok(user_messages::print_data(&text, ProgramExit::Success))
}

/// A policy file that is searched for, and its state.
pub(crate) struct PolicyFileState {
    pub(crate) layer: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) state: &'static str,
}

/// Returns the policy files that are searched for, in order of precedence.
pub(crate) fn policy_file_states(
    environment: &UserEnvironment,
    project: &AbsPath,
) -> Vec<PolicyFileState> {
    let sources = find_policy_sources(environment, project);
    let loaded = load_policy_uncached(&sources, environment, &[]);
    let with_state = sources.into_iter().filter_map(|source| {
        let state = file_state(&source, &loaded);
        // A missing policy in the account's home, which could only restrict, is not listed.
        let is_listed = source.usage != SourceUse::RestrictionsOnly || state != "missing";
        is_listed.then(|| PolicyFileState { layer: source.kind.as_str(), path: source.path, state })
    });
    with_state.collect()
}

fn render_json(file: &PolicyFileState) -> String {
    let path = file.path.to_string_lossy();
    json!({ "schema": SCHEMA, "layer": file.layer, "path": path, "state": file.state }).to_string()
}

fn render_text(file: &PolicyFileState) -> String {
    let path = escape_text(&file.path.to_string_lossy(), LineMode::SingleLine);
    format!("{:<8} {:<10} {path}", file.layer, file.state)
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
