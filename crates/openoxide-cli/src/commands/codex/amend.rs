//! `codex amend`: a rule for good in Codex's own file.

use std::{env, path::PathBuf};

use openoxide_adapters::codex::exact::{DEFAULT_RULES, is_banned, prefix_line};
use openoxide_store::append_once;

use crate::{args::CodexAmendArgs, exit::Exit, report};

/// Adds the rule. Codex's sessions see it when they start.
///
/// # Errors
/// When the words would allow everything, or the file cannot be written.
pub(super) fn amend(args: &CodexAmendArgs) -> Result<Exit, String> {
    let shown = args.prefix.join(" ");
    if is_banned(&args.prefix) {
        return Err(format!("error: `{shown}` would let any program run; name more of its words"));
    }
    let line = prefix_line(&args.prefix).map_err(|error| format!("error: {error}"))?;
    let file = home(args)?.join(DEFAULT_RULES);
    let added = append_once(&file, &line)
        .map_err(|error| format!("error: cannot add the rule to {}: {error}", file.display()))?;
    let what = if added { "added to" } else { "stands already in" };
    report::note(&format!("`{line}` {what} {}", file.display()));
    Ok(Exit::Success)
}

fn home(args: &CodexAmendArgs) -> Result<PathBuf, String> {
    let named = args.home.clone().or_else(|| env::var_os("CODEX_HOME").map(PathBuf::from));
    let usual = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".codex"));
    named.or_else(usual).ok_or_else(|| "error: set HOME or CODEX_HOME".to_owned())
}
