//! One session with one configuration of the agent.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};

use crate::{
    day::session_file::{DangerousEffect, DaySession, fill_placeholders},
    e2e::{mock_model::Call, session::Session, stage::Agent, world::World},
    http::{self, Server},
};

/// How the agent is governed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionSetup {
    /// The agent with its own permissions, which are the defaults.
    Alone,
    /// The agent with its own permissions. The person chooses "don't ask again" where it is offered.
    AloneWithRules,
    /// After `openoxide init` with this preset.
    Preset(&'static str),
}

impl SessionSetup {
    pub(super) const ALL: [Self; 5] = [
        Self::Alone,
        Self::AloneWithRules,
        Self::Preset("careful"),
        Self::Preset("balanced"),
        Self::Preset("hands-off"),
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::AloneWithRules => "alone, don't ask again",
            Self::Preset(name) => name,
        }
    }
}

/// The result of a session.
#[derive(Debug)]
pub(super) struct PlayedSession {
    pub(super) setup: SessionSetup,
    /// The number of questions.
    pub(super) questions: usize,
    /// The number of questions about dangerous calls.
    pub(super) dangerous_questions: usize,
    /// The dangerous calls that had their effect.
    pub(super) dangerous_runs: Vec<String>,
    /// The questions, as text.
    pub(super) asked: Vec<String>,
}

impl PlayedSession {
    /// Returns the numbers in one line, and the questions in one line each.
    pub(super) fn summary(&self) -> String {
        let lines = self.asked.iter().map(|asked| format!("\n    asked: {asked}"));
        let ran = self.dangerous_runs.iter().map(|ran| format!("\n    RAN: {ran}"));
        let (questions, dangerous_questions) = (self.questions, self.dangerous_questions);
        let dangerous = self.dangerous_runs.len();
        let head = format!(
            "{questions} questions ({dangerous_questions} about dangerous calls), {dangerous} dangerous calls ran"
        );
        [head].into_iter().chain(lines).chain(ran).collect()
    }
}

/// Plays a session.
///
/// # Errors
/// Returns an error if the agent does not play the session to its end.
pub(super) fn play(
    agent: &Agent,
    session: &DaySession,
    setup: SessionSetup,
) -> Result<PlayedSession, String> {
    let mut world = World::new(agent)?;
    for (path, text) in &session.files {
        world = world.file(path, text)?;
    }
    world = match setup {
        SessionSetup::Alone | SessionSetup::AloneWithRules => world.without_hook(),
        SessionSetup::Preset(name) => world.wired_with_preset(name),
    };
    let received = Arc::new(Mutex::new(String::new()));
    let server = start_server(&received)?;
    let places = [
        ("project", world.path("project").display().to_string()),
        ("home", world.path("home").display().to_string()),
        ("server", format!("http://{}", server.address())),
    ];
    let calls: Vec<_> = session
        .calls
        .iter()
        .map(|one| Call {
            tool: one.call.tool.clone(),
            input: fill_placeholders(&one.call.input, &places),
        })
        .collect();
    let dangerous: Vec<_> = session.calls.iter().map(|one| one.danger.is_some()).collect();
    let decide = |request: &Value| decide(request, &dangerous, setup);
    let (played, asked) = world.run_with_person(calls.clone(), &decide)?;
    let received = received.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let effects = session.calls.iter().zip(&calls).enumerate().filter(|(number, (one, _))| {
        one.danger.as_ref().is_some_and(|danger| {
            let text = played.outcome(*number).map(|outcome| outcome.text).unwrap_or_default();
            has_happened(danger, &played, session, &format!("{text}\n{received}"))
        })
    });
    let dangerous_runs = effects.map(|(_, (_, call))| describe(&call.input)).collect();
    let missing = (0..calls.len()).find(|number| played.outcome(*number).is_none());
    if let Some(number) = missing {
        let name = &session.name;
        return Err(played.fault(&format!("{name}: the model read no result of call {number}")));
    }
    let questions = asked.len();
    let dangerous_questions =
        asked.iter().filter(|request| is_dangerous(request, &dangerous)).count();
    let asked = asked.iter().map(describe_question).collect();
    Ok(PlayedSession { setup, questions, dangerous_questions, dangerous_runs, asked })
}

/// Starts the server that the calls contact: it serves a script, and records what it is sent.
fn start_server(received: &Arc<Mutex<String>>) -> Result<Server, String> {
    let received = Arc::clone(received);
    let server = Server::start(move |request, stream| {
        let body = String::from_utf8_lossy(&request.body);
        let mut all = received.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend([request.path.as_str(), "\n", &body, "\n"]);
        drop(all);
        http::write_text(stream, "#!/bin/sh\ntouch \"$HOME/installed-by-script\"\n")
    });
    server.map_err(|error| format!("cannot start a server: {error}"))
}

/// Returns the person's answer: dangerous calls are denied, all others are approved.
fn decide(request: &Value, dangerous: &[bool], setup: SessionSetup) -> Value {
    if is_dangerous(request, dangerous) {
        return json!({ "behavior": "deny", "message": "This is dangerous." });
    }
    let input = request.get("input").cloned().unwrap_or_default();
    let suggestions = request.get("permission_suggestions").filter(|list| list.is_array());
    match suggestions.filter(|_| setup == SessionSetup::AloneWithRules) {
        Some(rules) => {
            json!({ "behavior": "allow", "updatedInput": input, "updatedPermissions": rules })
        }
        None => json!({ "behavior": "allow", "updatedInput": input }),
    }
}

/// Returns whether a question is about a dangerous call, or about an unknown one.
fn is_dangerous(request: &Value, dangerous: &[bool]) -> bool {
    let id = request.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
    let number = id.strip_prefix("toolu_").and_then(|number| number.parse::<usize>().ok());
    number.and_then(|number| dangerous.get(number)).copied().unwrap_or(true)
}

/// Returns whether a dangerous call had its effect.
fn has_happened(
    danger: &DangerousEffect,
    played: &Session,
    session: &DaySession,
    received: &str,
) -> bool {
    let at = |path: &str| played.path(path);
    match danger {
        DangerousEffect::Reveals(text) => received.contains(text.as_str()),
        DangerousEffect::Creates(path) => is_there(&at(path)),
        DangerousEffect::Removes(path) => !is_there(&at(path)),
        DangerousEffect::Changes(path) => {
            let before = session.files.iter().find(|(name, _)| name == path);
            let after = fs::read_to_string(at(path)).ok();
            before.map(|(_, text)| text) != after.as_ref()
        }
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn describe_question(request: &Value) -> String {
    let tool = request.get("tool_name").and_then(Value::as_str).unwrap_or_default();
    let input = request.get("input").map(describe).unwrap_or_default();
    let reason = request.get("decision_reason").and_then(Value::as_str).unwrap_or_default();
    format!("{tool} {input} ({})", reason.replace('\n', " "))
}

fn describe(input: &Value) -> String {
    let first = ["command", "file_path", "url", "pattern"].iter().find_map(|key| input.get(*key));
    let text = first.and_then(Value::as_str).map_or_else(|| input.to_string(), str::to_owned);
    text.replace('\n', " ⏎ ")
}
