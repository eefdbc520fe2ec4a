//! `trust`: a person confirms the permissive settings of a project.

use std::{fs, io, path::Path};

use openoxide_engine::absolute_directory;
use openoxide_formats::named_policy_source;
use openoxide_protocol::{AbsPath, ApprovalResponse};
use openoxide_store::{
    LoadedPolicy, PolicySource, TrustRecord, TrustStore, UntrustedProject, UserEnvironment,
    find_main_checkout, find_policy_sources, find_project_root, load_policy_uncached,
};
use openoxide_tui::{LineMode, can_ask, escape_text};

use crate::{
    args::{GlobalArgs, TrustArgs},
    commands::confirmation::SettingChange,
    error::{CliError, trust_error::TrustCommandError},
    program_exit::ProgramExit,
    user_messages,
};

/// Shows the settings of a project that require trust, and asks whether they apply; or revokes
/// trust.
pub(crate) fn trust_project(args: &TrustArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    let environment = UserEnvironment::from_process();
    let TrustTarget { directory: place, project, sources } = find_target(args, &environment)?;
    let trust = TrustStore::for_user(&environment);
    if args.revoke {
        return Ok(revoke_trust(&trust, &project)?);
    }
    let loaded = load_policy_uncached(&sources, &environment, &[]);
    // The directory of a person's own file is not a project, but links in it also require trust.
    let asked = |each: &&UntrustedProject| each.project == project || each.project == place;
    let Some(untrusted) = loaded.untrusted_projects.iter().find(asked) else {
        let text = trusted_settings_text(&trust, &project) + &other_untrusted_text(&loaded);
        return Ok(user_messages::print_data(&text, ProgramExit::Success));
    };
    if args.show {
        let place = escape_text(untrusted.project.as_str(), LineMode::SingleLine);
        let settings = format_settings(&untrusted.settings);
        let text = format!("{place}: not trusted; these settings would take effect:\n{settings}");
        return Ok(user_messages::print_data(&text, ProgramExit::Success));
    }
    if global.no_input || !can_ask() {
        user_messages::print_error(
            &"trusting a project requires a terminal; run `openoxide trust` there",
        );
        return Ok(ProgramExit::Ask);
    }
    Ok(offer_trust(&trust, untrusted, global)?)
}

/// The settings to trust.
struct TrustTarget {
    /// The named path, or the working directory.
    directory: AbsPath,
    /// The project there, or a settings file whose hooks are programs.
    project: AbsPath,
    /// The policy files of the project.
    sources: Vec<PolicySource>,
}

fn find_target(args: &TrustArgs, environment: &UserEnvironment) -> Result<TrustTarget, CliError> {
    let place = absolute_directory(args.directory.as_deref())?;
    let path = Path::new(place.as_str());
    // Trust can also be revoked after the path was removed.
    if args.revoke && !path.exists() && TrustStore::for_user(environment).find(&place).is_some() {
        return Ok(TrustTarget { project: place.clone(), directory: place, sources: Vec::new() });
    }
    if !is_readable_directory(path)? {
        let source = named_policy_source(place.as_str().as_ref(), None, &AbsPath::root())?;
        return Ok(TrustTarget { project: place.clone(), directory: place, sources: vec![source] });
    }
    let project = find_project_root(&place, environment.home.as_ref());
    let sources = find_policy_sources(environment, &project);
    Ok(TrustTarget { directory: place, project, sources })
}

/// Returns whether the path is a directory; a file must be readable.
///
/// # Errors
///
/// If the path is neither a directory nor a readable file. A mistyped path must not look like a
/// project whose settings are in order.
fn is_readable_directory(path: &Path) -> Result<bool, TrustCommandError> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => TrustCommandError::NotFound(path.to_owned()),
        _ => TrustCommandError::Unreadable { path: path.to_owned(), error },
    };
    let meta = fs::metadata(path).map_err(unreadable)?;
    if !meta.is_dir() && !meta.is_file() {
        return Err(TrustCommandError::UnsupportedFile(path.to_owned()));
    }
    if meta.is_file() {
        fs::File::open(path).map_err(unreadable)?;
    }
    Ok(meta.is_dir())
}

fn trusted_settings_text(trust: &TrustStore, project: &AbsPath) -> String {
    let place = escape_text(project.as_str(), LineMode::SingleLine);
    if let Some(said) = find_trust_record(trust, project) {
        return format!("{place}: trusted:\n{}", format_settings(&said.settings));
    }
    match find_main_checkout(project).and_then(|main| find_trust_record(trust, &main)) {
        Some(said) => {
            let main = escape_text(said.project.as_str(), LineMode::SingleLine);
            let settings = format_settings(&said.settings);
            format!("{place}: trusted as a worktree of {main}:\n{settings}")
        }
        None => format!("{place}: no settings that require trust\n"),
    }
}

/// Returns a line for each other project or file whose settings are not trusted.
fn other_untrusted_text(loaded: &LoadedPolicy) -> String {
    let line = |each: &UntrustedProject| {
        let place = escape_text(each.project.as_str(), LineMode::SingleLine);
        format!("{place}: not trusted; run `openoxide trust {place}` to review its settings\n")
    };
    loaded.untrusted_projects.iter().map(line).collect()
}

fn find_trust_record(trust: &TrustStore, project: &AbsPath) -> Option<TrustRecord> {
    trust.find(project).filter(|said| said.trusted)
}

fn format_settings(settings: &[String]) -> String {
    settings.iter().map(|each| format!("  {}\n", escape_text(each, LineMode::SingleLine))).collect()
}

fn revoke_trust(trust: &TrustStore, project: &AbsPath) -> Result<ProgramExit, TrustCommandError> {
    let revoked = trust.revoke(project).map_err(TrustCommandError::NotRevoked)?;
    let what = if revoked { "trust revoked" } else { "was not trusted" };
    user_messages::print_line(&format!(
        "openoxide: {}: {what}",
        escape_text(project.as_str(), LineMode::SingleLine)
    ));
    Ok(ProgramExit::Success)
}

/// Asks once about each untrusted project here. The answers take effect when the policy is loaded
/// again. Returns whether something was trusted.
pub(crate) fn offer_trust_all(
    untrusted: &[UntrustedProject],
    environment: &UserEnvironment,
    global: GlobalArgs,
) -> bool {
    let trust = TrustStore::for_user(environment);
    let mut trusted = false;
    for untrusted in untrusted {
        let known =
            trust.find(&untrusted.project).is_some_and(|said| said.settings == untrusted.settings);
        if known || global.no_input || !can_ask() {
            continue; // These settings were already rejected, or no person can be asked.
        }
        match offer_trust(&trust, untrusted, global) {
            Ok(exit) => trusted |= exit == ProgramExit::Success,
            // A trust record that cannot be saved has no effect, so the error is reported.
            Err(error) => user_messages::print_error(&error),
        }
    }
    trusted
}

fn offer_trust(
    trust: &TrustStore,
    untrusted: &UntrustedProject,
    global: GlobalArgs,
) -> Result<ProgramExit, TrustCommandError> {
    let response = new_trust_question(trust, untrusted).ask(global)?;
    let trusted = matches!(response, ApprovalResponse::Approved { .. });
    if response == ApprovalResponse::Cancelled {
        return Ok(ProgramExit::Ask);
    }
    trust
        .save(&untrusted.project, &untrusted.settings, trusted)
        .map_err(TrustCommandError::NotSaved)?;
    let what = if trusted {
        "trusted; its settings are in force"
    } else {
        "not trusted; only its deny and ask rules apply"
    };
    user_messages::print_line(&format!(
        "openoxide: {}: {what}",
        escape_text(untrusted.project.as_str(), LineMode::SingleLine)
    ));
    Ok(if trusted { ProgramExit::Success } else { ProgramExit::Deny })
}

/// Returns the question: the settings that would take effect or, if earlier settings were trusted,
/// the new ones.
fn new_trust_question(trust: &TrustStore, untrusted: &UntrustedProject) -> SettingChange {
    let before =
        trust.find(&untrusted.project).filter(|said| said.trusted).map(|said| said.settings);
    let reason = match before {
        Some(_) => "its settings have changed since you trusted them",
        None => "settings inside a project can only restrict until you trust the project",
    };
    SettingChange {
        tool: "Trust",
        title: format!("let the settings of {} allow this?", untrusted.project),
        reason: reason.to_owned(),
        diff: settings_diff(&before.unwrap_or_default(), &untrusted.settings),
        directory: untrusted.project.clone(),
    }
}

fn settings_diff(before: &[String], now: &[String]) -> String {
    let gone = before.iter().filter(|each| !now.contains(each)).map(|each| format!("-{each}\n"));
    let here = now.iter().map(|each| match before.contains(each) {
        true => format!(" {each}\n"),
        false => format!("+{each}\n"),
    });
    gone.chain(here).collect()
}
