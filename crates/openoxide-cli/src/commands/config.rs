//! `config`: where settings lie.

use openoxide_permission::LayerKind;
use openoxide_protocol::{AbsPath, SCHEMA};
use openoxide_store::{Environment, Loaded, Source, SourceUse, load_fresh, project_root, sources};
use openoxide_tui::{Lines, visible};
use serde_json::json;

use crate::{args::ConfigVerb, exit::Exit, policy_args, report};

/// Lists the files that are looked for, and what became of each.
pub(crate) fn config(verb: &ConfigVerb) -> Result<Exit, String> {
    let ConfigVerb::Path { cwd, json } = verb;
    let environment = Environment::read();
    let cwd = policy_args::directory(cwd.as_deref())?;
    let sources = sources(&environment, &project_root(&cwd, environment.home.as_ref()));
    let loaded = load_fresh(&sources, &environment, &[]);
    let line = |source| if *json { in_json(source, &loaded) } else { in_words(source, &loaded) };
    // That the account's home has no policy besides is no news.
    let shown = sources.iter().filter(|source| {
        source.usage != SourceUse::RestrictionsOnly || state(source, &loaded) != "missing"
    });
    let text: String = shown.map(|source| line(source) + "\n").collect();
    Ok(report::data(text.as_bytes(), Exit::Success))
}

fn in_json(source: &Source, loaded: &Loaded) -> String {
    let path = source.path.to_string_lossy();
    json!({ "schema": SCHEMA, "layer": source.kind.as_str(), "path": path, "state": state(source, loaded) })
        .to_string()
}

fn in_words(source: &Source, loaded: &Loaded) -> String {
    let path = visible(&source.path.to_string_lossy(), Lines::One);
    format!("{:<8} {:<10} {path}", source.kind.as_str(), state(source, loaded))
}

/// Says what became of a file.
fn state(source: &Source, loaded: &Loaded) -> &'static str {
    let untrusted =
        |project: &AbsPath| loaded.untrusted.iter().any(|each| each.project == *project);
    if loaded.broken.iter().any(|broken| broken.path == source.path) {
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
        "counts"
    }
}
