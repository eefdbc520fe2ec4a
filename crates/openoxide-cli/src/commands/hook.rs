//! `hook`: one tool call of a real agent, in that agent's own contract.

mod client;
mod watchdog;

use std::io::{Read as _, Write as _};

use openoxide_adapters::hook::{self, Call};
use openoxide_engine::{
    AgentCall, AgentDecision, AuditLog, CheckHost, Engine, EngineOptions, InterruptWatch,
    InterruptedError, Warning,
};
use openoxide_store::Environment;

use crate::{error::CliError, exit::Exit, report, review::Signals};
use client::Client;
use watchdog::Watchdog;

/// No payload is longer: a script of ten megabytes fits several times.
const LONGEST: u64 = 64 << 20;

/// Claude Code and Codex block the call when their hook ends with this.
const BLOCKED: i32 = 2;

/// Answers one call of an agent. Whatever happens, the answer is never an allow that nobody decided: a client whose hook
/// fails goes on as if there were none.
///
/// # Errors
/// No agent has this name.
pub(crate) fn of(agent: &str, untrusted: bool, seconds: Option<u64>) -> Result<Exit, String> {
    Client::named(agent, untrusted)
        .map(|client| answered(client, seconds.unwrap_or_else(|| client.seconds())))
}

fn answered(client: Client, seconds: u64) -> Exit {
    std::panic::set_hook(Box::new(|panic| {
        report::say(&format!("OpenOxide failed, so the call is blocked: {panic}"));
        #[expect(clippy::exit, reason = "the process would end otherwise, and the call go on")]
        std::process::exit(BLOCKED);
    }));
    let Ok(watchdog) = Watchdog::start(client, seconds) else {
        report::say("OpenOxide cannot start a thread, so the call is blocked");
        return Exit::Usage;
    };
    let environment = Environment::read();
    let answer = read().map_or_else(
        |error| {
            drop(AuditLog::new(environment.clone()).record_undecided(client.name(), &error));
            Some(client.undecided(&error))
        },
        |call| {
            let environment = Environment { task: call.task(), ..environment.clone() };
            let answer = decide(client, &call, environment, &watchdog);
            answer.unwrap_or_else(|error| Some(client.undecided(&error.to_string())))
        },
    );
    watchdog.claim();
    let mut output = std::io::stdout().lock();
    let written = answer.is_none_or(|line| {
        output.write_all(line.as_bytes()).and_then(|()| output.write_all(b"\n")).is_ok()
    });
    if written && output.flush().is_ok() { Exit::Success } else { Exit::Usage }
}

fn read() -> Result<Call, String> {
    let mut bytes = Vec::with_capacity(4096);
    let read = std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("the payload cannot be read: {error}"))?;
    if bytes.len() as u64 > LONGEST {
        return Err("the payload is too long".to_owned());
    }
    hook::read(&bytes).map_err(|error| error.to_string())
}

/// Decides one call in its project, and returns the line that the client reads.
fn decide(
    client: Client,
    call: &Call,
    environment: Environment,
    watchdog: &Watchdog,
) -> Result<Option<String>, CliError> {
    let project = client.project(call, environment.home.as_ref())?;
    let engine = Engine::open(EngineOptions {
        project: Some(project),
        // The mode that the person chose in the client counts, unless it is the client's default and the policy sets one.
        mode: client.mode(call),
        ..EngineOptions::new(environment, call.cwd.clone())
    })?;
    let agent = AgentCall { agent: client.name(), call, also: client.besides(call) };
    Ok(match engine.decide_for_agent(&agent, watchdog) {
        Ok(AgentDecision::Decided(decision)) => client.answer(call, &decision),
        Ok(AgentDecision::PolicyUnusable(why)) => Some(hook::closed(call.event, &why)),
        Err(InterruptedError) => interrupted(),
    })
}

impl CheckHost for Watchdog {
    fn warn(&self, warning: Warning) {
        report::warning(&warning);
    }

    fn hooks_started(&self) {
        self.wait_for_others();
    }

    fn hooks_ended(&self) {
        self.resume();
    }

    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_> {
        Box::new(Signals::listen())
    }
}

/// The client that ends its hook does not want an answer any more; whatever it makes of the end, the call must not go on.
fn interrupted() -> ! {
    report::say("OpenOxide was interrupted, so the call is blocked");
    #[expect(clippy::exit, reason = "empty input: no hook event")]
    std::process::exit(BLOCKED)
}
