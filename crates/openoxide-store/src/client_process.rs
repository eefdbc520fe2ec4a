//! The process of an agent that called a hook.

use std::{iter, process};

use crate::request_store::{ProcessIdentity, read_parent_and_start};

/// The maximum number of processes between a hook and its client: shells and wrappers.
const MAX_DISTANCE: usize = 16;

/// The process of an agent that called a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientProcess {
    /// The identity of the process, on this boot of the machine.
    pub identity: String,
    /// The start time of the child of the client that is the hook or started it, in clock ticks
    /// after the boot. It does not change if the child executes another program.
    pub hook_start: u64,
}

impl ClientProcess {
    /// Returns the process with this id. Returns `None` if it is not an ancestor of the current
    /// process, or if the system does not report all values.
    #[must_use]
    pub fn from_ancestor(id: u32) -> Option<Self> {
        let parent = |process: &u32| Some(read_parent_and_start(*process)?.0);
        let processes = iter::successors(Some(process::id()), parent).take(MAX_DISTANCE);
        let stats = processes.filter_map(read_parent_and_start);
        let hook_start =
            stats.filter(|(parent, _)| *parent == id).map(|(_, start)| start).next()?;
        let identity = ProcessIdentity::of_running(id)?.to_string();
        Some(Self { identity, hook_start })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::parent_id;

    use super::*;

    #[test]
    fn only_an_ancestor_is_a_client() {
        let parent = ClientProcess::from_ancestor(parent_id()).unwrap();
        let (_, start) = read_parent_and_start(process::id()).unwrap();
        assert_eq!(parent.hook_start, start);
        assert_eq!(parent.identity, ProcessIdentity::of_running(parent_id()).unwrap().to_string());
        let mut other = process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(ClientProcess::from_ancestor(other.id()), None);
        assert_eq!(ClientProcess::from_ancestor(process::id()), None);
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
