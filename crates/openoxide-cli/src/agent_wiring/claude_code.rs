//! The wiring of Claude Code: its settings at all levels.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openoxide_adapters::claude_code::wiring::{DECISION_EVENTS, REPORT_EVENTS, has_ask_rule};
use serde_json::Value;

use super::{
    problem::{Problem, ProblemCode},
    project_settings::{check_mcp_servers, check_project_settings},
    settings_file::read_json,
    wired_hook::{WiredHook, read_hooks},
};
use crate::{args::AgentName, commands::init};

/// The levels of settings, of which a higher one can disable the hooks of a lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Managed,
    User,
    Project,
}

/// The settings file of one level. The value is the reason if the file cannot be parsed.
struct LevelSettings {
    level: Level,
    file: PathBuf,
    settings: Result<Value, String>,
}

/// The directory of the settings that an administrator installs.
pub(super) const MANAGED_DIRECTORY: &str = "/etc/claude-code";

/// Returns the hooks of OpenOxide, and the problems of the settings.
pub(super) fn inspect_settings(
    home: &Path,
    projects: &[PathBuf],
    managed: &Path,
) -> (Vec<WiredHook>, Vec<Problem>) {
    let levels = read_levels(home, projects, managed);
    let mut problems: Vec<_> = levels.iter().filter_map(check_syntax).collect();
    let is_ours = |hook: &WiredHook| hook.is_ours(AgentName::Claude);
    let mut ours = Vec::new();
    for LevelSettings { level, file, settings } in &levels {
        let Ok(settings) = settings else { continue };
        let (own, others): (Vec<_>, Vec<_>) =
            read_hooks(file, settings, DECISION_EVENTS).into_iter().partition(is_ours);
        problems.extend(others.iter().map(WiredHook::to_other_hook_problem));
        // A hook in a project is not the user's: the project can change it.
        if *level != Level::Project {
            ours.extend(own.into_iter().map(|hook| (*level, hook)));
        } else {
            problems.extend(check_project_settings(file, settings));
        }
        problems.extend(check_user_mode(*level, file, settings));
        problems.extend(check_ask_rule(*level, file, settings));
    }
    if !ours.is_empty() {
        problems.extend(check_report_events(&levels));
    }
    let server_files = projects.iter().map(|project| project.join(".mcp.json"));
    problems.extend(server_files.filter_map(|file| check_mcp_servers(&file)));
    problems.extend(check_disabled_levels(&levels, &ours));
    (ours.into_iter().map(|(_, hook)| hook).collect(), problems)
}

fn read_levels(home: &Path, projects: &[PathBuf], managed: &Path) -> Vec<LevelSettings> {
    let mut files = vec![(Level::Managed, managed.join("managed-settings.json"))];
    let added = fs::read_dir(managed.join("managed-settings.d")).into_iter().flatten().flatten();
    let mut added: Vec<_> = added.map(|entry| entry.path()).collect();
    added.sort();
    files.extend(added.into_iter().map(|path| (Level::Managed, path)));
    files.push((Level::User, home.join("settings.json")));
    let folders = projects.iter().map(|project| project.join(".claude"));
    for folder in folders.filter(|folder| folder != home) {
        let names = ["settings.json", "settings.local.json"];
        files.extend(names.map(|name| (Level::Project, folder.join(name))));
    }
    let read = |(level, file): (Level, PathBuf)| {
        let settings = read_json(&file).transpose()?;
        Some(LevelSettings { level, file, settings })
    };
    files.into_iter().filter_map(read).collect()
}

/// Claude Code ignores a settings file that it cannot parse. What a project's file contains is not
/// part of the wiring.
fn check_syntax(level: &LevelSettings) -> Option<Problem> {
    let error = level.settings.as_ref().err()?;
    let file = level.file.display();
    (level.level != Level::Project).then(|| {
        Problem::with_advice(
            ProblemCode::SettingsInvalid,
            format!("{file}: {error}; Claude Code ignores the file with all hooks in it"),
            format!("correct {file}"),
        )
    })
}

/// Returns the problems of settings that disable hooks. Only managed settings can disable managed
/// hooks. All other hooks can be disabled at every level, also by a project.
fn check_disabled_levels(levels: &[LevelSettings], ours: &[(Level, WiredHook)]) -> Vec<Problem> {
    let is_managed =
        |event| ours.iter().any(|(level, hook)| *level == Level::Managed && hook.event == event);
    let all_managed = DECISION_EVENTS.into_iter().all(is_managed);
    let can_disable = |level: &&LevelSettings| !all_managed || level.level == Level::Managed;
    let disabled = levels.iter().filter(can_disable).filter_map(check_disabled_hooks);
    disabled
        .filter(|problem| !all_managed || problem.code != ProblemCode::ManagedHooksOnly)
        .collect()
}

fn check_disabled_hooks(level: &LevelSettings) -> Option<Problem> {
    let settings = level.settings.as_ref().ok()?;
    let is_true = |key: &str| settings.get(key).and_then(Value::as_bool) == Some(true);
    let file = level.file.display();
    if is_true("disableAllHooks") {
        return Some(Problem::with_advice(
            ProblemCode::HooksDisabled,
            format!("{file}: `disableAllHooks` disables the hook of OpenOxide"),
            format!("remove `disableAllHooks` from {file}"),
        ));
    }
    // Claude Code treats every value but false as true.
    let only_managed = settings.get("allowManagedHooksOnly").unwrap_or(&Value::Bool(false));
    (level.level == Level::Managed && *only_managed != Value::Bool(false)).then(|| {
        Problem::with_advice(
            ProblemCode::ManagedHooksOnly,
            format!("{file}: `allowManagedHooksOnly` disables the hook in your settings"),
            format!("ask the administrator to add the hook of your settings to {file}"),
        )
    })
}

/// Returns a problem for each event that reports the end of a call without a hook of OpenOxide.
fn check_report_events(levels: &[LevelSettings]) -> Vec<Problem> {
    let of_user = levels.iter().filter(|level| level.level != Level::Project);
    let read = |level: &LevelSettings| {
        let settings = level.settings.as_ref().ok()?;
        Some(read_hooks(&level.file, settings, REPORT_EVENTS))
    };
    let hooks: Vec<_> = of_user.filter_map(read).flatten().collect();
    let is_missing = |event: &&str| {
        !hooks.iter().any(|hook| hook.event == *event && hook.is_ours(AgentName::Claude))
    };
    let problem = |event| {
        Problem::with_command(
            ProblemCode::ReportMissing,
            format!(
                "the hook is not installed for {event}, so how calls end is not recorded, and the same question is asked again"
            ),
            init::init_command(AgentName::Claude),
        )
    };
    REPORT_EVENTS.into_iter().filter(is_missing).map(problem).collect()
}

/// Returns a problem if Claude Code asks about every tool.
fn check_ask_rule(level: Level, file: &Path, settings: &Value) -> Option<Problem> {
    (level == Level::User && has_ask_rule(settings)).then(|| {
        let file = file.display();
        Problem::with_advice(
            ProblemCode::AskRule,
            format!(
                "{file}: the ask rule `*` makes Claude Code ask about calls that your own rules allow, and hides the reason"
            ),
            format!("delete `\"*\"` from `permissions.ask` in {file}, unless you chose `--strict`"),
        )
    })
}

fn check_user_mode(level: Level, file: &Path, settings: &Value) -> Option<Problem> {
    let mode = settings.get("permissions")?.get("defaultMode")?.as_str()?;
    let file = file.display();
    (level == Level::User && mode == "bypassPermissions").then(|| {
        Problem::with_advice(
            ProblemCode::BypassMode,
            format!("{file}: `defaultMode` is `bypassPermissions`, so only denials are enforced"),
            format!("remove `defaultMode` from {file}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    struct Place {
        directory: TempDir,
    }

    impl Place {
        fn new() -> Self {
            let directory = TempDir::new().unwrap();
            for name in ["home", "project/.claude", "managed/managed-settings.d"] {
                fs::create_dir_all(directory.path().join(name)).unwrap();
            }
            Self { directory }
        }

        fn write(&self, name: &str, settings: &Value) {
            fs::write(self.directory.path().join(name), settings.to_string()).unwrap();
        }

        fn codes(&self) -> (usize, Vec<&'static str>) {
            let place = |name| self.directory.path().join(name);
            let projects = [place("project")];
            let (hooks, problems) = inspect_settings(&place("home"), &projects, &place("managed"));
            (hooks.len(), problems.iter().map(|problem| problem.code.as_str()).collect())
        }
    }

    fn wired(extra: &Value) -> Value {
        let hook = json!({ "type": "command", "command": "/x/openoxide hook claude || exit 2" });
        let group = json!([{ "matcher": "*", "hooks": [hook] }]);
        let mut settings = json!({ "hooks": {
            "PreToolUse": group, "PermissionRequest": group,
            "PostToolUse": group, "PostToolUseFailure": group,
        } });
        settings.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        settings
    }

    #[test]
    fn managed_settings_can_disable_the_hooks_of_a_user() {
        let place = Place::new();
        place.write("home/settings.json", &wired(&json!({})));
        assert_eq!(place.codes(), (2, vec![]));
        let only = json!({ "allowManagedHooksOnly": "yes" });
        place.write("managed/managed-settings.json", &only);
        assert_eq!(place.codes(), (2, vec!["managed_hooks_only"]));
        place.write("managed/managed-settings.json", &json!({}));
        place.write("managed/managed-settings.d/a.json", &json!({ "disableAllHooks": true }));
        assert_eq!(place.codes(), (2, vec!["hooks_disabled"]));
    }

    #[test]
    fn only_managed_settings_can_disable_managed_hooks() {
        let place = Place::new();
        let disabled = json!({ "disableAllHooks": true });
        let only = json!({ "allowManagedHooksOnly": true });
        place.write("managed/managed-settings.json", &wired(&only));
        place.write("project/.claude/settings.json", &disabled);
        place.write("home/settings.json", &disabled);
        assert_eq!(place.codes(), (2, vec![]));
        place.write("managed/managed-settings.d/a.json", &disabled);
        assert_eq!(place.codes(), (2, vec!["hooks_disabled"]));
    }
}
