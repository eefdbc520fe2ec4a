//! The clauses of a profile, and the degree to which a backend enforces one of them.

use serde::{Deserialize, Serialize};

use crate::backend::host_features::MissingFeature;

/// One restriction that a profile demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileClause {
    /// Files outside the writable directories do not change: contents, names, modes, times,
    /// attributes.
    WritesOutside,
    /// Files in the writable directories can be created, changed, renamed and removed.
    WritesInside,
    /// Protected paths do not change.
    Protected,
    /// Protected paths that are missing cannot be created.
    ProtectedMissing,
    /// Unreadable paths cannot be read.
    Unreadable,
    /// The network is restricted as the profile demands, for TCP, UDP and all other families.
    Network,
    /// Sockets of the host's services cannot be reached, by path or by abstract name.
    UnixSockets,
    /// Other processes cannot be seen, signalled or traced, and memory cannot be shared with them.
    Processes,
    /// All processes that the command started are killed when it ends.
    ProcessTermination,
    /// Kernel settings and devices cannot be accessed, not even by root.
    Kernel,
    /// The terminal's input cannot be written, and keys of the session's keyring cannot be read.
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

impl ProfileClause {
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

    /// Returns the name of the clause, as in JSON.
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

impl Enforcement {
    /// Returns the name of the enforcement, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Stricter => "stricter",
            Self::Unenforced => "unenforced",
        }
    }
}

/// The enforcement of one clause, with a reason if it needs an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClauseEnforcement(pub(crate) Enforcement, pub(crate) Option<String>);

impl ClauseEnforcement {
    pub(super) const ENFORCED: Self = Self(Enforcement::Enforced, None);

    pub(super) fn new_stricter(why: &str) -> Self {
        Self(Enforcement::Stricter, Some(why.to_owned()))
    }

    pub(super) fn new_unenforced(why: impl Into<String>) -> Self {
        Self(Enforcement::Unenforced, Some(why.into()))
    }
}

impl From<&MissingFeature> for ClauseEnforcement {
    /// Returns the clause as unenforced, with the reason why the feature is missing.
    fn from(lack: &MissingFeature) -> Self {
        Self::new_unenforced(lack.reason.as_str())
    }
}
