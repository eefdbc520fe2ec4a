//! The enforcement of a profile by a backend, clause by clause.

use openoxide_protocol::SandboxRestrictions;
use serde::{Deserialize, Serialize};

use crate::{
    HostFeatures,
    backend::{self, ClauseEnforcement},
};

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
    /// Unreadable paths cannot be read.
    Unreadable,
    /// The network is restricted as the profile demands, for TCP, UDP and all other families.
    Network,
    /// Sockets of the host's services, by path and by abstract name, are not reached.
    UnixSockets,
    /// Other processes cannot be seen, signalled, traced or shared memory with.
    Processes,
    /// Everything that was started dies with the command.
    ProcessTermination,
    /// Settings of the kernel and devices are not reached, not even by root.
    Kernel,
    /// The terminal's input cannot be written, and keys of the session's keyring are not read.
    Terminal,
}

/// The degree to which one clause is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Enforcement {
    /// The clause is enforced exactly.
    Enforced,
    /// More is forbidden than the profile demands.
    Stricter,
    /// The clause is not enforced, or only in part. A backend with such a clause is not used for
    /// the profile.
    Unenforced,
}

/// The enforcement of one profile by a backend on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnforcementPlan {
    /// The backend.
    pub backend: Backend,
    /// Each clause once, in order, with a reason where it is not simply enforced.
    pub clauses: Vec<(Clause, Enforcement, Option<String>)>,
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

impl Clause {
    /// Every clause, in order.
    pub const ALL: [Self; 11] = [
        Self::WritesOutside,
        Self::WritesInside,
        Self::Protected,
        Self::ProtectedMissing,
        Self::Unreadable,
        Self::Network,
        Self::UnixSockets,
        Self::Processes,
        Self::ProcessTermination,
        Self::Kernel,
        Self::Terminal,
    ];

    /// Returns its name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WritesOutside => "writes-outside",
            Self::WritesInside => "writes-inside",
            Self::Protected => "protected",
            Self::ProtectedMissing => "protected-missing",
            Self::Unreadable => "unreadable",
            Self::Network => "network",
            Self::UnixSockets => "unix-sockets",
            Self::Processes => "processes",
            Self::ProcessTermination => "ends",
            Self::Kernel => "kernel",
            Self::Terminal => "terminal",
        }
    }
}

impl Backend {
    /// Those of this system, the best first.
    pub const HERE: &[Self] = if cfg!(target_os = "macos") {
        &[Self::Seatbelt]
    } else {
        &[Self::Namespaces, Self::Bubblewrap, Self::Landlock]
    };

    /// Returns its name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
        }
    }
}

impl Enforcement {
    /// Returns its name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Stricter => "stricter",
            Self::Unenforced => "unenforced",
        }
    }
}

impl EnforcementPlan {
    /// Returns what a backend can hold of a profile on this machine.
    #[must_use]
    pub fn for_profile(
        backend: Backend,
        profile: &SandboxRestrictions,
        support: &HostFeatures,
    ) -> Self {
        let clause = |clause| {
            let ClauseEnforcement(held, why) =
                backend::clause_enforcement(backend, clause, profile, support);
            (clause, held, why)
        };
        Self { backend, clauses: Clause::ALL.map(clause).into() }
    }

    /// Returns the first clause that is not held, with the reason.
    #[must_use]
    pub fn first_unenforced(&self) -> Option<(Clause, &str)> {
        let gap = self.clauses.iter().find(|(_, held, _)| *held == Enforcement::Unenforced)?;
        Some((gap.0, gap.2.as_deref().unwrap_or_default()))
    }

    /// Returns whether every clause is enforced.
    #[must_use]
    pub fn is_fully_enforced(&self) -> bool {
        self.clauses.iter().all(|(_, held, _)| *held != Enforcement::Unenforced)
    }
}
