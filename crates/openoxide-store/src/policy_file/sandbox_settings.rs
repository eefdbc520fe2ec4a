//! The sandbox settings of a policy file.

use std::collections::BTreeSet;

use openoxide_protocol::{AbsPath, PublishedPort, SandboxAutoAllow};
use serde::{Deserialize, Serialize};

use super::byte_size::ByteSize;

/// The sandbox settings of one policy file, or of all files merged ([`Self::merge`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxSettings {
    /// The requirement that nothing runs without a sandbox, if there is one.
    pub require: Option<SandboxRequirement>,
    /// The commands that need no approval if the sandbox confines them.
    pub auto_allow: Option<SandboxAutoAllow>,
    /// The part of the network that can be reached.
    pub network: Option<NetworkSetting>,
    /// The directories outside the project that are writable. Empty for a single file, see
    /// [`super::PolicyFile::writable`].
    pub writable: BTreeSet<AbsPath>,
    /// The paths that no confined command can read.
    pub unreadable: BTreeSet<AbsPath>,
    /// The paths that cannot be changed.
    pub protected: BTreeSet<AbsPath>,
    /// The environment variables that are passed in addition to the usual ones.
    pub environment: BTreeSet<String>,
    /// The ports that are published when a command listens on them.
    pub publish: PublishSetting,
    /// The maximum size of the previous versions that all checkpoints keep.
    pub checkpoint_size: Option<ByteSize>,
    /// The resource limits of a command.
    pub limits: SandboxLimits,
}

/// The requirement that nothing runs without a sandbox, and where it is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxRequirement {
    /// The action if no sandbox is available.
    pub action: MissingSandboxAction,
    /// The file and the line, starting at 1.
    pub location: String,
}

/// The action if no sandbox is available (`require_os_sandbox`), in ascending order of strictness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingSandboxAction {
    /// Tools that must be confined are refused. Other tools still run.
    RefuseTools,
    /// No command starts.
    FailFast,
}

impl MissingSandboxAction {
    /// Returns the name of the action in a policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RefuseTools => "refuse_tools",
            Self::FailFast => "fail_fast",
        }
    }
}

/// The part of the network that can be reached, in descending order of strictness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkSetting {
    /// No network access.
    Off,
    /// Hosts that a rule or a person allows.
    Hosts,
    /// Every host of the internet, unless an ask or deny rule matches the host. Formerly called
    /// `on`.
    #[serde(alias = "on")]
    Internet,
    /// The network of this machine, including loopback and local neighbours, unless an ask or deny
    /// rule matches the host.
    Host,
}

impl NetworkSetting {
    /// Returns the name of the setting in a policy file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Hosts => "hosts",
            Self::Internet => "internet",
            Self::Host => "host",
        }
    }
}

/// The ports that may be published on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishSetting {
    /// No port is published, not even one that a person names.
    Off,
    /// These ports are published when a command listens on them.
    Ports(BTreeSet<PublishedPort>),
}

impl Default for PublishSetting {
    fn default() -> Self {
        Self::Ports(BTreeSet::new())
    }
}

impl PublishSetting {
    /// Returns the ports, in order.
    pub fn ports(&self) -> impl Iterator<Item = PublishedPort> {
        let ports = match self {
            Self::Off => None,
            Self::Ports(ports) => Some(ports),
        };
        ports.into_iter().flatten().copied()
    }

    fn merge(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ports(one), Self::Ports(other)) => Self::Ports(&one | &other),
            _ => Self::Off,
        }
    }

    fn into_restriction(self) -> Self {
        match self {
            Self::Off => Self::Off,
            Self::Ports(_) => Self::default(),
        }
    }
}

/// The resource limits of a command. A limit that is not set does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxLimits {
    /// The maximum elapsed time, in seconds.
    pub seconds: Option<u32>,
    /// The maximum memory, in MiB.
    pub memory: Option<u32>,
    /// The maximum number of processes at the same time.
    pub processes: Option<u32>,
}

impl SandboxSettings {
    /// Merges two settings: the strictest of the restrictive settings, and all of the permissive
    /// ones. If both have the same requirement, the one of `self` is kept.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let require = match (self.require, other.require) {
            (Some(a), Some(b)) => Some(if b.action > a.action { b } else { a }),
            (a, b) => a.or(b),
        };
        Self {
            require,
            auto_allow: min_some(self.auto_allow, other.auto_allow),
            network: min_some(self.network, other.network),
            writable: &self.writable | &other.writable,
            unreadable: &self.unreadable | &other.unreadable,
            protected: &self.protected | &other.protected,
            environment: &self.environment | &other.environment,
            publish: self.publish.merge(other.publish),
            checkpoint_size: min_some(self.checkpoint_size, other.checkpoint_size),
            limits: SandboxLimits {
                seconds: min_some(self.limits.seconds, other.limits.seconds),
                memory: min_some(self.limits.memory, other.limits.memory),
                processes: min_some(self.limits.processes, other.limits.processes),
            },
        }
    }

    /// Returns only the restrictive settings.
    #[must_use]
    pub fn into_restrictions(self) -> Self {
        let network = self.network.filter(|network| *network < NetworkSetting::Internet);
        let auto_allow = self.auto_allow.filter(|setting| *setting == SandboxAutoAllow::Off);
        let (writable, environment) = (BTreeSet::new(), BTreeSet::new());
        // A smaller size would delete checkpoints.
        let checkpoint_size = None;
        let publish = self.publish.into_restriction();
        Self { auto_allow, network, writable, environment, publish, checkpoint_size, ..self }
    }

    /// Returns a description of each setting that [`Self::into_restrictions`] removes, except for
    /// directories.
    pub(crate) fn describe_loosening(&self) -> impl Iterator<Item = String> {
        let on = self.network.filter(|network| *network >= NetworkSetting::Internet);
        let network = on.map(|network| format!("sandbox network {}", network.as_str()));
        let auto = self.auto_allow.filter(|setting| *setting != SandboxAutoAllow::Off);
        let auto = auto.map(|setting| format!("sandbox auto_allow {}", setting.as_str()));
        let variable = |name: &String| format!("sandbox environment {name}");
        let size = self.checkpoint_size.map(|size| format!("sandbox checkpoint_size {size}"));
        let variables = self.environment.iter().map(variable);
        let ports = self.publish.ports().map(|port| format!("sandbox publish {port}"));
        auto.into_iter().chain(network).chain(variables).chain(ports).chain(size)
    }
}

/// Returns the smaller of two values. A missing value is ignored.
fn min_some<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    a.into_iter().chain(b).min()
}
