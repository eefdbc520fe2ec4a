//! Approval, first attempt, denial, question, retry: the way of any tool that the sandbox may stop (seed 002 §3.1).
//!
//! What follows an attempt says [`Attempted::next`]; here is only the plumbing.

use openoxide_permission::Permit;
use openoxide_protocol::{AbsPath, Confined, Decision, PermissionMode, SandboxProfile};
use openoxide_sandbox::{Denial, Graded};
use serde_json::Value;

use crate::{
    Approvable, Attempted, Next, NotPermitted, Remedied, Remedy, Surroundings, ToolContext,
    WITHOUT_SANDBOX, asks_without_sandbox, escalation::confirmed,
};

/// What a tool prefers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    /// As the policy has it.
    #[default]
    Auto,
    /// Never without.
    Require,
    /// The first attempt is without, unless something demands a sandbox: it starts no process that one could hold.
    Forbid,
}

/// How a tool stands to the sandbox.
pub trait Sandboxable {
    /// Returns what it prefers.
    fn preference(&self) -> Preference {
        Preference::Auto
    }

    /// Says whether it is tried again when the sandbox has stopped it: running twice does no harm (`escalate_on_failure`).
    fn escalates_on_failure(&self) -> bool {
        true
    }
}

/// A tool that can run under a profile.
pub trait ToolRuntime: Approvable + Sandboxable {
    /// What it returns, also when it was stopped.
    type Output;

    /// Runs once, confined to `profile`, or without a sandbox where there is none; the permit is used up. It says with its output what is
    /// known of a failure: [`openoxide_sandbox::Report::graded`].
    fn attempt(
        &self,
        permit: Permit,
        args: &Value,
        profile: Option<&Confined>,
    ) -> impl Future<Output = (Self::Output, Graded)> + Send;
}

/// What the orchestrator has to be told: what is held, and where attempts are written down.
pub trait Holding {
    /// Returns what is held of a decision (`openoxide_permission::confine`, intersected with what else is demanded).
    fn profile(&self, decision: &Decision) -> SandboxProfile;

    /// Writes an attempt down, after it.
    fn note(&self, attempt: &Attempt<'_>);

    /// Says whether a rule denies reading something (`openoxide_permission::Ground::denies_reading`).
    fn denies_reading(&self) -> bool;

    /// Says whether somebody demands a sandbox.
    fn requires_sandbox(&self) -> bool;
}

/// One attempt, for the audit.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// Its number, from 0.
    pub number: u8,
    /// What was held.
    pub profile: Option<&'a Confined>,
    /// What is known of its failure.
    pub graded: &'a Graded,
}

/// How it came out.
#[derive(Debug)]
pub struct Orchestrated<O> {
    /// What the last attempt returned.
    pub output: O,
    /// What is known of its failure.
    pub graded: Graded,
    /// Why it was not tried again, if somebody was asked.
    pub refused: Option<NotPermitted>,
    /// How often it was tried again.
    pub retries: u8,
}

/// Brings a tool through the gate and the sandbox.
///
/// A toy runtime that writes a file, and a reviewer who lets it be written after the sandbox has refused that:
///
/// ```
/// # use std::sync::{Arc, Mutex};
/// # use openoxide_permission::{PermissionGate, Permit, PolicyStack, default_layer};
/// # use openoxide_protocol::{AbsPath, Access, ApprovalResponse, Confined, Decision, GrantScope, PermissionMode, SandboxProfile};
/// # use openoxide_sandbox::{Denial, Graded};
/// # use openoxide_engine::*;
/// # use serde_json::{Value, json};
/// struct Write;
///
/// impl Approvable for Write {
///     fn permission_name(&self) -> &str {
///         "write_report"
///     }
///
///     fn patterns(&self, _args: &Value) -> Vec<String> {
///         vec!["*".to_owned()]
///     }
/// }
///
/// impl Sandboxable for Write {}
///
/// impl ToolRuntime for Write {
///     type Output = Result<(), String>;
///
///     async fn attempt(&self, _permit: Permit, args: &Value, profile: Option<&Confined>) -> (Self::Output, Graded) {
///         let path = AbsPath::new(args["path"].as_str().unwrap_or("/")).unwrap();
///         match profile {
///             Some(held) if !held.may_write(&path) => {
///                 (Err(format!("{path}: Read-only file system")), Graded::Confirmed(Denial::Write { path }))
///             }
///             _ => (Ok(()), Graded::None),
///         }
///     }
/// }
///
/// /// What is edited with permission is writable.
/// struct Host(Mutex<Vec<Graded>>);
///
/// impl Holding for Host {
///     fn profile(&self, decision: &Decision) -> SandboxProfile {
///         let edited = decision.parts.iter().filter_map(|part| match &part.access {
///             Access::Edit(path) => Some(path.path.clone()),
///             _ => None,
///         });
///         SandboxProfile::Confined(Confined { writable: edited.collect(), ..Confined::default() })
///     }
///
///     fn note(&self, attempt: &Attempt<'_>) {
///         self.0.lock().unwrap().push(attempt.graded.clone());
///     }
/// #   fn denies_reading(&self) -> bool { false }
/// #   fn requires_sandbox(&self) -> bool { false }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let root = AbsPath::new("/work/project")?;
/// # let policy = Arc::new(PolicyStack::compile(&[default_layer()])?);
/// # let gate = PermissionGate::new(policy, PermissionMode::Default, vec![root.clone()]);
/// # let (dispatcher, handle, mut requests) = Dispatcher::new(gate);
/// # tokio::spawn(dispatcher.run());
/// # let reviewer = handle.clone();
/// # let titles = tokio::spawn(async move {
/// #     let mut titles = Vec::new();
/// #     while let Some(request) = requests.recv().await {
/// #         titles.push(request.title.clone());
/// #         let yes = ApprovalResponse::approved(GrantScope::Once);
/// #         drop(reviewer.answer(request.id, yes).await);
/// #         if titles.len() == 2 { break; }
/// #     }
/// #     titles
/// # });
/// let host = Host(Mutex::default());
/// let ctx = ToolContext::new(handle, root.clone());
/// let orchestrator = Orchestrator { context: &ctx, holding: &host, mode: PermissionMode::Default, roots: vec![root], home: None };
/// let done = orchestrator.run(&Write, &json!({ "path": "/srv/report" })).await?;
/// assert_eq!((done.output, done.retries), (Ok(()), 1));
/// # assert_eq!(titles.await?, ["write_report: *", "command failed; retry with `/srv` writable?"]);
/// assert!(matches!(host.0.lock().unwrap()[..], [Graded::Confirmed(_), Graded::None]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Orchestrator<'a, H> {
    /// The gate, as the session sees it.
    pub context: &'a ToolContext,
    /// What is held, and where attempts are written down.
    pub holding: &'a H,
    /// The mode of the session.
    pub mode: PermissionMode,
    /// The project, and what counts as it.
    pub roots: Vec<AbsPath>,
    /// The user's home.
    pub home: Option<AbsPath>,
}

/// What is asked before the next attempt.
enum Again {
    Path(AbsPath),
    Host { host: String, port: u16 },
    Without,
}

impl<H: Holding + Sync> Orchestrator<'_, H> {
    /// Runs a tool: asks for permission, runs it confined, and, when the sandbox is known to have stopped it, asks whether it may run again
    /// under a wider profile, or without a sandbox where nothing else helps. A no to that leaves what the last attempt returned.
    ///
    /// # Errors
    /// When it may not run at all; the error's text is for the model.
    pub async fn run<T: ToolRuntime>(
        &self,
        tool: &T,
        args: &Value,
    ) -> Result<Orchestrated<T::Output>, NotPermitted> {
        let mut permit = self.context.permit(tool, args).await?;
        let mut decision = permit.decision().clone();
        let mut profile = self.first(tool, &decision);
        let mut retries = 0;
        loop {
            let (output, graded) = tool.attempt(permit, args, profile.as_ref()).await;
            let attempt = Attempt { number: retries, profile: profile.as_ref(), graded: &graded };
            self.holding.note(&attempt);
            let ended = |refused, graded| Orchestrated { output, graded, refused, retries };
            let Some(again) = self.again(tool, profile.as_ref(), &graded, retries) else {
                return Ok(ended(None, graded));
            };
            permit = match self.ask(&again, tool, args).await {
                Ok(permit) => permit,
                Err(refused) => return Ok(ended(Some(refused), graded)),
            };
            decision.parts.extend(permit.decision().parts.iter().cloned());
            profile = match again {
                Again::Without => None,
                Again::Path(_) | Again::Host { .. } => self.confined(&decision),
            };
            retries += 1;
        }
    }

    /// Returns what holds the first attempt.
    fn first(&self, tool: &impl Sandboxable, decision: &Decision) -> Option<Confined> {
        let demanded = self.holding.denies_reading() || self.holding.requires_sandbox();
        let without = tool.preference() == Preference::Forbid && !demanded;
        if without { None } else { self.confined(decision) }
    }

    fn confined(&self, decision: &Decision) -> Option<Confined> {
        self.holding.profile(decision).confined().cloned()
    }

    /// Returns what to ask about, if anything.
    fn again(
        &self,
        tool: &impl Sandboxable,
        profile: Option<&Confined>,
        graded: &Graded,
        retries: u8,
    ) -> Option<Again> {
        let remedy = match (graded, profile) {
            (Graded::Confirmed(denial), Some(held)) => Some(self.remedy(denial, held)),
            _ => None,
        };
        let attempted = Attempted {
            confined: profile.is_some(),
            confirmed: confirmed(graded),
            escalates: tool.escalates_on_failure(),
            asks_without: asks_without_sandbox(self.mode),
            remedy: remedy.as_ref().map_or(Remedied::Held, Remedy::remedied),
            reads_denied: self.holding.denies_reading(),
            required: self.holding.requires_sandbox() || tool.preference() == Preference::Require,
            retries,
        };
        match (attempted.next(), remedy) {
            (Next::AskWithout, _) => Some(Again::Without),
            (Next::AskWider, Some(Remedy::Path(path))) => Some(Again::Path(path)),
            (Next::AskWider, Some(Remedy::Host { host, port })) => Some(Again::Host { host, port }),
            (Next::Return | Next::AskWider, _) => None,
        }
    }

    fn remedy(&self, denial: &Denial, held: &Confined) -> Remedy {
        let (roots, home) = (self.roots.as_slice(), self.home.as_ref());
        Remedy::of(denial, Surroundings { held, roots, home })
    }

    /// The question goes through the gate like any other: hooks, rules, a person.
    async fn ask(
        &self,
        again: &Again,
        tool: &impl Approvable,
        args: &Value,
    ) -> Result<Permit, NotPermitted> {
        let (permission, patterns) = match again {
            Again::Path(path) => ("edit", vec![path.to_string()]),
            Again::Host { host, port } => ("webfetch", vec![address(host, *port)]),
            Again::Without => (tool.permission_name(), tool.patterns(args)),
        };
        self.context.ask_again(permission, patterns, &again.title()).await
    }
}

impl Again {
    fn title(&self) -> String {
        match self {
            Self::Path(path) => with_path(path),
            Self::Host { host, port } => {
                format!("command failed; retry with `{host}:{port}` reached?")
            }
            Self::Without => WITHOUT_SANDBOX.to_owned(),
        }
    }
}

/// Returns the question about a path.
#[must_use]
pub fn with_path(path: &AbsPath) -> String {
    format!("command failed; retry with `{path}` writable?")
}

/// Returns the address of a host, as the gate reads it.
fn address(host: &str, port: u16) -> String {
    match port {
        443 => format!("https://{host}/"),
        _ => format!("https://{host}:{port}/"),
    }
}
