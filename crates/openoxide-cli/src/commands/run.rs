//! `run`: the whole way. Decide, ask in the terminal, run.

mod again;
pub(crate) mod confined;
mod ends;
mod put_back;
mod retry;
mod staged;
mod way;

use std::{
    cell::RefCell,
    collections::BTreeSet,
    ffi::OsString,
    io,
    os::unix::process::ExitStatusExt as _,
    process::{Command, ExitStatus},
    time::Instant,
};

use openoxide_adapters::quote;
use openoxide_engine::{Asked, digest, without_steering};
use openoxide_permission::Permit;
use openoxide_protocol::{AbsPath, Action, Confined, Decision, Effect, Network, Operation};
use openoxide_sandbox::{Report, Stage};
use openoxide_store::{Environment, audit::Enforced};
use openoxide_tui::{AskOptions, Input, Lines, Style, visible};
use serde_json::json;

use crate::{
    args::{Global, RunArgs, RunSandbox},
    color,
    commands::{call, sandbox::HOST_NETWORK, trust},
    exit::Exit,
    policy::World,
    record::{self, Audit},
    report,
    review::Review,
};
use confined::Hosts;
use ends::{interrupted, refused, unanswerable, unanswered};
use retry::{Retries, Try};
use way::{Passed, Way};

/// Judges a command, asks about it if need be, and runs it.
pub(crate) fn run(args: &RunArgs, global: Global) -> Result<Exit, String> {
    let load = || World::for_execution(&args.policy, args.session);
    let mut world = load()?;
    if trust::offer_all(&world.loaded, &Environment::read(), global) {
        world = load()?;
    }
    if world.sound(global).is_err() && world.loaded.closed.is_none() {
        report::note(&"until the policy is put right, nothing is allowed without a question");
    }
    let Some(task) = Task::of(args) else {
        report::failure(
            &"say what to run: `openoxide run -c 'SCRIPT'` or `openoxide run -- PROG ARG…`",
        );
        return Ok(Exit::Usage);
    };
    if args.live && args.sandbox != RunSandbox::Auto {
        report::failure(
            &"`--live` goes with `--sandbox auto` alone: it asks about what that refuses",
        );
        return Ok(Exit::Usage);
    }
    let audit = Audit::open();
    if let Some(closed) = &world.loaded.closed {
        audit.note(&task.operation(&world), record::closed(closed), None);
        report::say(&format!("openoxide: {closed}; nothing was run"));
        return Ok(Exit::Refused);
    }
    if !std::path::Path::new(world.cwd.as_str()).is_dir() {
        report::failure(&format!("`{}` is no directory", world.cwd));
        return Ok(Exit::Usage);
    }
    if args.stage && args.sandbox != RunSandbox::Auto {
        report::failure(&"`--stage` needs the sandbox as it is: nothing else could be committed");
        return Ok(Exit::Usage);
    }
    if let Some(why) = world.confinement_required().filter(|_| args.sandbox == RunSandbox::Off) {
        let why = format!("`--sandbox off` is refused: {why}");
        audit.note(&task.operation(&world), record::closed(&why), None);
        report::say(&format!("openoxide: {}; nothing was run", visible(&why, Lines::One)));
        return Ok(Exit::Refused);
    }
    let environment = confined::environment(&world.loaded.sandbox, &args.env)?;
    let mut operation = task.operation(&world);
    operation.session = args.session.unwrap_or(operation.session);
    let review = Review::of(args, global, operation.clone(), world.grants.clone());
    let Some(way) = Way::open(world, operation.clone(), review, enforced(args)) else {
        audit.note(
            &operation,
            record::undecided("it was interrupted while hooks were asked"),
            None,
        );
        return Ok(interrupted(NOTHING_RUN));
    };
    let Passed { asked, reviewed, number } = way.pass(&audit)?;
    if let Some(exit) =
        reviewed.as_ref().and_then(|reviewed| unanswered(reviewed, args, NOTHING_RUN))
    {
        return Ok(exit);
    }
    Ok(match asked {
        Asked::Granted(permit) => {
            let held = confined::profile(&way.world, permit.decision(), args.sandbox)?;
            let shown = confined::shown(Some(permit.decision()), way.world.home.as_ref());
            let (session, refused) = (operation.session, RefCell::default());
            let hosts = Hosts { world: way.world, args, global, audit: &audit, session, refused };
            let changeable = confined::changeable(permit.decision());
            let start = Start {
                operation: &operation,
                held,
                changeable,
                shown,
                environment,
                hosts,
                number,
            };
            task.run(permit, &start)
        }
        Asked::Refused(refusal) => refused(&refusal, NOTHING_RUN),
        Asked::Unanswerable(request) => unanswerable(&request, args, NOTHING_RUN),
    })
}

/// What a no means.
const NOTHING_RUN: &str = "nothing was run";

/// What is to be run.
enum Task {
    Script(String),
    Program(Vec<String>),
}

impl Task {
    fn of(args: &RunArgs) -> Option<Self> {
        match (&args.script, args.command.is_empty()) {
            (Some(script), _) => Some(Self::Script(script.clone())),
            (None, false) => Some(Self::Program(args.command.clone())),
            (None, true) => None,
        }
    }

    /// A program with its arguments is judged as the line that a shell would read as just these words.
    fn operation(&self, world: &World) -> Operation {
        let script = match self {
            Self::Script(script) => script.clone(),
            Self::Program(words) => quote(words),
        };
        let input = json!({ "command": script });
        call::of("Bash".to_owned(), Action::Command { script }, input, &world.cwd)
    }

    /// Runs what was permitted, and tells how it ended.
    fn run(&self, permit: Permit, start: &Start<'_>) -> Exit {
        let why = match permit.decision().effect {
            Effect::Allow => visible(&permit.decision().reason, Lines::One),
            Effect::Ask | Effect::Deny => "you said yes".to_owned(),
        };
        let decision = permit.decision().clone();
        if !permit.redeem(digest(start.operation)) {
            report::failure(&"the permit is for another operation");
            return Exit::RunFailed;
        }
        let how = match start.held {
            Some(_) => "it runs confined",
            None => "it runs not confined, with all your rights",
        };
        report::say(&format!("openoxide: {why}; {how}"));
        let lost = start.held.as_ref().and_then(|_| confined::lost(&decision, start.roots()));
        lost.iter().for_each(report::note);
        if start.held.as_ref().is_some_and(|held| held.network == Network::On) {
            report::note(&HOST_NETWORK);
        }
        let (status, stage) = match self.attempts(start, decision) {
            Ok(ended) => ended,
            Err(exit) => return exit,
        };
        let ended = self.ended(status);
        stage.and_then(|stage| staged::settle(&stage, &start.hosts)).unwrap_or(ended)
    }

    /// Runs it, and again as long as a person says yes to what it lacks. Each attempt is written down.
    fn attempts(
        &self,
        start: &Start<'_>,
        decision: Decision,
    ) -> Result<(io::Result<ExitStatus>, Option<Stage>), Exit> {
        let mut retries = Retries::new(&start.hosts, start.operation, decision);
        let mut next = Try { held: start.held.clone(), number: start.number };
        loop {
            let began = Instant::now();
            let audit = start.hosts.audit;
            let Try { held: Some(held), number } = next else {
                let status = self.command(start.operation).status();
                audit.ended(next.number, &status, began.elapsed(), None);
                return Ok((status, None));
            };
            let (report, stage) = self.confined(&held, start)?;
            let status = confined::status(report.end);
            audit.ended(number, &status, began.elapsed(), Some(confined::held(&report)));
            put_back::offer(&start.hosts, &start.operation.cwd, &report.found);
            match retries.after(&report, &held) {
                Some(again) => next = again,
                None => return Ok((status, stage)),
            }
        }
    }

    fn ended(&self, status: io::Result<ExitStatus>) -> Exit {
        let words = self.argv();
        let program = words.first().map_or("", String::as_str);
        match status {
            Ok(status) => passed_on(status),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                report::failure(&format!("`{program}` was not found"));
                Exit::NotFound
            }
            Err(error) => {
                report::failure(&format!("`{program}` did not start: {error}"));
                Exit::RunFailed
            }
        }
    }

    /// Runs it under the sandbox, and tells a person what was refused.
    fn confined(
        &self,
        held: &Confined,
        start: &Start<'_>,
    ) -> Result<(Report, Option<Stage>), Exit> {
        let argv = self.argv().into_iter().map(Into::into).collect();
        let run = confined::Run {
            argv,
            cwd: &start.operation.cwd,
            profile: held.clone(),
            changeable: start.changeable.clone(),
            stage: start.hosts.args.stage,
            shown: start.shown.clone(),
            environment: start.environment.clone(),
            limits: confined::limits(&start.hosts.world.loaded.sandbox),
            live: start.hosts.args.live,
        };
        match run.go(&mut |question, gone| start.hosts.answer(&question, held, gone)) {
            Ok((report, stage)) => {
                confined::tell(&report);
                Ok((report, stage))
            }
            Err(error) => {
                report::failure(&format!("nothing was run: {error}"));
                let off = match start.hosts.world.confinement_required() {
                    Some(why) => format!("nothing runs unconfined: {why}"),
                    None => "`--sandbox off` runs it with all your rights".to_owned(),
                };
                report::note(&format!(
                    "`openoxide sandbox status` says what this machine can hold; {off}"
                ));
                Err(Exit::RunFailed)
            }
        }
    }

    /// The words that are started, by bash or as they are. Nothing in the environment makes bash run something else first.
    fn argv(&self) -> Vec<String> {
        match self {
            Self::Script(script) => {
                ["bash", "--norc", "--noprofile", "-c", script].map(str::to_owned).into()
            }
            Self::Program(words) => words.clone(),
        }
    }

    fn command(&self, operation: &Operation) -> Command {
        let words = self.argv();
        let mut command = Command::new(words.first().map_or("", String::as_str));
        command.args(words.iter().skip(1));
        command.current_dir(operation.cwd.as_str());
        command.env_clear().envs(without_steering());
        command
    }
}

/// What a permitted command is started with.
struct Start<'a> {
    operation: &'a Operation,
    /// What is held; nothing where the person wants that.
    held: Option<Confined>,
    /// Steering files that it may change, because a person or a rule has allowed it by their names.
    changeable: BTreeSet<AbsPath>,
    /// What it sees below the directories for temporary files when it is held.
    shown: BTreeSet<AbsPath>,
    /// What it is given of the environment when it is held.
    environment: Vec<(OsString, OsString)>,
    hosts: Hosts<'a>,
    /// The number of its record.
    number: Option<u64>,
}

impl Start<'_> {
    /// The directories that are the project's.
    fn roots(&self) -> &[AbsPath] {
        &self.hosts.world.roots
    }
}

/// What the record of a decision says of how it will be held.
pub(crate) const fn enforced(args: &RunArgs) -> Enforced {
    match args.sandbox {
        RunSandbox::Off => Enforced::NotConfined,
        RunSandbox::Auto | RunSandbox::ReadOnly => Enforced::Confined,
    }
}

/// A program that a signal ended has, for shells, the status 128 and its number.
fn passed_on(status: ExitStatus) -> Exit {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Exit::Program(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(Exit::RunFailed.code()))
}

pub(crate) fn options(global: Global) -> AskOptions {
    let colored = color::wanted(global.color, &std::io::stderr());
    AskOptions {
        style: if colored { Style::Ansi } else { Style::Plain },
        input: Input::for_term(std::env::var("TERM").ok().as_deref()),
        withdrawn: None,
        recall: None,
    }
}
