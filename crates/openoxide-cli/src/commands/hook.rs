//! `hook`: one tool call of a real agent, in that agent's own contract.

use std::{
    io::{Read as _, Write as _},
    path::PathBuf,
};

use openoxide_adapters::{
    claude_code::{self, Call},
    tool,
};
use openoxide_permission::{Context, HookEvent, after_hooks};
use openoxide_protocol::{AbsPath, PermissionMode};
use openoxide_session::{HookCall, Place, facts_of};
use openoxide_store::{Environment, GrantFile, audit::Decided, load, project_root, sources};

use crate::{bounded, exit::Exit, hooks, policy::roots, record, repetition};

/// No payload is longer: a script of ten megabytes fits several times.
const LONGEST: u64 = 64 << 20;

/// Claude Code blocks the call when its hook ends with this.
const BLOCKED: i32 = 2;

/// Answers a hook of the agent that is named.
pub(crate) fn of(agent: &str) -> Result<Exit, String> {
    match agent {
        "claude" => Ok(claude()),
        other => Err(format!("no agent is called `{other}` here; known is `claude`")),
    }
}

/// Answers one call of Claude Code. Whatever happens, the answer is never an allow that nobody decided: a client whose hook
/// fails goes on as if there were none.
pub(crate) fn claude() -> Exit {
    std::panic::set_hook(Box::new(|panic| {
        crate::report::say(&format!("OpenOxide failed, so the call is blocked: {panic}"));
        #[expect(clippy::exit, reason = "the process would end otherwise, and the call go on")]
        std::process::exit(BLOCKED);
    }));
    let environment = Environment::read();
    let answer = read().map_or_else(
        |error| {
            drop(record::hook(&environment, record::undecided(&error)));
            Some(claude_code::undecided(&error))
        },
        |call| decide(&call, &Environment { task: call.task(), ..environment.clone() }),
    );
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
    claude_code::read(&bytes).map_err(|error| error.to_string())
}

fn decide(call: &Call, environment: &Environment) -> Option<String> {
    let project = project(call, environment.home.as_ref());
    let loaded = load(&sources(environment, &project), environment);
    let action = tool::action(&call.tool, &call.input);
    if let Some(closed) = &loaded.closed {
        drop(record::hook(environment, record::call(call, &action, record::closed(closed))));
        return Some(claude_code::closed(call.event, closed));
    }
    // The mode that the person chose in the client counts, unless it is the client's default and the policy sets one.
    let chosen = call.mode.filter(|mode| *mode != PermissionMode::Default);
    let mode = loaded.policy.permitted(chosen.or(loaded.policy.mode()).unwrap_or_default());
    let place = Place { cwd: &call.cwd, home: environment.home.as_ref() };
    let mut facts = facts_of(&action, &call.tool, place);
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
    let Some(answers) = hooks::ask(&loaded.hooks, &asked) else { interrupted() };
    let mut roots = roots(project.clone());
    roots.extend(loaded.roots.iter().cloned());
    let doubt = loaded.doubt.as_deref();
    let context = Context { mode, cwd: &call.cwd, roots: &roots, doubt };
    let grants = GrantFile::of(environment, &project);
    let policy = bounded::policy(&loaded, &context, &facts, Some(&grants), true);
    let decision = after_hooks(policy, &context, &facts, &answers);
    let decided = Decided { hooks: answers.clone(), ..Decided::new(&decision, mode) };
    let written = record::hook(environment, record::call(call, &action, decided));
    // What has to be written down, and is not, is decided again as if the policy were in doubt.
    let unheld = record::unheld(&decision, &written);
    let decision = unheld.map_or(decision, |why| {
        after_hooks(policy, &Context { doubt: Some(&why), ..context }, &facts, &answers)
    });
    claude_code::answer(call.event, &decision)
}

/// The client that ends its hook does not want an answer any more; whatever it makes of the end, the call must not go on.
fn interrupted() -> ! {
    crate::report::say("OpenOxide was interrupted, so the call is blocked");
    #[expect(clippy::exit, reason = "there is nothing to answer")]
    std::process::exit(BLOCKED)
}

/// The client names its project; the working directory wanders.
fn project(call: &Call, home: Option<&AbsPath>) -> AbsPath {
    let named = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let named = named.and_then(|path| AbsPath::new(path.to_str()?).ok());
    named.unwrap_or_else(|| project_root(&call.cwd, home))
}
