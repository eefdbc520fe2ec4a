//! The wiring of Claude Code: its settings at all levels.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    problem::{Problem, ProblemCode},
    project_settings::{check_mcp_servers, check_project_settings},
    wired_hook::{WiredHook, read_hooks},
};
use crate::args::AgentName;

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
    project: &Path,
    managed: &Path,
) -> (Vec<WiredHook>, Vec<Problem>) {
    let levels = read_levels(home, project, managed);
    let mut problems: Vec<_> = levels.iter().filter_map(check_syntax).collect();
    let is_ours = |hook: &WiredHook| hook.is_ours(AgentName::Claude);
    let mut ours = Vec::new();
    for LevelSettings { level, file, settings } in &levels {
        let Ok(settings) = settings else { continue };
        let (own, others): (Vec<_>, Vec<_>) =
            read_hooks(file, settings).into_iter().partition(is_ours);
        problems.extend(others.iter().map(WiredHook::to_other_hook_problem));
        // A hook in a project is not the user's: the project can change it.
        if *level != Level::Project {
            ours.extend(own.into_iter().map(|hook| (*level, hook)));
        } else {
            problems.extend(check_project_settings(file, settings));
        }
        problems.extend(check_user_mode(*level, file, settings));
    }
    problems.extend(check_mcp_servers(&project.join(".mcp.json")));
    let is_managed =
        |event| ours.iter().any(|(level, hook)| *level == Level::Managed && hook.event == event);
    if !ours.is_empty() && !super::wired_hook::EVENTS.into_iter().all(is_managed) {
        problems.extend(levels.iter().filter_map(check_disabled_hooks));
    } else {
        let managed = levels.iter().filter(|level| level.level == Level::Managed);
        problems.extend(
            managed
                .filter_map(check_disabled_hooks)
                .filter(|problem| problem.code == ProblemCode::HooksDisabled),
        );
    }
    (ours.into_iter().map(|(_, hook)| hook).collect(), problems)
}

fn read_levels(home: &Path, project: &Path, managed: &Path) -> Vec<LevelSettings> {
    let mut files = vec![(Level::Managed, managed.join("managed-settings.json"))];
    let added = fs::read_dir(managed.join("managed-settings.d")).into_iter().flatten().flatten();
    let mut added: Vec<_> = added.map(|entry| entry.path()).collect();
    added.sort();
    files.extend(added.into_iter().map(|path| (Level::Managed, path)));
    files.push((Level::User, home.join("settings.json")));
    let folder = project.join(".claude");
    if folder != home {
        files.push((Level::Project, folder.join("settings.json")));
        files.push((Level::Project, folder.join("settings.local.json")));
    }
    let read = |(level, file): (Level, PathBuf)| {
        let settings = match fs::read_to_string(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => Err(error.to_string()),
            Ok(text) if text.trim().is_empty() => Ok(Value::Null),
            Ok(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        };
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
