//! The facts about a tool call.

use std::{cell::LazyCell, collections::HashMap};

use openoxide_protocol::{
    AbsPath, Access, AccessRoute, Action, CommandClass, FileSearch, Operation, OperationFacts,
    PathAccess, Span, VersionControl,
};
use openoxide_shell::{AnalysisContext, analyze_script, findings};
use serde_json::Value;

use crate::{
    branch_switch, build_outputs, changed_files, command_input, copied_files, created_files,
    database_files, directory_changes,
    entered_places::{MAX_CD_TARGETS, collect_cd_targets},
    file_modes, git_credentials, git_grep_objects, git_repository, git_ssh, hard_links,
    index_commands, locale, new_links, patches,
    path_resolution::resolve_path,
    pathname_expansion, piped_paths, program_paths, project_hosts, project_settings,
    restorable_files,
    sandbox_opt_out::sandbox_opt_out_access,
    script_edits::{PriorEdits, ScriptEdits},
    search_expansion, shadowing_programs,
    socket_access::socket_access,
    sqlite_databases,
    step_budget::StepBudget,
    subversion, symlink_moves, tracked_secrets, url_host,
    version_control::{self, started_version_control},
};

/// The location in which an operation would run.
#[derive(Clone, Copy, Debug)]
pub struct CallLocation<'a> {
    /// The working directory.
    pub cwd: &'a AbsPath,
    /// The home directory, if it is known.
    pub home: Option<&'a AbsPath>,
}

/// Returns the facts about an operation, with symbolic links followed.
#[must_use]
pub fn collect_operation_facts(operation: &Operation, home: Option<&AbsPath>) -> OperationFacts {
    let place = CallLocation { cwd: &operation.cwd, home };
    facts_of_call(&operation.action, &operation.tool, &operation.input, place)
}

/// Returns the facts about a call of a tool: those of its action, and those of the rest of its
/// input.
#[must_use]
pub(crate) fn facts_of_call(
    action: &Action,
    tool: &str,
    input: &Value,
    place: CallLocation<'_>,
) -> OperationFacts {
    let steps = StepBudget::new();
    let is_command = matches!(action, Action::Command { .. });
    let named = is_command.then(|| command_input::working_directory(input, place.cwd)).flatten();
    let there = CallLocation { cwd: named.as_ref().unwrap_or(place.cwd), ..place };
    let mut facts = collect_facts_within_budget(action, tool, there, &steps);
    if is_command {
        command_input::check(&mut facts, input, place.cwd, &steps);
    }
    program_paths::spell_program_paths(&mut facts, there.cwd, place.cwd, &steps);
    facts.accesses.extend(sandbox_opt_out_access(input));
    facts
}

/// Returns the facts of a bare question, as OpenCode asks it: the name of a permission and patterns
/// for the accessed subjects. An unknown permission is treated as a tool.
#[must_use]
pub fn collect_question_facts(
    permission: &str,
    patterns: &[String],
    place: CallLocation<'_>,
) -> OperationFacts {
    let mut all = OperationFacts::default();
    let steps = StepBudget::new();
    for pattern in patterns {
        let text = pattern.clone();
        let action = match permission {
            "bash" => Action::Command { script: text },
            "read" | "glob" | "grep" | "list" => Action::Read { paths: vec![text] },
            "edit" | "write" => Action::Edit { paths: vec![text] },
            "webfetch" => Action::Fetch { url: text },
            "socket" => Action::Connect { socket: text },
            "task" => Action::Delegate { agent: text },
            "doom_loop" => {
                all.accesses.push(Access::Repetition { tool: text });
                continue;
            }
            "external_directory" => {
                let mut path = path_access(&text, place);
                all.accesses.push(match resolve_path(&mut path, place.cwd, &steps) {
                    true => Access::ExternalDirectory(path),
                    false => opaque_access(&text),
                });
                continue;
            }
            _ => Action::CallTool,
        };
        let mut facts = collect_facts_within_budget(&action, permission, place, &steps);
        program_paths::spell_program_paths(&mut facts, place.cwd, place.cwd, &steps);
        all.accesses.extend(facts.accesses);
        all.findings.extend(facts.findings);
    }
    all
}

/// Returns the facts about an action of a tool at a location, with symbolic links followed.
#[must_use]
pub fn collect_action_facts(
    action: &Action,
    tool: &str,
    place: CallLocation<'_>,
) -> OperationFacts {
    let steps = StepBudget::new();
    let mut facts = collect_facts_within_budget(action, tool, place, &steps);
    program_paths::spell_program_paths(&mut facts, place.cwd, place.cwd, &steps);
    facts
}

/// Like [`collect_action_facts`], with a budget that it shares with other actions of the same call.
pub(crate) fn collect_facts_within_budget(
    action: &Action,
    tool: &str,
    place: CallLocation<'_>,
    steps: &StepBudget,
) -> OperationFacts {
    let mut facts = match action {
        Action::Command { script } => {
            analyze_script(script, &AnalysisContext { cwd: place.cwd, home: place.home })
        }
        Action::Read { paths } => facts_from_accesses(
            paths.iter().map(|text| Access::Read(tool_read_access(tool, text, place))),
        ),
        Action::Edit { paths } => {
            facts_from_accesses(paths.iter().map(|text| Access::Edit(path_access(text, place))))
        }
        Action::Fetch { url } => facts_from_accesses([fetch_access(url)]),
        Action::Connect { socket } => facts_from_accesses([socket_access(socket)]),
        Action::CallTool => facts_from_accesses([Access::CallTool { tool: tool.to_owned() }]),
        Action::Delegate { agent } => {
            facts_from_accesses([Access::Delegate { agent: agent.clone() }])
        }
        Action::Opaque { text } => facts_from_accesses([opaque_access(text)]),
    };
    if let Action::Command { script } = action {
        locale::check(&mut facts, script);
        directory_changes::check(&mut facts, place.cwd, steps);
    }
    pathname_expansion::expand_patterns(&mut facts, place.cwd, steps);
    search_expansion::expand_searches(&mut facts, steps);
    changed_files::expand_changed_files(&mut facts, steps);
    copied_files::add_copied_steering_files(&mut facts, steps);
    piped_paths::check_piped_paths(&mut facts, place.cwd, steps);
    symlink_moves::check_moved_links(&mut facts, steps);
    new_links::check_links_to_protected_files(&mut facts);
    new_links::check_files_behind_new_links(&mut facts, steps);
    symlink_moves::check_links_below_targets(&mut facts, steps);
    new_links::check_parents_of_new_links(&mut facts, place.cwd, steps);
    let mut git_place = None;
    facts.accesses.retain_mut(|access| {
        if let Access::Exec(exec) = access {
            git_place = git_ssh::working_directory(exec, place.cwd);
        }
        resolve_program_host(access, git_place.as_ref(), place.home)
    });
    for access in &mut facts.accesses {
        if let Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) = access
            && !resolve_path(path, place.cwd, steps)
        {
            let (text, span) = (path.raw_path.clone(), path.span);
            *access = Access::Opaque { text, span };
        }
    }
    hard_links::add_other_names(&mut facts, place.cwd, place.home, steps);
    facts.accesses.retain(|access| !is_below_cwd(access, place.cwd));
    git_credentials::check_credential_output(&mut facts.accesses, place.cwd, place.home);
    distrust_edited_programs(action, &mut facts, place, steps);
    shadowing_programs::check(&mut facts, place.cwd, place.home, steps);
    facts
}

/// Makes programs not harmless if configuration files could make them do more: existing files, and
/// files that the script edits before.
fn distrust_edited_programs(
    action: &Action,
    facts: &mut OperationFacts,
    place: CallLocation<'_>,
    steps: &StepBudget,
) {
    let Action::Command { script } = action else { return };
    if !steps.take_steps(estimate_distrust_steps(facts, place.cwd)) {
        patches::refuse(&mut facts.accesses);
        return distrust_all_programs(facts);
    }
    let edits = ScriptEdits::collect(script, &facts.accesses);
    add_embedded_repository_findings(facts, &edits, place.cwd);
    patches::check(&mut facts.accesses, &edits, place.cwd, steps);
    project_hosts::distrust_host_programs(&mut facts.accesses, &edits, place.cwd);
    version_control::distrust_version_control(&mut facts.accesses, &edits, place.cwd, place.home);
    version_control::check_remotes(&mut facts.accesses, place.cwd);
    sqlite_databases::check_sqlite_commands(&mut facts.accesses, &edits, place.cwd, steps);
    database_files::check(&mut facts.accesses);
    index_commands::check(&mut facts.accesses);
    file_modes::check(&mut facts.accesses, place.cwd);
    subversion::check_working_copies(&mut facts.accesses, &edits, place.cwd, steps);
    project_settings::distrust_configured_programs(
        &mut facts.accesses,
        &edits,
        place.cwd,
        place.home,
    );
    tracked_secrets::check(&mut facts.accesses, place.cwd, steps);
    git_grep_objects::check(&mut facts.accesses, place.cwd);
    restorable_files::check(&mut facts.accesses, place.cwd, steps);
    created_files::check(&mut facts.accesses, place.cwd);
    build_outputs::check(&mut facts.accesses, &edits, place.cwd, steps);
    branch_switch::check(&mut facts.accesses, place.cwd);
}

/// Returns the number of steps of the search for files that could make the programs of a script do
/// more. For each program, its directory, the directories above, and the git repository are
/// examined and compared with the edits of the script.
fn estimate_distrust_steps(facts: &OperationFacts, cwd: &AbsPath) -> usize {
    let (mut all, mut last) = (0, None);
    let mut steerable = HashMap::new();
    let edits = facts.accesses.iter().filter(|access| matches!(access, Access::Edit(_))).count();
    for access in &facts.accesses {
        let Access::Exec(exec) = access else { continue };
        let place = exec.cwd.as_ref().unwrap_or(cwd);
        // In an unknown directory, each directory that the script enters is examined.
        let places = if *place == AbsPath::root() && edits > 0 { MAX_CD_TARGETS } else { 1 };
        // Without edits, consecutive programs in the same directory are examined once.
        let is_new = last.replace(place) != Some(place) || edits > 0;
        let look = match started_version_control(exec) {
            VersionControl::None => 8,
            VersionControl::Git => 256,
            VersionControl::Any => 384,
        };
        let look = (look + place.as_str().split('/').count() * 2) * places;
        // Each file that is looked for is compared with each edit.
        all += 2 + edits / 16 + if is_new { look + look * edits / 16 } else { 0 };
        let program = exec.argv.known_word(0).and_then(|name| name.rsplit('/').next());
        let is_steerable = program.is_some_and(|program| {
            *steerable.entry(program).or_insert_with(|| project_settings::is_steerable(program))
        });
        all += if is_steerable { edits * 6 } else { 0 };
    }
    all
}

/// Sets the class of all programs of a script to unknown, because the script was not examined.
fn distrust_all_programs(facts: &mut OperationFacts) {
    let mut embedded = Vec::new();
    for access in &mut facts.accesses {
        let Access::Exec(exec) = access else { continue };
        exec.class = CommandClass::Unknown;
        if started_version_control(exec) != VersionControl::None && embedded.is_empty() {
            embedded.push(findings::new_embedded_repository_finding(exec.span));
        }
    }
    facts.findings.extend(embedded);
}

/// A rule for git does not apply to a repository that the content of the project configures.
fn add_embedded_repository_findings(
    facts: &mut OperationFacts,
    edits: &ScriptEdits,
    cwd: &AbsPath,
) {
    let accesses = &facts.accesses;
    let runs = accesses.iter().filter_map(|access| {
        let Access::Exec(exec) = access else { return None };
        (started_version_control(exec) != VersionControl::None).then_some(exec)
    });
    let targets = |may_make_directories| {
        LazyCell::new(move || collect_cd_targets(accesses, cwd, may_make_directories))
    };
    let (existing_targets, all_targets) = (targets(false), targets(true));
    let mut known = HashMap::new();
    let mut is_embedded = |place: &AbsPath, exec| {
        let before = edits.edits_before(exec);
        // An unknown program does not make a directory a repository here.
        let is_as_on_disk = before.is_empty() || matches!(before, PriorEdits::Anything);
        match known.get(place) {
            Some(is_embedded) if is_as_on_disk => *is_embedded,
            _ => {
                let is_embedded = git_repository::is_embedded(place, cwd, &before);
                if is_as_on_disk {
                    known.insert(place.clone(), is_embedded);
                }
                is_embedded
            }
        }
    };
    let embedded = runs.filter(|exec| match &exec.cwd {
        // If a `cd` may fail, each directory that the script enters is examined.
        Some(place) if *place == AbsPath::root() => {
            let is_unchanged = edits.before_by_others(exec).is_empty();
            let targets = if is_unchanged { &existing_targets } else { &all_targets };
            let targets: &Option<Vec<AbsPath>> = targets;
            targets
                .as_ref()
                .is_none_or(|targets| targets.iter().any(|place| is_embedded(place, exec)))
        }
        place => is_embedded(place.as_ref().unwrap_or(cwd), exec),
    });
    let found: Vec<_> =
        embedded.map(|exec| findings::new_embedded_repository_finding(exec.span)).collect();
    facts.findings.extend(found);
}

/// Sets the host of a program's network access, and returns whether there is an access to check.
///
/// An address without a recognizable host could be any host that a rule denies, so the access
/// becomes opaque. A word that is not an address is not checked. `git_place` is the working
/// directory of the program, if it is git.
fn resolve_program_host(
    access: &mut Access,
    git_place: Option<&AbsPath>,
    home: Option<&AbsPath>,
) -> bool {
    let Access::Fetch { host, url, route: AccessRoute::Program } = access else { return true };
    let named = match url.contains("://") {
        true => url_host::parse_url_host(url).or_else(|| git_ssh::find_host(url, git_place?, home)),
        false => url_host::parse_url_host(&format!("https://{url}")),
    };
    match named {
        Some(name) => *host = name,
        None if url.contains("://") => *access = opaque_access(&url.clone()),
        None => return false,
    }
    true
}

/// Returns whether an access only enters a directory below the working directory. Such an access
/// does not leave the project.
fn is_below_cwd(access: &Access, cwd: &AbsPath) -> bool {
    let Access::ExternalDirectory(path) = access else { return false };
    path.paths().all(|spelling| spelling.strip_prefix(cwd).is_some())
}

fn facts_from_accesses(accesses: impl IntoIterator<Item = Access>) -> OperationFacts {
    OperationFacts { accesses: accesses.into_iter().collect(), findings: Vec::new() }
}

fn opaque_access(text: &str) -> Access {
    Access::Opaque { text: text.to_owned(), span: Span::new(0, text.len()) }
}

fn fetch_access(url: &str) -> Access {
    match url_host::parse_connection_host(url) {
        Some(host) => Access::Fetch { host, url: url.to_owned(), route: AccessRoute::Direct },
        None => opaque_access(url),
    }
}

/// A tool that searches prints lines of files below a directory: `DIRECTORY/**/PATTERN`.
fn tool_read_access(tool: &str, text: &str, place: CallLocation<'_>) -> PathAccess {
    let Some((directory, patterns)) =
        text.split_once("/**/").filter(|_| tool.eq_ignore_ascii_case("grep"))
    else {
        return path_access(text, place);
    };
    let separate = patterns.split_whitespace().filter(|pattern| *pattern != "*");
    let included = separate.map(str::to_owned).collect();
    let search =
        FileSearch { include_patterns: included, includes_hidden: true, ..FileSearch::default() };
    PathAccess { search: Some(Box::new(search)), ..path_access(directory, place) }
}

/// Returns the access to a path. Agents write `~` for the home directory, although only shells
/// expand it. The two meanings cannot be distinguished, so the home directory is assumed.
fn path_access(text: &str, place: CallLocation<'_>) -> PathAccess {
    let written = match (text.strip_prefix("~/"), place.home) {
        (Some(rest), Some(home)) => format!("{home}/{rest}"),
        _ => text.to_owned(),
    };
    PathAccess { raw_path: written.clone(), ..PathAccess::new(place.cwd.join(&written)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(permission: &str, pattern: &str) -> Vec<Access> {
        let (cwd, home) = (AbsPath::new("/p").unwrap(), AbsPath::new("/h").unwrap());
        let place = CallLocation { cwd: &cwd, home: Some(&home) };
        collect_question_facts(permission, &[pattern.to_owned()], place).accesses
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
            let found: Vec<_> = found.iter().map(|a| (a.permission_name(), a.summary())).collect();
            assert_eq!(found, [(kind, summary)], "{permission} {pattern}");
        }
    }
}
