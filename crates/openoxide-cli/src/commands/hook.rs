//! `hook`: one tool call of a real agent, in that agent's own contract.

mod client;
mod watchdog;

use std::io::{Read as _, Write as _};

use openoxide_adapters::{
    hook::{self, Call},
    tool,
};
use openoxide_engine::{HookCall, Place, facts_of, sandbox_opt_out};
use openoxide_permission::{Context, HookEvent, after_hooks};
use openoxide_store::{Environment, GrantFile, audit::Decided, load, sources};

use crate::{bounded, exit::Exit, hooks, policy::roots, record, repetition};
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
        crate::report::say(&format!("OpenOxide failed, so the call is blocked: {panic}"));
        #[expect(clippy::exit, reason = "the process would end otherwise, and the call go on")]
        std::process::exit(BLOCKED);
    }));
    let Ok(watchdog) = Watchdog::start(client, seconds) else {
        crate::report::say("OpenOxide cannot start a thread, so the call is blocked");
        return Exit::Usage;
    };
    let environment = Environment::read();
    let answer = read().map_or_else(
        |error| {
            drop(record::hook(&environment, client.name(), record::undecided(&error)));
            Some(client.undecided(&error))
        },
        |call| {
            let environment = Environment { task: call.task(), ..environment.clone() };
            decide(client, &call, &environment, &watchdog)
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

fn decide(
    client: Client,
    call: &Call,
    environment: &Environment,
    watchdog: &Watchdog,
) -> Option<String> {
    let project = match client.project(call, environment.home.as_ref()) {
        Ok(project) => project,
        Err(error) => return Some(client.undecided(&error)),
    };
    let loaded = load(&sources(environment, &project), environment);
    let action = tool::action(&call.tool, &call.input);
    if let Some(closed) = &loaded.closed {
        drop(record::hook(
            environment,
            client.name(),
            record::call(call, &action, record::closed(closed)),
        ));
        return Some(hook::closed(call.event, closed));
    }
    // The mode that the person chose in the client counts, unless it is the client's default and the policy sets one.
    let mode =
        loaded.policy.permitted(client.mode(call).or(loaded.policy.mode()).unwrap_or_default());
    let place = Place { cwd: &call.cwd, home: environment.home.as_ref() };
    let mut facts = facts_of(&action, &call.tool, place);
    facts.accesses.extend(sandbox_opt_out(&call.input));
    if let Some(besides) = client.besides(call) {
        let besides = facts_of(&besides, &call.tool, place);
        facts.accesses.extend(besides.accesses);
        facts.findings.extend(besides.findings);
    }
    if loaded.policy.watches_repetition() {
        repetition::note(call, environment, &mut facts);
    }
    let asked = HookCall {
        event: HookEvent::PreToolUse,
        session: call.session.clone(),
        call: &call.call,
        tool: &call.tool,
        input: &call.input,
        cwd: &call.cwd,
        project: &project,
        mode,
        facts: &facts,
    };
    let answers = watchdog.while_others_run(|| hooks::ask(&loaded.hooks, &asked));
    let Some(answers) = answers else { interrupted() };
    let mut roots = roots(project.clone());
    roots.extend(loaded.roots.iter().cloned());
    let doubt = loaded.doubt.as_deref();
    // The working directory follows the agent's `cd`; relative rules count from where the session began.
    let base = if call.cwd.below(&project).is_some() { &project } else { &call.cwd };
    let context = Context { mode, cwd: base, roots: &roots, doubt };
    let here = Context { cwd: &call.cwd, ..context };
    let grants = GrantFile::of(environment, &project);
    let policy = bounded::policy(&loaded, &here, &facts, Some(&grants), true);
    let decision = after_hooks(policy, &context, &facts, &answers);
    let decided = Decided { hooks: answers.clone(), ..Decided::new(&decision, mode) };
    let written = record::hook(environment, client.name(), record::call(call, &action, decided));
    // What has to be written down, and is not, is decided again as if the policy were in doubt.
    let unheld = record::unheld(&decision, &written);
    let decision = unheld.map_or(decision, |why| {
        after_hooks(policy, &Context { doubt: Some(&why), ..context }, &facts, &answers)
    });
    client.answer(call, &decision)
}

/// The client that ends its hook does not want an answer any more; whatever it makes of the end, the call must not go on.
fn interrupted() -> ! {
    crate::report::say("OpenOxide was interrupted, so the call is blocked");
    #[expect(clippy::exit, reason = "there is nothing to answer")]
    std::process::exit(BLOCKED)
}
