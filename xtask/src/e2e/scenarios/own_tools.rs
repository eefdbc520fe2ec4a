//! The client's own tools, which access nothing of the user.

use serde_json::{Value, json};

use super::{super::stage::Agent, Verdict, World, bash, scenarios};
use crate::{
    e2e::mock_model::{Call, DELEGATED},
    tool_lists,
};

scenarios! {
    every_tool_of_the_client_is_in_the_recorded_list,
    harmless_tools_of_the_client_run_without_a_question,
    a_monitor_is_judged_like_a_command,
    a_skill_asks_because_its_commands_call_no_hook,
}

fn call(tool: &'static str, input: Value) -> Call {
    Call { tool: tool.into(), input }
}

fn every_tool_of_the_client_is_in_the_recorded_list(agent: &Agent) -> Verdict {
    let session = World::new(agent)?.run(vec![bash("ls")])?;
    let tools = session.tools()?;
    tool_lists::check_claude(tools.iter().map(String::as_str)).map_err(|why| session.fault(&why))
}

fn harmless_tools_of_the_client_run_without_a_question(agent: &Agent) -> Verdict {
    let delegate = json!({ "description": "d", "prompt": DELEGATED, "subagent_type": "Explore" });
    let calls = vec![
        call("ToolSearch", json!({ "query": "select:TaskCreate,TaskList,TaskUpdate" })),
        call("TaskCreate", json!({ "subject": "a", "description": "b" })),
        call("TaskUpdate", json!({ "taskId": "1", "status": "completed" })),
        call("TaskList", json!({})),
        call("ListAgents", json!({})),
        call("Agent", delegate),
    ];
    let steps = calls.len();
    let session = World::new(agent)?.run(calls)?;
    (0..steps).try_for_each(|step| match session.outcome(step) {
        Some(outcome) if !outcome.is_error => Ok(()),
        outcome => Err(session.fault(&format!("call {step} did not run: {outcome:?}"))),
    })
}

fn a_monitor_is_judged_like_a_command(agent: &Agent) -> Verdict {
    let watch = |command: &str| {
        call("Monitor", json!({ "command": command, "description": "d", "timeout_ms": 1000 }))
    };
    let load = call("ToolSearch", json!({ "query": "select:Monitor" }));
    let calls = vec![load, watch("ls"), watch("python3 -c \"open('made', 'w')\"")];
    let session = World::new(agent)?.run(calls)?;
    session.left_no("made")?;
    match session.outcome(1) {
        Some(outcome) if !outcome.is_error => session.refused(2, ""),
        outcome => Err(session.fault(&format!("`ls` was not watched: {outcome:?}"))),
    }
}

/// The client itself would start the skill without a question and print the file.
fn a_skill_asks_because_its_commands_call_no_hook(agent: &Agent) -> Verdict {
    let skill = "---\nname: reads\ndescription: d\n---\nNow: !`cat .env`\n";
    let world = World::new(agent)?
        .file("project/.claude/skills/reads/SKILL.md", skill)?
        .file("project/.env", "TOKEN=abcdef\n")?;
    let session = world.run(vec![call("Skill", json!({ "skill": "reads" }))])?;
    session.refused(0, "")?;
    session.kept_secret(0, "abcdef")
}
