//! `trust`: a person vouches for what a project's own settings would allow (DECISIONS 3).

use std::{fs, io::ErrorKind, path::Path};

use openoxide_engine::{new_approval_id, new_session_id};
use openoxide_protocol::{
    AbsPath, ApprovalRequest, ApprovalResponse, Decision, Digest, Effect, Presentation,
    PresentationKind, SCHEMA,
};
use openoxide_store::{
    Environment, Loaded, Source, Trust, Untrusted, Vouched, load_fresh, main_checkout,
    project_root, sources,
};
use openoxide_tui::{Lines, ask, can_ask, visible};

use crate::{
    args::{Global, TrustArgs},
    commands::run,
    exit::Exit,
    policy_args, report,
};

/// Shows what a project's settings would allow, and asks whether they may; or takes it back.
pub(crate) fn trust(args: &TrustArgs, global: Global) -> Result<Exit, String> {
    let environment = Environment::read();
    let Sought { place, project, sources } = sought(args, &environment)?;
    let trust = Trust::of(&environment);
    if args.revoke {
        return revoke(&trust, &project);
    }
    let loaded = load_fresh(&sources, &environment, &[]);
    // The directory of a person's own file is no project, and links in it are vouched for.
    let asked = |each: &&Untrusted| each.project == project || each.project == place;
    let Some(untrusted) = loaded.untrusted.iter().find(asked) else {
        let text = nothing_to_ask(&trust, &project) + &elsewhere(&loaded);
        return Ok(report::data(text.as_bytes(), Exit::Success));
    };
    if args.show {
        let place = visible(untrusted.project.as_str(), Lines::One);
        let settings = lines(&untrusted.settings);
        let text = format!("{place}: not trusted; these settings would take effect:\n{settings}");
        return Ok(report::data(text.as_bytes(), Exit::Success));
    }
    if global.no_input || !can_ask() {
        report::failure(&"trusting a project requires a terminal; run `openoxide trust` there");
        return Ok(Exit::Ask);
    }
    offer(&trust, untrusted, global)
}

/// What is to be vouched for.
struct Sought {
    /// What a person named, or where they are.
    place: AbsPath,
    /// The project there, or a settings file whose hooks are programs.
    project: AbsPath,
    /// Where it is read.
    sources: Vec<Source>,
}

fn sought(args: &TrustArgs, environment: &Environment) -> Result<Sought, String> {
    let place = policy_args::directory(args.directory.as_deref())?;
    let path = Path::new(place.as_str());
    // What was vouched for and is gone can be taken back.
    if args.revoke && !path.exists() && Trust::of(environment).find(&place).is_some() {
        return Ok(Sought { project: place.clone(), place, sources: Vec::new() });
    }
    if !is_directory(path)? {
        let source = policy_args::named_file(place.as_str().as_ref(), None, &AbsPath::root())?;
        return Ok(Sought { project: place.clone(), place, sources: vec![source] });
    }
    let project = project_root(&place, environment.home.as_ref());
    let sources = sources(environment, &project);
    Ok(Sought { place, project, sources })
}

/// Says whether it is a directory, and not a file that can be read.
///
/// # Errors
///
/// It is neither: a slip of the pen is no project whose settings are in order.
fn is_directory(path: &Path) -> Result<bool, String> {
    let shown = visible(&path.to_string_lossy(), Lines::One);
    let meta = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("no such file or directory: {shown}"),
        _ => format!("{shown}: {error}"),
    })?;
    if !meta.is_dir() && !meta.is_file() {
        return Err(format!("neither a directory nor a file: {shown}"));
    }
    if meta.is_file() {
        fs::File::open(path).map_err(|error| format!("{shown}: {error}"))?;
    }
    Ok(meta.is_dir())
}

fn nothing_to_ask(trust: &Trust, project: &AbsPath) -> String {
    let place = visible(project.as_str(), Lines::One);
    if let Some(said) = vouched(trust, project) {
        return format!("{place}: trusted:\n{}", lines(&said.settings));
    }
    match main_checkout(project).and_then(|main| vouched(trust, &main)) {
        Some(said) => {
            let main = visible(said.project.as_str(), Lines::One);
            let settings = lines(&said.settings);
            format!("{place}: trusted as a worktree of {main}:\n{settings}")
        }
        None => format!("{place}: no settings that require trust\n"),
    }
}

/// Names the other places around here whose settings nobody vouched for.
fn elsewhere(loaded: &Loaded) -> String {
    let line = |each: &Untrusted| {
        let place = visible(each.project.as_str(), Lines::One);
        format!("{place}: not trusted; run `openoxide trust {place}` to review its settings\n")
    };
    loaded.untrusted.iter().map(line).collect()
}

fn vouched(trust: &Trust, project: &AbsPath) -> Option<Vouched> {
    trust.find(project).filter(|said| said.trusted)
}

fn lines(settings: &[String]) -> String {
    settings.iter().map(|each| format!("  {}\n", visible(each, Lines::One))).collect()
}

fn revoke(trust: &Trust, project: &AbsPath) -> Result<Exit, String> {
    let revoked = trust.revoke(project).map_err(|error| format!("cannot revoke trust: {error}"))?;
    let what = if revoked { "trust revoked" } else { "was not trusted" };
    report::say(&format!("openoxide: {}: {what}", visible(project.as_str(), Lines::One)));
    Ok(Exit::Success)
}

/// Asks about each project around this place that somebody has to vouch for, once. What is answered counts from the next
/// look at the policy on. Says whether something was vouched for.
pub(crate) fn offer_all(
    untrusted: &[Untrusted],
    environment: &Environment,
    global: Global,
) -> bool {
    let trust = Trust::of(environment);
    let mut trusted = false;
    for untrusted in untrusted {
        let known =
            trust.find(&untrusted.project).is_some_and(|said| said.settings == untrusted.settings);
        if known || global.no_input || !can_ask() {
            continue; // They said no to just these settings.
        }
        match offer(&trust, untrusted, global) {
            Ok(exit) => trusted |= exit == Exit::Success,
            // Nothing counts that is not kept, and the person must know.
            Err(error) => report::failure(&error),
        }
    }
    trusted
}

fn offer(trust: &Trust, untrusted: &Untrusted, global: Global) -> Result<Exit, String> {
    let request = request(trust, untrusted);
    let response = ask(&request, &run::options(global)).map_err(|error| error.to_string())?;
    let trusted = matches!(response, ApprovalResponse::Approved { .. });
    if response == ApprovalResponse::Cancelled {
        return Ok(Exit::Ask);
    }
    trust
        .keep(&untrusted.project, &untrusted.settings, trusted)
        .map_err(|error| format!("cannot save the answer: {error}"))?;
    let what = if trusted {
        "trusted; its settings are in force"
    } else {
        "not trusted; only its deny and ask rules apply"
    };
    report::say(&format!("openoxide: {}: {what}", visible(untrusted.project.as_str(), Lines::One)));
    Ok(if trusted { Exit::Success } else { Exit::Deny })
}

/// Returns the question: what would be allowed, or, where something was vouched for before, what is new.
fn request(trust: &Trust, untrusted: &Untrusted) -> ApprovalRequest {
    let before =
        trust.find(&untrusted.project).filter(|said| said.trusted).map(|said| said.settings);
    let reason = match before {
        Some(_) => "its settings have changed since you trusted them",
        None => "settings inside a project can only restrict until you trust the project",
    };
    ApprovalRequest {
        schema: SCHEMA,
        id: new_approval_id(),
        session: new_session_id(),
        tool: "Trust".to_owned(),
        title: format!("let the settings of {} allow this?", untrusted.project),
        cwd: untrusted.project.clone(),
        presentation: Presentation {
            kind: PresentationKind::Diff,
            content: difference(&before.unwrap_or_default(), &untrusted.settings),
            language: None,
            metadata: std::collections::BTreeMap::new(),
        },
        decision: Decision {
            effect: Effect::Ask,
            reason: reason.to_owned(),
            rule: None,
            parts: Vec::new(),
            findings: Vec::new(),
            always: Vec::new(),
            obligations: Vec::new(),
        },
        digest: Digest([0; 32]),
        group: None,
        explicit_yes_required: true,
        alternatives: Vec::new(),
        task: None,
    }
}

fn difference(before: &[String], now: &[String]) -> String {
    let gone = before.iter().filter(|each| !now.contains(each)).map(|each| format!("-{each}\n"));
    let here = now.iter().map(|each| match before.contains(each) {
        true => format!(" {each}\n"),
        false => format!("+{each}\n"),
    });
    gone.chain(here).collect()
}
