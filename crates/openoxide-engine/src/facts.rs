//! From a tool call to what it means.

use openoxide_protocol::{
    AbsPath, Access, Action, CommandClass, Facts, Operation, PathAccess, Search, Span, Touch,
    VersionControl,
};
use openoxide_shell::{Setting, analyse, findings};
use serde_json::Value;

use crate::{
    address, brought, command_input, databases, directory_changes, git_credentials, locale, moved,
    patches, patterns, printed, project_hosts, repository,
    resolve::resolve,
    sandbox_opt_out::sandbox_opt_out,
    script_edits::ScriptEdits,
    searches, settings,
    steps::StepBudget,
    tracked_secrets,
    version_control::{self, starts},
};

/// Where an operation would run.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The working directory.
    pub cwd: &'a AbsPath,
    /// The home directory, if it is known.
    pub home: Option<&'a AbsPath>,
}

/// Returns what an operation does: each access, with symbolic links followed.
#[must_use]
pub fn facts(operation: &Operation, home: Option<&AbsPath>) -> Facts {
    let place = Place { cwd: &operation.cwd, home };
    facts_of_call(&operation.action, &operation.tool, &operation.input, place)
}

/// Returns what a call of a tool does: what its action does, and what the rest of its input changes about that.
#[must_use]
pub(crate) fn facts_of_call(action: &Action, tool: &str, input: &Value, place: Place<'_>) -> Facts {
    let steps = StepBudget::new();
    let is_command = matches!(action, Action::Command { .. });
    let named = is_command.then(|| command_input::working_directory(input, place.cwd)).flatten();
    let there = Place { cwd: named.as_ref().unwrap_or(place.cwd), ..place };
    let mut facts = facts_within(action, tool, there, &steps);
    if is_command {
        command_input::check(&mut facts, input, place.cwd, &steps);
    }
    facts.accesses.extend(sandbox_opt_out(input));
    facts
}

/// Returns the facts of a bare question, as OpenCode poses it: the name of a permission, and patterns that stand for what is
/// touched. A permission that is not known is a tool.
#[must_use]
pub fn facts_of_question(permission: &str, patterns: &[String], place: Place<'_>) -> Facts {
    let mut all = Facts::default();
    let steps = StepBudget::new();
    for pattern in patterns {
        let text = pattern.clone();
        let action = match permission {
            "bash" => Action::Command { script: text },
            "read" | "glob" | "grep" | "list" => Action::Read { paths: vec![text] },
            "edit" | "write" => Action::Edit { paths: vec![text] },
            "webfetch" => Action::Fetch { url: text },
            "task" => Action::Delegate { agent: text },
            "doom_loop" => {
                all.accesses.push(Access::DoomLoop { tool: text });
                continue;
            }
            "external_directory" => {
                let mut path = path(&text, place);
                all.accesses.push(match resolve(&mut path, place.cwd, &steps) {
                    true => Access::ExternalDirectory(path),
                    false => opaque(&text),
                });
                continue;
            }
            _ => Action::CallTool,
        };
        let facts = facts_within(&action, permission, place, &steps);
        all.accesses.extend(facts.accesses);
        all.findings.extend(facts.findings);
    }
    all
}

/// Returns what an action of a tool does at this place: each access, with symbolic links followed.
#[must_use]
pub fn facts_of(action: &Action, tool: &str, place: Place<'_>) -> Facts {
    facts_within(action, tool, place, &StepBudget::new())
}

/// As [`facts_of`], within a budget that other actions of the same call share.
pub(crate) fn facts_within(
    action: &Action,
    tool: &str,
    place: Place<'_>,
    steps: &StepBudget,
) -> Facts {
    let mut facts = match action {
        Action::Command { script } => {
            analyse(script, &Setting { cwd: place.cwd, home: place.home })
        }
        Action::Read { paths } => {
            listed(paths.iter().map(|text| Access::Read(read_by_tool(tool, text, place))))
        }
        Action::Edit { paths } => listed(paths.iter().map(|text| Access::Edit(path(text, place)))),
        Action::Fetch { url } => listed([fetch(url)]),
        Action::CallTool => listed([Access::CallTool { tool: tool.to_owned() }]),
        Action::Delegate { agent } => listed([Access::Delegate { agent: agent.clone() }]),
        Action::Opaque { text } => listed([opaque(text)]),
    };
    if let Action::Command { script } = action {
        locale::check(&mut facts, script);
        directory_changes::check(&mut facts, place.cwd, steps);
    }
    patterns::expand(&mut facts, place.cwd, steps);
    searches::expand(&mut facts, steps);
    brought::expand(&mut facts, steps);
    printed::check(&mut facts, place.cwd, steps);
    moved::check(&mut facts, steps);
    facts.accesses.retain_mut(names_host);
    for access in &mut facts.accesses {
        if let Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) = access
            && !resolve(path, place.cwd, steps)
        {
            let (text, span) = (path.written.clone(), path.span);
            *access = Access::Opaque { text, span };
        }
    }
    facts.accesses.retain(|access| !stays(access, place.cwd));
    git_credentials::check(&mut facts.accesses, place.cwd);
    distrust_by_edits(action, &mut facts, place, steps);
    facts
}

/// Takes from programs that they are harmless, where files that they obey could make them do more: files that exist, and
/// files that the script edits before.
fn distrust_by_edits(action: &Action, facts: &mut Facts, place: Place<'_>, steps: &StepBudget) {
    let Action::Command { script } = action else { return };
    if !steps.take(steps_to_distrust(facts, place.cwd)) {
        patches::refuse(&mut facts.accesses);
        return distrust_all(facts);
    }
    let edits = ScriptEdits::collect(script, &facts.accesses);
    note_embedded_repositories(facts, &edits, place.cwd);
    patches::check(&mut facts.accesses, &edits, place.cwd, steps);
    project_hosts::distrust(&mut facts.accesses, &edits, place.cwd);
    version_control::distrust(&mut facts.accesses, &edits, place.cwd, place.home);
    version_control::check_remotes(&mut facts.accesses, place.cwd);
    databases::check(&mut facts.accesses, &edits, place.cwd, steps);
    settings::distrust(&mut facts.accesses, &edits, place.cwd, place.home);
    tracked_secrets::check(&mut facts.accesses, place.cwd, steps);
}

/// Returns how many steps it takes to look for what could make the programs of a script do more: each looks for files in its
/// directory and all above, and for git at the repository there; each is compared with what the script edits.
fn steps_to_distrust(facts: &Facts, cwd: &AbsPath) -> usize {
    let (mut all, mut last) = (0, None);
    let edits = facts.accesses.iter().filter(|access| matches!(access, Access::Edit(_))).count();
    for access in &facts.accesses {
        let Access::Exec(exec) = access else { continue };
        let place = exec.place.as_ref().unwrap_or(cwd);
        // The same place in a row is looked at once.
        let is_new = last.replace(place) != Some(place);
        let look = match starts(exec) {
            VersionControl::None => 8,
            VersionControl::Git => 64,
            VersionControl::Any => 96,
        };
        let depth = place.as_str().split('/').count();
        all += 2 + edits / 16 + if is_new { look + depth * 2 } else { 0 };
    }
    all
}

/// Takes from all programs of a script that they are harmless, or do only what is known: it was not examined.
fn distrust_all(facts: &mut Facts) {
    let mut embedded = Vec::new();
    for access in &mut facts.accesses {
        let Access::Exec(exec) = access else { continue };
        exec.class = CommandClass::Unknown;
        if starts(exec) != VersionControl::None && embedded.is_empty() {
            embedded.push(findings::embedded_repository(exec.span));
        }
    }
    facts.findings.extend(embedded);
}

/// A rule about git is not about a repository that the content of the project itself configures.
fn note_embedded_repositories(facts: &mut Facts, edits: &ScriptEdits, cwd: &AbsPath) {
    let runs = facts.accesses.iter().filter_map(|access| {
        let Access::Exec(exec) = access else { return None };
        (starts(exec) != VersionControl::None).then_some(exec)
    });
    let is_embedded =
        |place: &AbsPath, exec| repository::is_embedded(place, cwd, &edits.before(exec));
    let embedded = runs.filter(|exec| match &exec.place {
        // Where it is not certain that a `cd` succeeds, each directory that the script goes to is looked at.
        Some(place) if *place == AbsPath::root() => {
            entered_directories(&facts.accesses, cwd).iter().any(|place| is_embedded(place, exec))
        }
        place => is_embedded(place.as_ref().unwrap_or(cwd), exec),
    });
    let found: Vec<_> = embedded.map(|exec| findings::embedded_repository(exec.span)).collect();
    facts.findings.extend(found);
}

/// Returns the directories that the `cd`s of a script can lead to, as far as their words are known.
fn entered_directories(accesses: &[Access], cwd: &AbsPath) -> Vec<AbsPath> {
    const MOST: usize = 64;
    let mut entered = vec![cwd.clone()];
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        if !matches!(exec.argv.known(0), Some("cd" | "pushd")) {
            continue;
        }
        let targets = (1..exec.argv.len()).filter_map(|index| exec.argv.known(index));
        let from = entered.clone();
        entered.extend(targets.flat_map(|target| from.iter().map(move |from| from.join(target))));
        entered.truncate(MOST);
    }
    entered
}

/// Gives what a program reaches the name of its host. An address without one that can be told could be any that a rule denies.
/// Says whether there is something to judge: a word that is no address names nothing.
fn names_host(access: &mut Access) -> bool {
    let Access::Fetch { host, url, touch: Touch::Program } = access else { return true };
    let named = match url.contains("://") {
        true => address::host(url),
        false => address::host(&format!("https://{url}")),
    };
    match named {
        Some(name) => *host = name,
        None if url.contains("://") => *access = opaque(&url.clone()),
        None => return false,
    }
    true
}

/// Says whether an access only enters a directory below the working directory: that is no step out of anything.
fn stays(access: &Access, cwd: &AbsPath) -> bool {
    let Access::ExternalDirectory(path) = access else { return false };
    path.spellings().all(|spelling| spelling.below(cwd).is_some())
}

fn listed(accesses: impl IntoIterator<Item = Access>) -> Facts {
    Facts { accesses: accesses.into_iter().collect(), findings: Vec::new() }
}

fn opaque(text: &str) -> Access {
    Access::Opaque { text: text.to_owned(), span: Span::new(0, text.len()) }
}

fn fetch(url: &str) -> Access {
    match address::host(url) {
        Some(host) => Access::Fetch { host, url: url.to_owned(), touch: Touch::Itself },
        None => opaque(url),
    }
}

/// A tool that searches prints lines of files below a directory: `DIRECTORY/**/PATTERN`.
fn read_by_tool(tool: &str, text: &str, place: Place<'_>) -> PathAccess {
    let Some((directory, patterns)) =
        text.split_once("/**/").filter(|_| tool.eq_ignore_ascii_case("grep"))
    else {
        return path(text, place);
    };
    let separate = patterns.split_whitespace().filter(|pattern| *pattern != "*");
    let included = separate.map(str::to_owned).collect();
    let search = Search { included, hidden: true, ..Search::default() };
    PathAccess { search: Some(Box::new(search)), ..path(directory, place) }
}

/// Agents write `~` for home, although only shells know it: both readings cannot be told apart, so home is meant.
fn path(text: &str, place: Place<'_>) -> PathAccess {
    let written = match (text.strip_prefix("~/"), place.home) {
        (Some(rest), Some(home)) => format!("{home}/{rest}"),
        _ => text.to_owned(),
    };
    PathAccess { written: written.clone(), ..PathAccess::new(place.cwd.join(&written)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(permission: &str, pattern: &str) -> Vec<Access> {
        let (cwd, home) = (AbsPath::new("/p").unwrap(), AbsPath::new("/h").unwrap());
        let place = Place { cwd: &cwd, home: Some(&home) };
        facts_of_question(permission, &[pattern.to_owned()], place).accesses
    }

    #[test]
    fn bare_questions_become_accesses() {
        let rows = [
            ("read", "a/b", "read", "/p/a/b"),
            ("read", "~/x", "read", "/h/x"),
            ("edit", "/q/../x", "edit", "/x"),
            ("external_directory", "/q", "external_directory", "/q"),
            ("webfetch", "https://x.io/a", "webfetch", "https://x.io/a"),
            ("webfetch", "http://a@b@c", "opaque", "http://a@b@c"),
            ("task", "explore", "task", "explore"),
            ("doom_loop", "bash", "doom_loop", "bash"),
            ("mcp__a__b", "*", "tool", "mcp__a__b"),
        ];
        for (permission, pattern, kind, summary) in rows {
            let found = question(permission, pattern);
            let found: Vec<_> = found.iter().map(|a| (a.permission(), a.summary())).collect();
            assert_eq!(found, [(kind, summary)], "{permission} {pattern}");
        }
    }
}
