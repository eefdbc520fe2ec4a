//! `status`: the agents, the policy, the sandbox, pending requests and today's decisions.

use openoxide_engine::{Engine, RequestQueue};
use openoxide_protocol::{SCHEMA, SandboxAutoAllow};
use openoxide_sandbox::{HostFeatures, SandboxBackend};
use openoxide_store::{
    UserEnvironment,
    audit::{Journal, MILLIS_PER_DAY, UtcTimestamp},
};
use openoxide_tui::{LineMode, escape_text};
use serde_json::{Value, json};

use crate::{
    agent_wiring::{AgentWiring, Fix, Severity, WiringResult, inspect_agents},
    args::{GlobalArgs, PolicyArgs},
    commands::{audit::DecisionCounts, config, sandbox},
    error::CliError,
    policy_args,
    program_exit::ProgramExit,
    terminal_color, user_messages,
};

/// The state of everything that `status` shows.
struct SystemStatus {
    agents: Vec<AgentWiring>,
    policy_files: Vec<config::PolicyFileState>,
    mode: &'static str,
    auto_allow: SandboxAutoAllow,
    backend: Option<SandboxBackend>,
    /// The number of pending requests, unless they cannot be read.
    pending: Option<usize>,
    /// Today's decisions, unless the journal cannot be read.
    today: Option<DecisionCounts>,
}

/// Shows the state. No agent is started.
///
/// # Errors
///
/// If the working directory is unknown.
pub(crate) fn show_status(as_json: bool, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    let engine = policy_args::open_engine(&PolicyArgs::default())?;
    let status = SystemStatus::read(&engine);
    let text = if as_json {
        format!("{}\n", status.to_json())
    } else {
        status.to_text(terminal_color::use_color(global.color, &std::io::stdout()))
    };
    Ok(user_messages::print_data(&text, ProgramExit::Success))
}

/// Returns what is known about an agent without a test call.
fn known_result(wiring: &AgentWiring) -> WiringResult {
    WiringResult::from_problems(&wiring.problems, WiringResult::Unknown)
}

impl SystemStatus {
    fn read(engine: &Engine) -> Self {
        let project = openoxide_store::find_project_root(engine.cwd(), engine.home());
        let environment = engine.environment();
        Self {
            agents: inspect_agents(None, engine),
            policy_files: config::policy_file_states(environment, &project),
            mode: engine.mode().as_str(),
            auto_allow: engine.sandbox_settings().auto_allow.unwrap_or_default(),
            backend: sandbox::available_backend(&HostFeatures::probe()),
            pending: count_pending(environment),
            today: count_today(environment),
        }
    }

    fn to_json(&self) -> Value {
        let agent = |wiring: &AgentWiring| {
            let problems: Vec<_> =
                wiring.problems.iter().map(|problem| problem.to_json()).collect();
            json!({
                "name": wiring.agent.hook_name(),
                "version": wiring.version,
                "wired": wiring.is_wired(),
                "enforced": (known_result(wiring) == WiringResult::NotEnforced).then_some(false),
                "problems": problems,
            })
        };
        let file = |file: &config::PolicyFileState| json!({ "layer": file.layer, "path": file.path.to_string_lossy(), "state": file.state });
        let today = self.today.as_ref().map(|counts| {
            json!({
                "allow": counts.allow,
                "sandboxed": counts.sandboxed,
                "ask": counts.ask,
                "deny": counts.deny,
            })
        });
        json!({
            "schema": SCHEMA,
            "agents": self.agents.iter().map(agent).collect::<Vec<_>>(),
            "policy": {
                "files": self.files_in_use().map(file).collect::<Vec<_>>(),
                "mode": self.mode,
                "auto_allow": self.auto_allow.as_str(),
            },
            "sandbox": self.backend,
            "pending": self.pending,
            "today": today,
            "next": self.next_step(),
        })
    }

    fn to_text(&self, colored: bool) -> String {
        let mut text = String::new();
        let mut row = |name: &str, value: &str| {
            let value = escape_text(value, LineMode::SingleLine);
            let name = terminal_color::paint_text(colored, "1", &format!("{name:<9}"));
            text.extend([&name, " ", &value, "\n"]);
        };
        for wiring in &self.agents {
            row("agent", &describe_agent(wiring));
        }
        if self.agents.is_empty() {
            row("agent", "none was found");
        }
        for file in self.files_in_use() {
            row("policy", &format!("{} {} {}", file.layer, file.path.display(), file.state));
        }
        if self.files_in_use().next().is_none() {
            row("policy", "no file: only the built-in rules apply");
        }
        row("mode", &format!("{}, auto_allow {}", self.mode, self.auto_allow.as_str()));
        row("sandbox", self.backend.map_or("not available", SandboxBackend::as_str));
        let unreadable = || "cannot be read".to_owned();
        let pending = self.pending.map_or_else(unreadable, |count| count.to_string());
        row("pending", &pending);
        row("today", &self.today.as_ref().map_or_else(unreadable, describe_counts));
        row("next", &self.next_step());
        text
    }

    fn files_in_use(&self) -> impl Iterator<Item = &config::PolicyFileState> {
        self.policy_files.iter().filter(|file| file.state != "missing")
    }

    /// Returns what to do next, in one line.
    fn next_step(&self) -> String {
        let broken = self.policy_files.iter().find(|file| file.state == "broken");
        let wired = self.agents.iter().filter(|wiring| wiring.is_wired());
        let failing = wired.clone().find(|wiring| known_result(wiring) != WiringResult::Unknown);
        if let Some(file) = broken {
            format!("correct {}; `openoxide rules lint` shows the lines", file.path.display())
        } else if let Some(wiring) = failing {
            describe_fix(wiring)
        } else if self.pending.is_some_and(|count| count > 0) {
            "`openoxide pending` shows the pending requests".to_owned()
        } else if wired.clone().next().is_none() {
            "`openoxide init` installs the hook into the settings of your agents".to_owned()
        } else if self.backend.is_none() {
            "`openoxide sandbox status` shows why commands cannot be confined".to_owned()
        } else {
            "`openoxide doctor` proves with test calls that the policy is enforced".to_owned()
        }
    }
}

fn describe_agent(wiring: &AgentWiring) -> String {
    let name = wiring.agent.display_name();
    let version = wiring.version.as_deref().unwrap_or("(version unknown)");
    let is_error = |severity| severity == Severity::Error;
    let errors = wiring.problems.iter().filter(|problem| is_error(problem.code.severity()));
    let first = errors.map(|problem| problem.message.as_str()).next();
    let state = match (wiring.is_wired(), first) {
        (false, _) => "hook not installed".to_owned(),
        (true, Some(error)) => format!("not enforced: {error}"),
        (true, None) => "hook installed".to_owned(),
    };
    format!("{name} {version}: {state}")
}

fn describe_fix(wiring: &AgentWiring) -> String {
    let error = wiring.problems.iter().find(|each| each.code.severity() == Severity::Error);
    match error.map(|problem| &problem.fix) {
        Some(Fix::Command(command)) => format!("`{command}`"),
        Some(Fix::Text(text)) => text.clone(),
        None => format!("`openoxide doctor {}`", wiring.agent.hook_name()),
    }
}

fn describe_counts(counts: &DecisionCounts) -> String {
    let DecisionCounts { allow, sandboxed, ask, deny, .. } = counts;
    format!("{allow} allowed ({sandboxed} of them confined), {ask} asked, {deny} denied (UTC)")
}

fn count_pending(environment: &UserEnvironment) -> Option<usize> {
    RequestQueue::open(environment.clone()).ok()?.list().ok().map(|listed| listed.len())
}

fn count_today(environment: &UserEnvironment) -> Option<DecisionCounts> {
    let midnight = UtcTimestamp(UtcTimestamp::now().day_number() * MILLIS_PER_DAY);
    DecisionCounts::from_journal(&Journal::for_user(environment).ok()?, midnight).ok()
}
