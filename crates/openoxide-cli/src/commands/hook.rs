//! `hook`: decides one tool call of an agent, as a hook of that agent.

mod answer_watchdog;
mod client_process;
mod client_wait;
mod confined_call;
mod hook_client;
mod hook_timing;
mod subagent_definitions;
mod unanswered_call;

use std::{
    io::{Read as _, Write as _},
    time::Duration,
};

use openoxide_adapters::{
    agent_hook::{self, AgentHookCall, AgentHookMessage, EndedAgentCall},
    claude_code,
};
use openoxide_engine::{
    AgentCall, AgentDecision, CheckHost, Engine, EngineOptions, EngineWarning, InterruptWatch,
    InterruptedError, WaitOptions, record_ended_call,
};
use openoxide_protocol::escape::escape_json;
use openoxide_store::{ClientProcess, UserEnvironment};

use crate::{
    error::{
        CliError,
        hook_error::{HookArgsError, HookPayloadError},
    },
    program_exit::ProgramExit,
    signal_watch::SignalWatch,
    user_messages,
};
use answer_watchdog::AnswerWatchdog;
use client_wait::WaitingClient;
use hook_client::{BLOCK_STATUS, HookClient};
pub(crate) use hook_timing::HookTiming;
use unanswered_call::UnansweredCall;

/// The maximum size of a payload. Scripts of ten megabytes fit.
const MAX_PAYLOAD_BYTES: u64 = 64 << 20;

/// Answers one call of an agent. The answer is never an allow without a decision, because a client
/// whose hook fails continues as if there were no hook.
///
/// # Errors
///
/// If the name of the agent is unknown.
pub(crate) fn run_hook(
    agent: &str,
    untrusted: bool,
    timing: HookTiming,
) -> Result<ProgramExit, HookArgsError> {
    let client = HookClient::from_name(agent, untrusted)?;
    Ok(answer_call(client, timing))
}

fn answer_call(client: HookClient, timing: HookTiming) -> ProgramExit {
    std::panic::set_hook(Box::new(|panic| {
        user_messages::print_line(&format!("OpenOxide failed, so the call is blocked: {panic}"));
        #[expect(
            clippy::exit,
            reason = "a panic has another exit status, with which the call continues"
        )]
        std::process::exit(BLOCK_STATUS);
    }));
    let environment = UserEnvironment::from_process();
    let unanswered = UnansweredCall::new(client, environment.clone());
    let Ok(watchdog) = AnswerWatchdog::start(unanswered.clone(), timing.client_timeout(client))
    else {
        user_messages::print_line("OpenOxide cannot start a thread, so the call is blocked");
        return ProgramExit::Usage;
    };
    let message = match read_message() {
        Ok(AgentHookMessage::EndedCall(ended)) => {
            watchdog.claim_answer();
            return record_end(client, &ended, &environment);
        }
        Ok(AgentHookMessage::Call(call)) => Ok(call),
        Err(error) => Err(error.to_string()),
    };
    let answer = message.and_then(|call| {
        let call = unanswered.set_call(call);
        let environment = UserEnvironment { task: call.task_name(), ..environment };
        let caller = HookCaller { client, timing, watchdog: &watchdog };
        caller.decide_call(&call, &environment).map_err(|error| error.to_string())
    });
    let answer = answer.unwrap_or_else(|why| {
        watchdog.on_record_started();
        unanswered.record(&why);
        watchdog.on_record_ended();
        Some(client.render_undecided(&why))
    });
    watchdog.claim_answer();
    let mut output = std::io::stdout().lock();
    let written = answer.is_none_or(|line| {
        output
            .write_all(escape_json(&line).as_bytes())
            .and_then(|()| output.write_all(b"\n"))
            .is_ok()
    });
    if written && output.flush().is_ok() { ProgramExit::Success } else { ProgramExit::Usage }
}

/// Records the end of a call. The client expects no answer.
fn record_end(
    client: HookClient,
    ended: &EndedAgentCall,
    environment: &UserEnvironment,
) -> ProgramExit {
    let process = client_process::find_client_process();
    // A call without an outcome in the audit log ran as well.
    let _is_recorded = record_ended_call(environment, client.name(), ended, process.as_ref());
    ProgramExit::Success
}

fn read_message() -> Result<AgentHookMessage, HookPayloadError> {
    let mut bytes = Vec::with_capacity(4096);
    let read = std::io::stdin().lock().take(MAX_PAYLOAD_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(HookPayloadError::Unreadable)?;
    if bytes.len() as u64 > MAX_PAYLOAD_BYTES {
        return Err(HookPayloadError::TooLong);
    }
    Ok(agent_hook::parse_message(&bytes)?)
}

/// The client that waits for an answer, and its timeouts.
struct HookCaller<'a> {
    client: HookClient,
    timing: HookTiming,
    watchdog: &'a AnswerWatchdog,
}

impl HookCaller<'_> {
    /// Decides one call in its project, and returns the line that the client reads.
    fn decide_call(
        &self,
        call: &AgentHookCall,
        environment: &UserEnvironment,
    ) -> Result<Option<String>, CliError> {
        let client = self.client;
        let project = client.project_directory(call, environment.home.as_ref())?;
        if client == HookClient::Claude && confined_call::is_permitted_run(call, environment) {
            return Ok(Some(claude_code::render_permitted_request()));
        }
        let engine = Engine::open(EngineOptions {
            project: Some(project),
            confines_commands: true,
            // The mode that the person chose in the client applies, unless it is the client's
            // default and the policy sets one.
            mode: client.selected_mode(call),
            ..EngineOptions::new(environment.clone(), call.cwd.clone())
        })?;
        let engine = confined_call::engine_for_call(engine, client, call);
        let process = client_process::find_client_process();
        let wait = self.wait_limit(call, process.as_ref());
        let waiting = wait.map(|_| WaitingClient::new(client, call, process.as_ref(), environment));
        let is_gone = || waiting.as_ref().is_none_or(WaitingClient::is_gone);
        let identity = process.as_ref().map(|process| process.identity.clone());
        let agent = AgentCall {
            agent: client.name(),
            call,
            client: process,
            extra_actions: client.extra_action(call),
            extra_accesses: client.extra_access(call).into_iter().collect(),
            wait: wait.map(|limit| WaitOptions {
                requester: client.display_name(),
                client: identity.as_deref(),
                timeout: Some(limit),
                is_abandoned: Some(&is_gone),
            }),
        };
        Ok(match engine.decide_for_agent(&agent, self.watchdog) {
            Ok(decided) => self.render_decision(&engine, call, &decided),
            Err(InterruptedError) => exit_interrupted(),
        })
    }

    /// Returns how long a question about the call may wait for an answer in another terminal.
    fn wait_limit(
        &self,
        call: &AgentHookCall,
        process: Option<&ClientProcess>,
    ) -> Option<Duration> {
        let wait = Duration::from_secs(self.timing.wait?.into());
        let limit = wait.min(self.watchdog.time_for_others());
        let may_wait = client_wait::may_wait(self.client, call, process);
        (may_wait && !limit.is_zero()).then_some(limit)
    }

    fn render_decision(
        &self,
        engine: &Engine,
        call: &AgentHookCall,
        decided: &AgentDecision,
    ) -> Option<String> {
        let client = self.client;
        match decided {
            AgentDecision::Decided { decision, record_seq } => {
                match confined_call::confined_input(engine, client, call, (decision, *record_seq)) {
                    // The dialog of Claude Code shows the reason to a person.
                    Ok(None) if client == HookClient::Claude && client_wait::is_attended() => {
                        let decision = decision.as_ref().clone();
                        let shown = engine.with_rule_hint(client.name(), call, decision);
                        client.render_answer(call, &shown)
                    }
                    Ok(None) => client.render_answer(call, decision),
                    Ok(Some(input)) => Some(claude_code::render_confined_answer(decision, &input)),
                    Err(why) => Some(client.render_undecided(&why)),
                }
            }
            AgentDecision::Answered(decision) => client.render_answer(call, decision),
            AgentDecision::LeftToAgent => None,
            AgentDecision::PolicyUnusable(why) => Some(agent_hook::render_blocked(call.event, why)),
        }
    }
}

impl CheckHost for AnswerWatchdog {
    fn warn(&self, warning: EngineWarning) {
        user_messages::print_warning(&warning);
    }

    fn on_hooks_started(&self) {
        self.extend_deadline();
    }

    fn on_hooks_ended(&self) {
        self.resume_own_work();
    }

    fn on_wait_started(&self) {
        self.extend_deadline();
    }

    fn on_wait_ended(&self) {
        self.resume_own_work();
    }

    fn on_record_started(&self) {
        self.begin_record();
    }

    fn on_record_ended(&self) {
        self.end_record();
    }

    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_> {
        Box::new(SignalWatch::start())
    }
}

/// Ends the process without an answer. The agent has stopped its hook; the exit status makes it
/// block the call anyway.
fn exit_interrupted() -> ! {
    user_messages::print_line("OpenOxide was interrupted, so the call is blocked");
    #[expect(clippy::exit, reason = "empty input: no hook event")]
    std::process::exit(BLOCK_STATUS)
}
