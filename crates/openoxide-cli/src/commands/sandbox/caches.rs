//! `sandbox caches`: the private changes of confined programs in caches of tools.

use std::path::Path;

use openoxide_engine::{absolute_directory, canonicalize_or_keep, registry_directory};
use openoxide_protocol::{AbsPath, SCHEMA};
use openoxide_sandbox::{ProjectLayers, list_project_layers};
use openoxide_store::{ByteSize, UserEnvironment, audit::UtcTimestamp};
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use crate::{
    args::CachesCommand,
    error::{CliError, caches_error::CachesError},
    program_exit::ProgramExit,
    user_messages,
};

/// Runs a subcommand of `sandbox caches`.
pub(super) fn run_caches_command(verb: &CachesCommand) -> Result<ProgramExit, CliError> {
    let registry =
        registry_directory(&UserEnvironment::from_process()).map_err(CachesError::from)?;
    match verb {
        CachesCommand::List { json } => Ok(list_caches(&registry, *json)?),
        CachesCommand::Clear { all: true, .. } => Ok(clear_caches(&all_layers(&registry)?)?),
        CachesCommand::Clear { directory, all: false } => {
            // The directory of the project may have been deleted.
            let directory = canonicalize_or_keep(&absolute_directory(directory.as_deref())?);
            let all = all_layers(&registry)?;
            let around = all
                .into_iter()
                .filter(|one| Path::new(directory.as_str()).starts_with(&one.project));
            let closest = around.max_by_key(|one| one.project.components().count());
            Ok(clear_caches(&[closest.ok_or(CachesError::NotFound(directory))?])?)
        }
    }
}

fn all_layers(registry: &AbsPath) -> Result<Vec<ProjectLayers>, CachesError> {
    Ok(list_project_layers(registry)?)
}

fn clear_caches(selected: &[ProjectLayers]) -> Result<ProgramExit, CachesError> {
    let mut used = Vec::new();
    for layers in selected {
        if layers.remove()? {
            let name = display_project(layers);
            user_messages::print_line(&format!(
                "openoxide: deleted the private changes of `{name}`"
            ));
        } else {
            used.push(layers.project.clone());
        }
    }
    if used.is_empty() { Ok(ProgramExit::Success) } else { Err(CachesError::InUse(used)) }
}

fn list_caches(registry: &AbsPath, json: bool) -> Result<ProgramExit, CachesError> {
    let all = all_layers(registry)?;
    if all.is_empty() && !json {
        user_messages::print_line("openoxide: no private changes");
    }
    let text: String =
        all.iter().map(|one| if json { layers_json(one) } else { layers_line(one) }).collect();
    Ok(user_messages::print_data(&text, ProgramExit::Success))
}

fn layers_line(layers: &ProjectLayers) -> String {
    let size =
        layers.bytes.map_or_else(|| "in use".to_owned(), |bytes| ByteSize(bytes).to_string());
    format!("{}  {size:>10}  {}\n", last_used(layers), display_project(layers))
}

fn layers_json(layers: &ProjectLayers) -> String {
    let value = json!({
        "schema": SCHEMA,
        "project": layers.project.to_string_lossy(),
        "bytes": layers.bytes,
        "in_use": layers.bytes.is_none(),
        "last_used": last_used(layers),
    });
    format!("{value}\n")
}

fn display_project(layers: &ProjectLayers) -> String {
    escape_text(&layers.project.to_string_lossy(), LineMode::SingleLine)
}

fn last_used(layers: &ProjectLayers) -> String {
    UtcTimestamp::from(layers.last_used).to_string()
}
