//! Calls of a client with the `openoxide` hook and a valid policy.

use serde_json::json;

use super::{Verdict, bash, file_call, in_a_subagent, scenarios};
use crate::e2e::{
    stage::Agent,
    wiring::{bare, careless, recommended},
    world::World,
};

scenarios! {
    an_allowed_call_runs,
    an_allowed_call_runs_under_the_recommended_wiring,
    what_init_wires_is_asked_about_each_call,
    a_call_that_the_clients_own_rules_allow_runs_unasked_after_init,
    a_rule_of_the_client_allows_no_more_than_the_policy_permits,
    a_denied_call_does_not_run_and_the_model_reads_why,
    a_compound_command_with_one_denied_part_does_not_run_at_all,
    an_ask_does_not_run_where_nobody_can_be_asked,
    a_call_that_no_rule_names_does_not_run_where_nobody_can_be_asked,
    a_write_to_a_denied_path_is_blocked,
    an_edit_of_a_denied_path_is_blocked,
    a_read_of_a_secret_is_asked_for_and_so_not_read,
    a_removal_of_the_home_is_asked_for_whatever_the_policy_allows,
    a_denial_holds_in_bypass_mode,
    a_denial_holds_in_a_subagent,
    a_project_may_tighten_the_policy,
    a_project_that_nobody_trusted_cannot_loosen_the_policy,
}

const POLICY: &str = r#"
[permissions]
deny = ["Bash(touch denied*)", "Edit(denied/**)"]
ask = ["Bash(touch asked*)"]
allow = ["Bash(touch allowed*)", "Task(general-purpose)"]

[[permissions.rule]]
permission = "bash"
pattern = "touch forbidden*"
action = "deny"
reason = "the scenario forbids it"
"#;

/// The content of a file that must not be read or changed.
const SECRET: &str = "TOKEN=e2e-secret-value\n";

fn an_allowed_call_runs(agent: &Agent) -> Verdict {
    let session = World::new(agent)?.policy(POLICY)?.run(vec![bash("touch allowed")])?;
    session.made("allowed")
}

fn an_allowed_call_runs_under_the_recommended_wiring(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.client_permissions(recommended()).policy(POLICY)?;
    let session = world.run(vec![bash("touch allowed"), bash("touch denied")])?;
    session.made("allowed")?;
    session.left_no("denied")?;
    session.refused(1, "touch denied")
}

fn what_init_wires_is_asked_about_each_call(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.client_permissions(bare()).wired_by_init().policy(POLICY)?;
    let names = ["allowed", "denied", "unnamed"];
    let session = world.run(names.map(|name| bash(&format!("touch {name}"))).to_vec())?;
    session.made("allowed")?;
    session.left_no("denied")?;
    session.refused(1, "touch denied")?;
    session.left_no("unnamed")?;
    session.refused(2, "")
}

/// Returns a project whose script `build` creates the file `built`, with rules of the client.
fn npm_project<'a>(agent: &'a Agent, file: &str) -> Result<World<'a>, String> {
    let package = r#"{"scripts": {"build": "touch built"}}"#;
    let rules = json!({ "permissions": { "allow": ["Bash(npm run *)"] } }).to_string();
    World::new(agent)?.wired_by_init().file("project/package.json", package)?.file(file, &rules)
}

fn a_call_that_the_clients_own_rules_allow_runs_unasked_after_init(agent: &Agent) -> Verdict {
    for file in ["project/.claude/settings.json", "project/.claude/settings.local.json"] {
        let session = npm_project(agent, file)?.run(vec![bash("npm run build")])?;
        session.made("built")?;
    }
    let own = json!({ "allow": ["Bash(npm run *)"] });
    let world = npm_project(agent, "project/other.json")?.client_permissions(own);
    world.run(vec![bash("npm run build")])?.made("built")
}

/// The client alone runs all of these calls under its rules.
fn a_rule_of_the_client_allows_no_more_than_the_policy_permits(agent: &Agent) -> Verdict {
    let own = json!({ "allow": ["Bash"] });
    let world = World::new(agent)?.client_permissions(own).wired_by_init().policy(POLICY)?;
    let calls = ["touch asked", "touch denied", "echo 'touch piped' | sh", "cat ~/.ssh/id_rsa"];
    let world = world.file("home/.ssh/id_rsa", SECRET)?;
    let session = world.run(calls.map(bash).to_vec())?;
    for (step, name) in ["asked", "denied", "piped"].into_iter().enumerate() {
        session.left_no(name)?;
        session.refused(step, "")?;
    }
    session.kept_secret(3, "e2e-secret-value")
}

fn a_denied_call_does_not_run_and_the_model_reads_why(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.client_permissions(careless()).policy(POLICY)?;
    let session = world.run(vec![bash("touch denied"), bash("touch forbidden")])?;
    session.left_no("denied")?;
    session.refused(0, "touch denied")?;
    session.left_no("forbidden")?;
    session.refused(1, "the scenario forbids it")
}

fn a_compound_command_with_one_denied_part_does_not_run_at_all(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.client_permissions(careless()).policy(POLICY)?;
    let session = world.run(vec![bash("touch allowed && touch denied")])?;
    session.left_no("allowed")?;
    session.left_no("denied")?;
    session.refused(0, "touch denied")
}

fn an_ask_does_not_run_where_nobody_can_be_asked(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.client_permissions(careless()).policy(POLICY)?;
    let session = world.run(vec![bash("touch asked")])?;
    session.left_no("asked")?;
    session.refused(0, "")
}

fn a_call_that_no_rule_names_does_not_run_where_nobody_can_be_asked(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.client_permissions(bare()).policy(POLICY)?;
    let session = world.run(vec![bash("touch unnamed")])?;
    session.left_no("unnamed")?;
    session.refused(0, "")
}

fn a_write_to_a_denied_path_is_blocked(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.mode("acceptEdits").policy(POLICY)?;
    let write = file_call(&world, "Write", "denied/new", &[("content", "x")]);
    let session = world.run(vec![write])?;
    session.left_no("denied/new")?;
    session.refused(0, "denied/")
}

fn an_edit_of_a_denied_path_is_blocked(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.mode("acceptEdits").policy(POLICY)?;
    let world = world.file("project/denied/old", "before\n")?;
    // The client itself refuses an edit of a file that the model has not read.
    let read = file_call(&world, "Read", "denied/old", &[]);
    let change = [("old_string", "before"), ("new_string", "after")];
    let edit = file_call(&world, "Edit", "denied/old", &change);
    let session = world.run(vec![read, edit])?;
    session.left_unchanged("denied/old", "before\n")?;
    session.refused(1, "denied/")
}

fn a_read_of_a_secret_is_asked_for_and_so_not_read(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.policy(POLICY)?.file("project/.env", SECRET)?;
    let read = file_call(&world, "Read", ".env", &[]);
    let session = world.run(vec![read, bash("cat .env")])?;
    for step in [0, 1] {
        session.kept_secret(step, "e2e-secret-value")?;
        session.refused(step, "")?;
    }
    Ok(())
}

/// An approval by the product would also disable the client's own safety check.
fn a_removal_of_the_home_is_asked_for_whatever_the_policy_allows(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.client_permissions(recommended()).file("home/keep", "")?;
    let world = world.policy("[permissions]\nallow = [\"Bash(rm *)\"]\n")?;
    let world = world.file("project/scrap", "")?;
    let session = world.run(vec![bash("rm scrap"), bash("rm -rf ~")])?;
    session.left_no("scrap")?;
    session.made("../home/keep")?;
    // The client's own warning takes the place of the product's reason here.
    session.refused(1, "")
}

fn a_denial_holds_in_bypass_mode(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.mode("bypassPermissions").policy(POLICY)?;
    let session = world.run(vec![bash("touch denied"), bash("touch forbidden")])?;
    session.left_no("denied")?;
    session.left_no("forbidden")?;
    session.refused(1, "the scenario forbids it")
}

fn a_denial_holds_in_a_subagent(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.client_permissions(careless()).policy(POLICY)?;
    let calls = vec![bash("touch allowed"), bash("touch denied"), bash("touch forbidden")];
    let session = world.run(in_a_subagent(calls))?;
    session.made("allowed")?;
    session.left_no("denied")?;
    session.left_no("forbidden")?;
    session.refused(3, "the scenario forbids it")
}

fn a_project_may_tighten_the_policy(agent: &Agent) -> Verdict {
    let tighter = "[permissions]\ndeny = [\"Bash(touch allowed-but-here*)\"]\n";
    let world = World::new(agent)?.policy(POLICY)?;
    let world = world.file("project/.openoxide/policy.toml", tighter)?;
    let session = world.run(vec![bash("touch allowed-but-here"), bash("touch allowed")])?;
    session.left_no("allowed-but-here")?;
    session.made("allowed")
}

fn a_project_that_nobody_trusted_cannot_loosen_the_policy(agent: &Agent) -> Verdict {
    let looser = "[permissions]\nallow = [\"Bash(touch *)\"]\n";
    let world = World::new(agent)?.client_permissions(bare()).policy(POLICY)?;
    let world = world.file("project/.openoxide/policy.toml", looser)?;
    let session = world.run(vec![bash("touch unnamed"), bash("touch denied")])?;
    session.left_no("unnamed")?;
    session.left_no("denied")
}
