//! Problems of the machine, the policy and the records. They concern every agent.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use openoxide_engine::Engine;
use openoxide_store::{UserEnvironment, audit::Journal};

use crate::{
    agent_wiring::{Problem, ProblemCode},
    commands::sandbox,
};

/// How far the clock may be behind the time of a file.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(300);
/// The bits of a mode with which other users can write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Returns the problems of the machine.
pub(super) fn check_machine(engine: &Engine) -> Vec<Problem> {
    let environment = engine.environment();
    let mut problems = check_home(environment);
    problems.extend(check_directories(environment));
    problems.extend(check_policy(engine));
    problems.extend(check_journal(environment));
    problems.extend(check_sandbox());
    problems
}

fn check_home(environment: &UserEnvironment) -> Vec<Problem> {
    let (home, account) = (&environment.home, &environment.account_home);
    let mut problems = Vec::new();
    if let Some(problem) = &environment.problem {
        problems.push(Problem::with_advice(ProblemCode::HomeUnclear, problem, "set HOME"));
    } else if let (Some(home), Some(account)) = (home, account)
        && home != account
    {
        problems.push(Problem::with_advice(
            ProblemCode::HomeUnclear,
            format!("HOME is `{home}`, but the home directory of the account is `{account}`"),
            format!("set HOME to `{account}`, unless the agents have the same HOME"),
        ));
    }
    problems
}

/// Returns the directories of OpenOxide that exist.
fn own_directories(environment: &UserEnvironment) -> Vec<PathBuf> {
    let parents = [&environment.config, &environment.state, &environment.cache];
    let named = parents.into_iter().flatten().map(|parent| parent.join("openoxide"));
    named.filter(|path| path.is_dir()).collect()
}

fn check_directories(environment: &UserEnvironment) -> Vec<Problem> {
    let mut problems = Vec::new();
    for directory in own_directories(environment) {
        let Ok(found) = fs::metadata(&directory) else { continue };
        let shown = directory.display();
        if found.permissions().mode() & WRITABLE_BY_OTHERS != 0 {
            problems.push(Problem::with_command(
                ProblemCode::DirectoryWritable,
                format!("{shown}: other users can change the files in it"),
                format!("chmod go-w {}", quote(&directory)),
            ));
        }
        if found.modified().is_ok_and(is_in_future) {
            problems.push(Problem::with_advice(
                ProblemCode::ClockBehind,
                format!("{shown} was changed in the future: grants that expire do not count"),
                "set the clock",
            ));
        }
        let parent_owner = directory.parent().and_then(|parent| fs::metadata(parent).ok());
        if parent_owner.is_some_and(|parent| parent.uid() != found.uid()) {
            problems.push(Problem::with_advice(
                ProblemCode::DirectoryWritable,
                format!("{shown} belongs to another user than the directory above"),
                format!("make {shown} your own"),
            ));
        }
    }
    problems
}

fn is_in_future(time: SystemTime) -> bool {
    time.duration_since(SystemTime::now()).is_ok_and(|ahead| ahead > CLOCK_TOLERANCE)
}

fn quote(path: &Path) -> String {
    let text = path.to_string_lossy();
    shlex::try_quote(&text).map_or_else(|_| text.to_string(), std::borrow::Cow::into_owned)
}

fn check_policy(engine: &Engine) -> Vec<Problem> {
    let broken = engine.broken_files().iter().map(|broken| {
        let file = broken.path.display();
        let place = broken.problems.first().map_or_else(
            || format!("{file}: it cannot be read"),
            |problem| format!("{file}:{}: {}", problem.line_in(&broken.text), problem.message),
        );
        Problem::with_advice(
            ProblemCode::PolicyBroken,
            format!("{place}; everything that is not denied needs approval"),
            format!("correct {file}; `openoxide rules lint` shows all errors"),
        )
    });
    let managed = engine.managed_policy_error().map(|error| {
        Problem::with_advice(
            ProblemCode::PolicyBroken,
            format!("{error}; everything is denied"),
            "ask the administrator to correct the managed policy",
        )
    });
    let untrusted = engine.untrusted_projects().iter().map(|untrusted| {
        let project = &untrusted.project;
        Problem::with_advice(
            ProblemCode::ProjectUntrusted,
            format!("{project}: settings of the project that would allow more are ignored"),
            "read them with `openoxide trust --show`; `openoxide trust` trusts them",
        )
    });
    broken.chain(managed).chain(untrusted).collect()
}

fn check_journal(environment: &UserEnvironment) -> Option<Problem> {
    let verified = Journal::for_user(environment).and_then(|journal| journal.verify());
    let why = match verified {
        Ok(report) => report.fault?.problem.to_string(),
        Err(error) => error.to_string(),
    };
    Some(Problem::with_advice(
        ProblemCode::JournalDamaged,
        format!("the audit journal is not intact: {why}"),
        "see `openoxide audit verify`; move the damaged segment away to start a new journal",
    ))
}

fn check_sandbox() -> Option<Problem> {
    let (reason, help) = sandbox::unavailable_reason()?;
    let help = help.map_or_else(
        || "see `openoxide sandbox status`".to_owned(),
        |help| format!("{help}; see `openoxide sandbox status`"),
    );
    Some(Problem::with_advice(
        ProblemCode::SandboxUnavailable,
        format!("commands cannot be confined: {reason}"),
        help,
    ))
}
