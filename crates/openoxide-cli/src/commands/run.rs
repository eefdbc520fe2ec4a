//! `run`: the whole way. Decide, ask in the terminal, run.

mod again;
mod approval;
pub(crate) mod confined;
mod ends;
mod put_back;
mod retry;
mod staged;

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
use openoxide_engine::{
    CheckOptions, ConfinementRecord, Engine, ExecutionPermit, RecordOrigin, without_steering,
};
use openoxide_protocol::{AbsPath, Action, Confined, Decision, Effect, Network, Operation};
use openoxide_sandbox::{Report, Stage};
use openoxide_store::{Environment, audit::Enforced};
use openoxide_tui::{AskOptions, Input, Lines, Style, visible};
use serde_json::json;

use crate::{
    args::{Global, RunArgs, RunSandbox},
    color,
    commands::{call, sandbox::HOST_NETWORK, trust},
    error::CliError,
    exit::Exit,
    policy_args, report,
};
use approval::{Approval, Verdict};
use confined::RunContext;
use ends::{interrupted, refused, unanswerable, unanswered};
use retry::{Retries, Try};

/// Judges a command, asks about it if need be, and runs it.
pub(crate) fn run(args: &RunArgs, global: Global) -> Result<Exit, CliError> {
    let engine = open(args, global)?;
    let task = Task::of(args)?;
    if let Some(why) = refusal_beforehand(&engine, args)? {
        let operation = task.operation(&engine);
        report::recorded(engine.audit().record_refused(RecordOrigin::RUN, &operation, &why.reason));
        report::say(&format!("openoxide: {}; {NOTHING_RUN}", why.shown));
        return Ok(Exit::Refused);
    }
    let environment = confined::environment(engine.sandbox_settings(), &args.env)?;
    let mut operation = task.operation(&engine);
    operation.session = args.session.unwrap_or(operation.session);
    let (session, refusals) = (operation.session, RefCell::default());
    let context = RunContext { engine: &engine, args, global, session, refused: refusals };
    let options = CheckOptions::new(RecordOrigin::RUN, enforced(args));
    let Ok(Approval { verdict, review }) = context.approve(&operation, options, None) else {
        report::recorded(engine.audit().record_interrupted(RecordOrigin::RUN, &operation));
        return Ok(interrupted(NOTHING_RUN));
    };
    if let Some(exit) = review.as_ref().and_then(|review| unanswered(review, args, NOTHING_RUN)) {
        return Ok(exit);
    }
    match verdict {
        Verdict::Allowed(permit) => {
            let start = Start::new(&operation, &permit, environment, context)?;
            Ok(task.run(permit, &start))
        }
        Verdict::Denied(refusal) => Ok(refused(&refusal, NOTHING_RUN)),
        Verdict::Unanswerable(request) => Ok(unanswerable(&request, args, NOTHING_RUN)),
    }
}

/// Opens the engine; first, a person is asked about projects that are not trusted.
fn open(args: &RunArgs, global: Global) -> Result<Engine, CliError> {
    let mut engine = policy_args::open_for_execution(&args.policy, args.session)?;
    if trust::offer_all(engine.untrusted_projects(), &Environment::read(), global) {
        engine = policy_args::open_for_execution(&args.policy, args.session)?;
    }
    let closed = engine.managed_policy_error().is_some();
    if policy_args::sound(&engine, global).is_err() && !closed {
        report::note(&"until the policy is put right, nothing is allowed without a question");
    }
    Ok(engine)
}

/// Why nothing is run, whatever is to be run.
struct RefusalBeforehand {
    /// As it is recorded.
    reason: String,
    /// As a person reads it.
    shown: String,
}

/// Returns why nothing is run, if that is known without looking at the command.
///
/// # Errors
/// When the arguments contradict each other, or the directory does not exist.
fn refusal_beforehand(
    engine: &Engine,
    args: &RunArgs,
) -> Result<Option<RefusalBeforehand>, CliError> {
    let is_usual = args.sandbox == RunSandbox::Auto;
    if args.live && !is_usual {
        let why = "`--live` goes with `--sandbox auto` alone: it asks about what that refuses";
        return Err(why.into());
    }
    if let Some(error) = engine.managed_policy_error() {
        let (reason, shown) = (error.to_owned(), error.to_owned());
        return Ok(Some(RefusalBeforehand { reason, shown }));
    }
    if !std::path::Path::new(engine.cwd().as_str()).is_dir() {
        return Err(format!("`{}` is no directory", engine.cwd()).into());
    }
    if args.stage && !is_usual {
        let why = "`--stage` needs the sandbox as it is: nothing else could be committed";
        return Err(why.into());
    }
    let required = engine.confinement_required().filter(|_| args.sandbox == RunSandbox::Off);
    Ok(required.map(|why| {
        let reason = format!("`--sandbox off` is refused: {why}");
        let shown = visible(&reason, Lines::One);
        RefusalBeforehand { reason, shown }
    }))
}

/// What a no means.
const NOTHING_RUN: &str = "nothing was run";

/// What is to be run.
enum Task {
    Script(String),
    Program(Vec<String>),
}

impl Task {
    fn of(args: &RunArgs) -> Result<Self, CliError> {
        match (&args.script, args.command.is_empty()) {
            (Some(script), _) => Ok(Self::Script(script.clone())),
            (None, false) => Ok(Self::Program(args.command.clone())),
            (None, true) => Err("say what to run: `openoxide run -c 'SCRIPT'` or \
                                 `openoxide run -- PROG ARG…`"
                .into()),
        }
    }

    /// A program with its arguments is judged as the line that a shell would read as just these words.
    fn operation(&self, engine: &Engine) -> Operation {
        let script = match self {
            Self::Script(script) => script.clone(),
            Self::Program(words) => quote(words),
        };
        let input = json!({ "command": script });
        call::of("Bash".to_owned(), Action::Command { script }, input, engine.cwd())
    }

    /// Runs what was permitted, and tells how it ended.
    fn run(&self, permit: ExecutionPermit, start: &Start<'_>) -> Exit {
        let why = match permit.decision().effect {
            Effect::Allow => visible(&permit.decision().reason, Lines::One),
            Effect::Ask | Effect::Deny => "you said yes".to_owned(),
        };
        let decision = permit.decision().clone();
        if !permit.redeem(start.operation) {
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
        stage.and_then(|stage| staged::settle(&stage, &start.context)).unwrap_or(ended)
    }

    /// Runs it, and again as long as a person says yes to what it lacks. Each attempt is written down.
    fn attempts(
        &self,
        start: &Start<'_>,
        decision: Decision,
    ) -> Result<(io::Result<ExitStatus>, Option<Stage>), Exit> {
        let mut retries = Retries::new(&start.context, start.operation, decision);
        let mut next = Try { held: start.held.clone(), number: start.number };
        loop {
            let began = Instant::now();
            let Try { held: Some(held), number } = next else {
                let status = self.command(start.operation).status();
                let record = ConfinementRecord::default();
                start.context.record_outcome(next.number, &status, began, record);
                return Ok((status, None));
            };
            let (report, stage) = self.confined(&held, start)?;
            let status = confined::status(report.end);
            start.context.record_outcome(number, &status, began, confined::held(&report));
            put_back::offer(&start.context, &start.operation.cwd, &report.found);
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
            stage: start.context.args.stage,
            shown: start.shown.clone(),
            environment: start.environment.clone(),
            limits: confined::limits(start.context.engine.sandbox_settings()),
            live: start.context.args.live,
        };
        match run.go(&mut |question, gone| start.context.answer(&question, held, gone)) {
            Ok((report, stage)) => {
                confined::tell(&report);
                Ok((report, stage))
            }
            Err(error) => {
                report::failure(&format!("nothing was run: {error}"));
                let off = match start.context.engine.confinement_required() {
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
    context: RunContext<'a>,
    /// The number of its record.
    number: Option<u64>,
}

impl<'a> Start<'a> {
    fn new(
        operation: &'a Operation,
        permit: &ExecutionPermit,
        environment: Vec<(OsString, OsString)>,
        context: RunContext<'a>,
    ) -> Result<Self, CliError> {
        let decision = permit.decision();
        let held = confined::profile(context.engine, decision, context.args.sandbox)?;
        let shown = confined::shown(Some(decision), context.engine.home());
        let (changeable, number) = (confined::changeable(decision), permit.record());
        Ok(Self { operation, held, changeable, shown, environment, context, number })
    }

    /// The directories that are the project's.
    fn roots(&self) -> &[AbsPath] {
        self.context.engine.roots()
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
