//! Commands that run in the sandbox instead of being asked about.

use serde_json::json;

use super::{super::stage::Agent, Verdict, World, bash, scenarios};
use crate::e2e::mock_model::Call;

scenarios! {
    a_command_of_the_project_runs_in_the_sandbox_without_a_question,
    a_sandboxed_command_has_its_own_output_and_status,
    a_sandboxed_command_leaves_the_shell_in_its_directory,
    a_sandboxed_command_in_the_background_goes_on,
    a_rule_of_the_client_applies_to_a_command_that_would_be_sandboxed,
    a_sandboxed_command_runs_although_the_client_asks_about_everything,
    a_made_up_ticket_runs_nothing,
}

const POLICY: &str = "[sandbox]\nauto_allow = \"project\"\n";

/// Returns a command that tries to create a file in the project and one in the home directory.
fn create_files(name: &str) -> Call {
    bash(&format!(
        "python3 -c \"import os; open('{name}', 'w'); open(os.path.expanduser('~/{name}'), 'w')\""
    ))
}

fn a_command_of_the_project_runs_in_the_sandbox_without_a_question(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.policy(POLICY)?;
    let session = world.run(vec![create_files("made"), bash("ls")])?;
    session.made("made")?;
    session.left_no("../home/made")?;
    session.refused(0, "Read-only file system")
}

fn a_sandboxed_command_has_its_own_output_and_status(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.policy(POLICY)?;
    let session = world.run(vec![bash("python3 -c \"print('spoken'); exit(3)\"")])?;
    session.refused(0, "Exit code 3")?;
    session.refused(0, "spoken")
}

fn a_sandboxed_command_leaves_the_shell_in_its_directory(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.policy(POLICY)?.file("project/sub/a", "")?;
    let session =
        world.run(vec![bash("cd sub && python3 -c \"open('b', 'w')\""), bash("touch here")])?;
    session.made("sub/b")?;
    session.made("sub/here")
}

fn a_sandboxed_command_in_the_background_goes_on(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.policy(POLICY)?;
    let command = "python3 -c \"import time; time.sleep(2); open('late', 'w')\"";
    let input = json!({ "command": command, "description": "wait", "run_in_background": true });
    let background = Call { tool: "Bash".into(), input };
    let wait = bash("for i in 1 2 3 4 5 6 7 8; do sleep 1; done; ls");
    let session = world.run(vec![background, wait])?;
    session.made("late")
}

fn a_rule_of_the_client_applies_to_a_command_that_would_be_sandboxed(agent: &Agent) -> Verdict {
    let own = json!({ "deny": ["Bash(python3 *)"], "allow": [], "ask": [] });
    let world = World::new(agent)?.client_permissions(own).policy(POLICY)?;
    let session = world.run(vec![create_files("made")])?;
    session.left_no("made")
}

fn a_sandboxed_command_runs_although_the_client_asks_about_everything(agent: &Agent) -> Verdict {
    let own = json!({ "deny": [], "allow": [], "ask": ["*"] });
    let world = World::new(agent)?.client_permissions(own).policy(POLICY)?;
    let session = world.run(vec![create_files("made")])?;
    session.made("made")?;
    session.left_no("../home/made")
}

/// The model writes a command like the one that the client shows.
fn a_made_up_ticket_runs_nothing(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.policy(POLICY)?;
    let program = world.openoxide().display().to_string();
    let again = format!("{program} sandbox exec --ticket 0123456789abcdef");
    let session = world.run(vec![bash(&again)])?;
    session.refused(0, "")
}
