//! Start of a confined program by `run` and `sandbox run`.

use std::{collections::BTreeSet, ffi::OsString};

use openoxide_protocol::PublishedPort;
use thiserror::Error;

/// The arguments with which this program starts itself as a supervisor.
pub(crate) const SUPERVISOR_ARGS: [&str; 2] = ["sandbox", "supervise"];

/// The note about the risks of the host's network.
pub(crate) const HOST_NETWORK_NOTE: &str = "the program shares this machine's network: loopback services, the local network, \
                 cloud metadata and every protocol are reachable";

/// Returns the environment with the variables that the arguments add.
pub(crate) fn with_added_variables(
    mut environment: Vec<(OsString, OsString)>,
    added: &[String],
) -> Vec<(OsString, OsString)> {
    for one in added {
        let (name, value) = match one.split_once('=') {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (one.as_str(), std::env::var_os(one)),
        };
        environment.retain(|(known, _)| known != name);
        environment.extend(value.map(|value| (OsString::from(name), value)));
    }
    environment
}

/// An error for two ports that would be published at the same port of this machine.
#[derive(Debug, Error)]
#[error("`--publish` names port {0} of this machine twice")]
pub(crate) struct PublishedTwiceError(u16);

/// Returns the ports to publish, without repetitions.
///
/// # Errors
/// Returns an error if two of them would be published at the same port of this machine.
pub(crate) fn published_ports(
    named: &[PublishedPort],
) -> Result<BTreeSet<PublishedPort>, PublishedTwiceError> {
    let (ports, mut taken) = (named.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::new());
    match ports.iter().find(|published| !taken.insert(published.host_port())) {
        Some(twice) => Err(PublishedTwiceError(twice.host_port())),
        None => Ok(ports),
    }
}

/// Returns a note about the variables of tools that are not passed to a confined program, and what
/// would pass them.
pub(crate) fn withheld_variables_note(environment: &[(OsString, OsString)]) -> Option<String> {
    let names = openoxide_engine::withheld_variables(environment);
    let (first, all) = (names.first()?, names.join("`, `"));
    Some(format!(
        "not passed to the command, because of the value: `{all}`; pass it with `--env {first}`"
    ))
}
