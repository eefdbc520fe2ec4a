//! `hook`: decides one tool call of an agent, as a hook of that agent.

mod answer_watchdog;
mod client_process;
mod confined_call;
mod hook_client;
mod subagent_definitions;
mod unanswered_call;

use std::io::{Read as _, Write as _};

use openoxide_adapters::{
    agent_hook::{self, AgentHookCall, AgentHookMessage, EndedAgentCall},
    claude_code,
};
use openoxide_engine::{
    AgentCall, AgentDecision, CheckHost, Engine, EngineOptions, EngineWarning, InterruptWatch,
    InterruptedError, record_ended_call,
};
use openoxide_store::UserEnvironment;

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
use hook_client::{BLOCK_STATUS, HookClient};
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
    seconds: Option<u64>,
) -> Result<ProgramExit, HookArgsError> {
    HookClient::from_name(agent, untrusted)
        .map(|client| answer_call(client, seconds.unwrap_or_else(|| client.timeout_seconds())))
}

fn answer_call(client: HookClient, seconds: u64) -> ProgramExit {
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
    let Ok(watchdog) = AnswerWatchdog::start(unanswered.clone(), seconds) else {
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
        decide_call(client, &call, environment, &watchdog).map_err(|error| error.to_string())
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
        output.write_all(line.as_bytes()).and_then(|()| output.write_all(b"\n")).is_ok()
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

/// Decides one call in its project, and returns the line that the client reads.
fn decide_call(
    client: HookClient,
    call: &AgentHookCall,
    environment: UserEnvironment,
    watchdog: &AnswerWatchdog,
) -> Result<Option<String>, CliError> {
    let project = client.project_directory(call, environment.home.as_ref())?;
    if client == HookClient::Claude && confined_call::is_permitted_run(call, &environment) {
        return Ok(Some(claude_code::render_permitted_request()));
    }
    let engine = Engine::open(EngineOptions {
        project: Some(project),
        confines_commands: true,
        // The mode that the person chose in the client applies, unless it is the client's default
        // and the policy sets one.
        mode: client.selected_mode(call),
        ..EngineOptions::new(environment, call.cwd.clone())
    })?;
    let engine = confined_call::engine_for_call(engine, client, call);
    let agent = AgentCall {
        agent: client.name(),
        call,
        client: client_process::find_client_process(),
        extra_actions: client.extra_action(call),
        extra_accesses: client.extra_access(call).into_iter().collect(),
    };
    Ok(match engine.decide_for_agent(&agent, watchdog) {
        Ok(AgentDecision::Decided { decision, record_seq }) => {
            let decided = (decision.as_ref(), record_seq);
            match confined_call::confined_input(&engine, client, call, decided) {
                Ok(None) => client.render_answer(call, &decision),
                Ok(Some(input)) => Some(claude_code::render_confined_answer(&decision, &input)),
                Err(why) => Some(client.render_undecided(&why)),
            }
        }
        Ok(AgentDecision::LeftToAgent) => None,
        Ok(AgentDecision::PolicyUnusable(why)) => {
            Some(agent_hook::render_blocked(call.event, &why))
        }
        Err(InterruptedError) => exit_interrupted(),
    })
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
