//! Descriptions of the cause of a question.

use openoxide_protocol::{
    Access, AccessRoute, Cause, CauseCode, CommandCause, CommandWord, Effect, ExecAccess,
    PathAccess, SocketAccess,
};

use crate::access_outcome::{AccessOutcome, ReasonCode};

/// The subcommands of git whose first operand is a remote.
const REMOTE_SUBCOMMANDS: [&str; 4] = ["fetch", "pull", "push", "ls-remote"];

/// The options of these subcommands that take no value.
const REMOTE_FLAGS: [&str; 20] = [
    "--all",
    "--delete",
    "--depth=1",
    "--dry-run",
    "--ff-only",
    "--follow-tags",
    "--force",
    "--force-with-lease",
    "--no-verify",
    "--prune",
    "--quiet",
    "--rebase",
    "--set-upstream",
    "--tags",
    "--verbose",
    "-d",
    "-f",
    "-p",
    "-q",
    "-u",
];

/// Returns the cause for which an access is not allowed. `following` contains the accesses after
/// it.
pub(crate) fn find_cause(
    access: &Access,
    outcome: &AccessOutcome,
    following: &[Access],
) -> Option<Cause> {
    if outcome.effect == Effect::Allow && outcome.reason != ReasonCode::Sandboxed {
        return None;
    }
    let cause = |code, detail: String| Some(Cause { code, detail });
    match (access, outcome.reason) {
        (_, ReasonCode::SelfApproval) => {
            cause(CauseCode::ApprovesRequests, "approves requests on your behalf".to_owned())
        }
        (_, ReasonCode::PartialMatch(_)) => {
            let detail = "depends on values known only at run time";
            cause(CauseCode::UnknownValue, detail.to_owned())
        }
        (Access::Exec(exec), _) => describe_command(exec, following),
        (Access::Read(path), ReasonCode::SecretFile) => {
            cause(CauseCode::ReadsSecret, describe_path("reads", path))
        }
        (Access::Read(path), _) => cause(CauseCode::ReadsFiles, describe_path("reads", path)),
        (Access::Edit(path), ReasonCode::OutsideProject) => {
            cause(CauseCode::WritesOutside, describe_path("changes", path))
        }
        (Access::Edit(path), _) => cause(CauseCode::WritesFiles, describe_path("changes", path)),
        (Access::ExternalDirectory(path), _) => {
            cause(CauseCode::LeavesProject, describe_path("accesses", path))
        }
        (Access::Fetch { host, url, .. }, _) => {
            cause(CauseCode::ContactsHost, describe_host(host, url))
        }
        (Access::Socket(socket), _) => cause(CauseCode::ConnectsSocket, describe_socket(socket)),
        (Access::CallTool { tool }, _) => {
            cause(CauseCode::CallsTool, format!("calls the tool `{tool}`"))
        }
        (Access::Delegate { agent }, _) => {
            cause(CauseCode::StartsAgent, format!("starts the subagent `{agent}`"))
        }
        (Access::Repetition { tool }, _) => {
            cause(CauseCode::RepeatsCall, format!("repeats the same call of `{tool}`"))
        }
        (Access::Opaque { .. }, _) => {
            cause(CauseCode::Opaque, "does something that was not understood".to_owned())
        }
    }
}

/// Returns a description of a connection to a socket. It states what a powerful service can do.
fn describe_socket(access: &SocketAccess) -> String {
    if let Some(host) = access.ssh_host() {
        return format!("uses your SSH agent to sign in to `{host}`");
    }
    let target = match access.service() {
        Some(service) if access.path().is_some() => {
            format!("connects to {} at `{}`", service.as_str(), access.socket)
        }
        _ => format!("connects to the socket `{}`", access.socket),
    };
    match access.warning() {
        Some(warning) => format!("{target}; {warning}"),
        None => target,
    }
}

/// Returns the kind of effect of a command, as [`find_cause`] does, without allocating.
pub(crate) fn find_command_code(exec: &ExecAccess, following: &[Access]) -> Option<CauseCode> {
    match exec.cause? {
        CommandCause::Stated { code, .. } => Some(code),
        CommandCause::UnknownProgram => exec.argv.known_word(0).map(|_| CauseCode::UnknownProgram),
        CommandCause::StartsPrograms => {
            find_started(exec, following).map(|_| CauseCode::StartsPrograms)
        }
        CommandCause::Derived => Some(find_effect_code(following)),
    }
}

/// Returns the cause of a command.
fn describe_command(exec: &ExecAccess, following: &[Access]) -> Option<Cause> {
    let (code, detail) = match exec.cause? {
        CommandCause::Stated { code, phrase } => (code, name_target(phrase, exec, following)),
        CommandCause::UnknownProgram => {
            let name = exec.argv.known_word(0)?;
            let detail = format!("runs `{name}`, a program that OpenOxide does not know");
            (CauseCode::UnknownProgram, detail)
        }
        CommandCause::StartsPrograms => {
            (CauseCode::StartsPrograms, describe_started(exec, following))
        }
        CommandCause::Derived => describe_effect(following),
    };
    Some(Cause { code, detail })
}

/// Returns the phrase, with the name of the remote or host if the words of the command name one.
fn name_target(phrase: &str, exec: &ExecAccess, following: &[Access]) -> String {
    let rest = phrase.strip_prefix("contacts a remote");
    match (rest, find_remote(exec), find_only_host(following)) {
        (Some(rest), Some(remote), _) => format!("contacts the remote `{remote}`{rest}"),
        (Some(rest), None, Some(host)) => format!("contacts `{host}`{rest}"),
        (None, _, Some(host)) if phrase == "contacts a host" => format!("contacts `{host}`"),
        _ => phrase.to_owned(),
    }
}

/// Returns the accesses that a command makes itself, before the next command.
fn own_accesses(following: &[Access]) -> impl Iterator<Item = &Access> {
    following.iter().take_while(|access| !matches!(access, Access::Exec(_))).filter(|access| {
        match access {
            Access::Edit(path) => path.route == AccessRoute::Program,
            Access::Fetch { route, .. } => *route == AccessRoute::Program,
            _ => false,
        }
    })
}

/// Returns the host that a command contacts, if there is exactly one.
fn find_only_host(following: &[Access]) -> Option<&str> {
    let mut hosts = own_accesses(following).filter_map(|access| match access {
        Access::Fetch { host, .. } => Some(host.as_str()),
        _ => None,
    });
    let first = hosts.next().filter(|host| !host.is_empty())?;
    hosts.all(|host| host == first).then_some(first)
}

/// Returns the plain name of the remote of a git command. After an option that may take a value, it
/// is not certain that a word is the remote.
fn find_remote(exec: &ExecAccess) -> Option<&str> {
    let words = exec.normalized_argv.as_ref().unwrap_or(&exec.argv);
    let is_git = words.known_word(0)?.rsplit('/').next() == Some("git");
    if !is_git || !REMOTE_SUBCOMMANDS.contains(&words.known_word(1)?) {
        return None;
    }
    let is_flag = |word: &CommandWord<'_>| matches!(word, CommandWord::Known(text) if REMOTE_FLAGS.contains(text));
    let Some(CommandWord::Known(name)) = words.iter().skip(2).find(|word| !is_flag(word)) else {
        return None;
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (name.bytes().all(plain) && name.starts_with(|first: char| first.is_ascii_alphanumeric()))
        .then_some(name)
}

/// Returns the program that a command starts, if it is known. It has the position of the command in
/// the script.
fn find_started<'a>(outer: &ExecAccess, following: &'a [Access]) -> Option<&'a str> {
    let started = following.iter().find_map(|access| match access {
        Access::Exec(exec) => Some(exec),
        _ => None,
    });
    started.filter(|inner| inner.span == outer.span)?.argv.known_word(0)
}

/// Returns the effect of a command that starts other programs.
fn describe_started(outer: &ExecAccess, following: &[Access]) -> String {
    match find_started(outer, following) {
        Some(name) => format!("starts `{name}`"),
        None => "starts other programs".to_owned(),
    }
}

/// Returns the kind of effect of a command if only its files and hosts are known.
fn find_effect_code(following: &[Access]) -> CauseCode {
    let has = |kind: fn(&Access) -> bool| own_accesses(following).any(kind);
    if has(|access| matches!(access, Access::Fetch { .. })) {
        CauseCode::ContactsHost
    } else if has(|access| matches!(access, Access::Edit(_))) {
        CauseCode::WritesFiles
    } else {
        CauseCode::UnknownEffect
    }
}

/// Returns the effect of a command if only its files and hosts are known.
fn describe_effect(following: &[Access]) -> (CauseCode, String) {
    let host = own_accesses(following).find_map(|access| match access {
        Access::Fetch { host, url, .. } => Some(describe_host(host, url)),
        _ => None,
    });
    let edit = own_accesses(following).find_map(|access| match access {
        Access::Edit(path) => Some(describe_path("changes", path)),
        _ => None,
    });
    let effect = host.map(|detail| (CauseCode::ContactsHost, detail));
    effect
        .or(edit.map(|detail| (CauseCode::WritesFiles, detail)))
        .unwrap_or_else(|| (CauseCode::UnknownEffect, "is not known to be read-only".to_owned()))
}

fn describe_path(verb: &str, path: &PathAccess) -> String {
    format!("{verb} `{}`", path.path)
}

fn describe_host(host: &str, url: &str) -> String {
    format!("contacts `{}`", if host.is_empty() { url } else { host })
}
