//! The `[sandbox]` table of the policy as settings of the sandbox.

use std::{collections::BTreeSet, ffi::OsString};

use openoxide_engine::{is_bash_injection_variable, sandbox_env, select_env};
use openoxide_protocol::AbsPath;
use openoxide_store::{PublishSetting, SandboxSettings};

use crate::{confined_launch::with_added_variables, error::run_args_error::RunArgsError};

/// Returns the environment variables of a command: the default ones, those that the policy names,
/// and those that the person adds.
///
/// # Errors
/// If an added variable would make bash run something other than the checked command.
pub(crate) fn build_environment(
    said: &SandboxSettings,
    added: &[String],
) -> Result<Vec<(OsString, OsString)>, RunArgsError> {
    let mut usual: Vec<_> = select_env(&said.environment).collect();
    usual.extend(
        sandbox_env().filter(|(name, _)| !said.environment.contains(&*name.to_string_lossy())),
    );
    let all = with_added_variables(usual, added);
    match all.iter().find(|(name, value)| is_bash_injection_variable(name, value)) {
        Some((name, _)) => {
            Err(RunArgsError::InjectionVariable(name.to_string_lossy().into_owned()))
        }
        None => Ok(all),
    }
}

/// Returns a line about the restrictions and permissions of the table, or `None` if it has none.
pub(crate) fn render_text(said: &SandboxSettings) -> Option<String> {
    let network = said.network.map(|network| format!("network {}", network.as_str()));
    let paths = |what: &str, paths: &BTreeSet<AbsPath>| {
        format_list(what, paths.iter().map(AbsPath::as_str))
    };
    let limits = [
        ("seconds", said.limits.seconds),
        ("MiB of memory", said.limits.memory),
        ("processes", said.limits.processes),
    ];
    let limits =
        limits.into_iter().filter_map(|(what, most)| Some(format!("at most {} {what}", most?)));
    let parts = network
        .into_iter()
        .chain(paths("writable", &said.writable))
        .chain(paths("unreadable", &said.unreadable))
        .chain(paths("protected", &said.protected))
        .chain(format_list("variables", said.environment.iter().map(String::as_str)))
        .chain(publish_text(&said.publish))
        .chain(said.checkpoint_size.iter().map(|size| format!("checkpoints up to {size}")))
        .chain(limits)
        .chain(said.require.iter().map(|one| format!("never unconfined ({})", one.location)));
    let parts: Vec<_> = parts.collect();
    (!parts.is_empty()).then(|| format!("the policy's sandbox: {}", parts.join("; ")))
}

fn publish_text(setting: &PublishSetting) -> Option<String> {
    let ports: Vec<_> = setting.ports().map(|port| port.to_string()).collect();
    match setting {
        PublishSetting::Off => Some("publishes no ports".to_owned()),
        PublishSetting::Ports(_) => {
            format_list("publishes ports", ports.iter().map(String::as_str))
        }
    }
}

fn format_list<'a>(what: &str, all: impl Iterator<Item = &'a str>) -> Option<String> {
    let all: Vec<_> = all.collect();
    (!all.is_empty()).then(|| format!("{what} {}", all.join(", ")))
}
