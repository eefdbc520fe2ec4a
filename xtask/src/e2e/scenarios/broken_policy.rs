//! Unreadable policies: the hook must answer, and allow nothing.
//!
//! In each scenario, the client itself would allow the call.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::Command,
};

use super::{Verdict, bash, file_call, scenarios};
use crate::{
    e2e::{stage::Agent, wiring::careless, world::World},
    steps::succeed,
};

scenarios! {
    a_policy_that_is_not_toml_lets_nothing_through,
    a_policy_with_one_unreadable_rule_loses_what_it_allows,
    a_broken_policy_lets_nothing_through_in_bypass_mode,
    a_policy_that_is_a_folder_lets_nothing_through,
    a_policy_that_may_not_be_read_lets_nothing_through,
    a_policy_that_nobody_writes_to_the_end_lets_nothing_through,
    a_policy_that_never_ends_lets_nothing_through,
    a_project_cannot_choke_the_hook_with_a_policy_that_never_ends,
}

const POLICY: &str = "config/openoxide/policy.toml";

fn a_policy_that_is_not_toml_lets_nothing_through(agent: &Agent) -> Verdict {
    let text = "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [";
    nothing_runs(World::new(agent)?.policy(text)?)
}

fn a_policy_with_one_unreadable_rule_loses_what_it_allows(agent: &Agent) -> Verdict {
    let text = "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(unclosed\"]\n";
    nothing_runs(World::new(agent)?.policy(text)?)
}

fn a_broken_policy_lets_nothing_through_in_bypass_mode(agent: &Agent) -> Verdict {
    let text = "[permissions]\ndeny = [\"Bash(touch *)\"\n";
    let world = World::new(agent)?.policy(text)?.mode("bypassPermissions");
    let session = world.run(vec![bash("touch pwned")])?;
    session.left_no("pwned")?;
    session.refused(0, "policy.toml")
}

fn a_policy_that_is_a_folder_lets_nothing_through(agent: &Agent) -> Verdict {
    let world = World::new(agent)?;
    fs::create_dir(world.path(POLICY)).map_err(|error| format!("cannot make it: {error}"))?;
    nothing_runs(world)
}

fn a_policy_that_may_not_be_read_lets_nothing_through(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.policy("[permissions]\nallow = [\"Bash(touch *)\"]\n")?;
    let path = world.path(POLICY);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000))
        .map_err(|error| format!("cannot take its permissions: {error}"))?;
    if fs::read(&path).is_ok() {
        return Err("no file is unreadable for this user: run without root's abilities".to_owned());
    }
    nothing_runs(world)
}

fn a_policy_that_nobody_writes_to_the_end_lets_nothing_through(agent: &Agent) -> Verdict {
    let world = World::new(agent)?;
    succeed(Command::new("mkfifo").arg(world.path(POLICY)))?;
    nothing_runs(world)
}

fn a_policy_that_never_ends_lets_nothing_through(agent: &Agent) -> Verdict {
    let world = World::new(agent)?;
    endless(&world.path(POLICY))?;
    nothing_runs(short_of_memory(world)?)
}

/// A repository can carry such a link.
fn a_project_cannot_choke_the_hook_with_a_policy_that_never_ends(agent: &Agent) -> Verdict {
    let world = World::new(agent)?.file("project/.openoxide/readme", "")?;
    endless(&world.path("project/.openoxide/policy.toml"))?;
    nothing_runs(short_of_memory(world)?)
}

fn endless(path: &Path) -> Result<(), String> {
    symlink("/dev/zero", path).map_err(|error| format!("cannot make the link: {error}"))
}

/// Limits the memory of the program, so that an endless read ends soon.
fn short_of_memory(world: World<'_>) -> Result<World<'_>, String> {
    let openoxide = world.openoxide().display();
    let script = format!("exec prlimit --as=1000000000 {openoxide} hook claude");
    world.hook_script(&script, 20)
}

/// Checks that two calls do not run: one that the client itself would allow, and one that the
/// product allows where no rule matches. Also checks that the product then names the broken file.
fn nothing_runs(world: World<'_>) -> Verdict {
    let world = world.file("project/note", "a note\n")?.client_permissions(careless());
    let read = file_call(&world, "Read", "note", &[]);
    let session = world.run(vec![bash("touch pwned"), read])?;
    session.left_no("pwned")?;
    session.refused(0, "OpenOxide")?;
    session.kept_secret(1, "a note")?;
    session.refused(1, "policy.toml")
}
