//! `grants`: what a person said yes to for good.

use openoxide_protocol::SCHEMA;
use openoxide_store::{Entry, Environment, GrantFile, project_root};
use openoxide_tui::{Lines, visible};
use serde_json::json;

use crate::{args::GrantsVerb, exit::Exit, policy, report};

/// Lists, revokes or clears up the grants of this project.
pub(crate) fn grants(verb: &GrantsVerb) -> Result<Exit, String> {
    let environment = Environment::read();
    let cwd = policy::directory(None)?;
    let grants = GrantFile::of(&environment, &project_root(&cwd, environment.home.as_ref()));
    let entries = grants.entries().map_err(|error| error.to_string())?;
    match verb {
        GrantsVerb::List { json } => Ok(list(&entries, *json)),
        GrantsVerb::Revoke { which } => {
            let means =
                |at: usize, entry: &Entry| entry.rule == *which || which.parse() == Ok(at + 1);
            removed(&grants, means, "no grant is called so; `openoxide grants list` shows them")
        }
        GrantsVerb::Prune => {
            removed(&grants, |_, entry| entry.ignored.is_some(), "every entry grants what it says")
        }
    }
}

fn list(entries: &[Entry], json: bool) -> Exit {
    if entries.is_empty() && !json {
        report::say("openoxide: nothing is granted for good in this project");
    }
    let line =
        |(at, entry): (usize, &Entry)| if json { in_json(entry) } else { in_words(at, entry) };
    let text: String = entries.iter().enumerate().map(|each| line(each) + "\n").collect();
    report::data(text.as_bytes(), Exit::Success)
}

fn in_json(entry: &Entry) -> String {
    json!({ "schema": SCHEMA, "rule": entry.rule, "line": entry.line, "counts": entry.ignored.is_none() }).to_string()
}

fn in_words(at: usize, entry: &Entry) -> String {
    let why = entry.ignored.map(|why| format!("  (ignored: {why})")).unwrap_or_default();
    format!("{:>3}  {}{why}", at + 1, visible(&entry.rule, Lines::One))
}

fn removed(
    grants: &GrantFile,
    which: impl Fn(usize, &Entry) -> bool,
    none: &str,
) -> Result<Exit, String> {
    match grants.remove(which).map_err(|error| error.to_string())? {
        0 => {
            report::say(&format!("openoxide: {none}"));
            Ok(Exit::Failure)
        }
        count => {
            report::say(&format!(
                "openoxide: {count} removed from {}",
                visible(&grants.path().to_string_lossy(), Lines::One)
            ));
            Ok(Exit::Success)
        }
    }
}
