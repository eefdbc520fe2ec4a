//! What a backend can hold of a profile, clause by clause.

use serde::{Deserialize, Serialize};

/// One thing that a profile demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clause {
    /// Files outside the writable directories stay as they are: contents, names, modes, times, attributes.
    WritesOutside,
    /// Files in the writable directories can be made, changed, renamed and removed.
    WritesInside,
    /// Protected paths stay as they are.
    Protected,
    /// Protected paths that are missing cannot be made.
    ProtectedMissing,
    /// What must not be read is not read.
    Unreadable,
    /// The network is as the profile says, for TCP, UDP and all other families.
    Network,
    /// Sockets of the host's services, by path and by abstract name, are not reached.
    UnixSockets,
    /// Other processes cannot be seen, signalled, traced or shared memory with.
    Processes,
    /// Everything that was started dies with the command.
    Ends,
    /// Settings of the kernel and devices are not reached, not even by root.
    Kernel,
    /// The terminal's input cannot be written, and keys of the session's keyring are not read.
    Terminal,
}

/// How well one clause is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// As the profile says.
    Enforced,
    /// More is forbidden than the profile says.
    Stricter,
    /// Not at all, or not wholly. A backend with one such clause is not used for that profile.
    Unenforced,
}

/// What a backend can hold of one profile on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The backend.
    pub backend: Backend,
    /// Each clause once, in order, with a reason where it is not simply enforced.
    pub clauses: Vec<(Clause, Held, Option<String>)>,
}

/// A way to confine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// Own namespaces, Landlock and seccomp, without any other program.
    Namespaces,
    /// The `bwrap` of the system.
    Bubblewrap,
    /// Landlock and seccomp alone.
    Landlock,
    /// `sandbox-exec` of macOS.
    Seatbelt,
}

impl Plan {
    /// Says whether every clause is held.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.clauses.iter().all(|(_, held, _)| *held != Held::Unenforced)
    }
}
