//! The files and the agent of the user that `ssh` can use in the sandbox.

use std::{
    collections::BTreeSet,
    env,
    ffi::{OsStr, OsString},
};

use openoxide_permission::decide_access;
use openoxide_protocol::{AbsPath, Access, Effect, SocketAccess};
use openoxide_sandbox::HostAgent;

use crate::{engine::Engine, sandbox_profile::canonicalize_existing};

/// The variable with the path of the agent's socket (ssh(1)).
const AGENT_VARIABLE: &str = "SSH_AUTH_SOCK";
/// The files in `~/.ssh` that contain no secret.
const READABLE_FILES: [&str; 3] = ["config", "known_hosts", "known_hosts2"];
/// The files with host keys.
const USER_KNOWN_HOSTS: [&str; 2] = ["known_hosts", "known_hosts2"];
const SYSTEM_KNOWN_HOSTS: [&str; 2] = ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"];

/// The files and the agent that `ssh` uses in the sandbox.
pub(crate) struct SshAccess {
    /// The files that can be read although `~/.ssh` is hidden.
    pub(crate) readable_files: BTreeSet<AbsPath>,
    /// The agent, if there is one and no rule denies its socket.
    pub(crate) agent: Option<HostAgent>,
}

impl SshAccess {
    pub(crate) fn new(engine: &Engine) -> Self {
        let homes = engine.environment().home_directories();
        let directories: BTreeSet<AbsPath> =
            homes.resolve_relative(".ssh").iter().filter_map(canonicalize_existing).collect();
        let files = |names: &[&str]| -> Vec<AbsPath> {
            let in_one = |directory: &AbsPath| {
                names.iter().map(|name| directory.join(name)).collect::<Vec<_>>()
            };
            directories.iter().flat_map(in_one).collect()
        };
        let readable = files(&READABLE_FILES).into_iter();
        let system = SYSTEM_KNOWN_HOSTS.iter().filter_map(|path| AbsPath::new(path).ok());
        let known_hosts = files(&USER_KNOWN_HOSTS).into_iter().chain(system).collect();
        Self {
            readable_files: readable.filter(|path| !engine.restricts_reading(path)).collect(),
            agent: agent_socket(engine).map(|socket| HostAgent { socket, known_hosts }),
        }
    }

    /// Sets the variable with the path of the agent's socket, if there is an agent.
    pub(crate) fn set_agent_variable(&self, environment: &mut Vec<(OsString, OsString)>) {
        let Some(agent) = &self.agent else { return };
        environment.retain(|(name, _)| name != OsStr::new(AGENT_VARIABLE));
        environment.push((AGENT_VARIABLE.into(), agent.socket.as_str().into()));
    }
}

fn agent_socket(engine: &Engine) -> Option<AbsPath> {
    let path = AbsPath::new(&env::var(AGENT_VARIABLE).ok()?).ok()?;
    let socket = canonicalize_existing(&path)?;
    let access = Access::Socket(SocketAccess::at_path(socket.as_str()));
    let policy = engine.loaded_policy.policy_without_limited_grants();
    let context = engine.directory_context(&engine.options.cwd, &engine.roots);
    (decide_access(policy, &context, &access).effect != Effect::Deny).then_some(socket)
}
