//! The report of a confined run.

use std::net::IpAddr;

use openoxide_protocol::AbsPath;
use serde::{Deserialize, Serialize};

use crate::{backend::EnforcementPlan, interface::RefusedOperation};

/// The report of a confined run: the restrictions that were enforced, the outcome of the command,
/// the denials, and the findings after the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// The restrictions that were enforced.
    pub plan: EnforcementPlan,
    /// The outcome of the command.
    pub outcome: CommandOutcome,
    /// The confirmed denials, in order, each once.
    pub denials: Vec<SandboxDenial>,
    /// True if the program printed an error that looks like a denial and that no restriction
    /// confirms.
    pub has_suspected_denial: bool,
    /// The findings that a person should look at.
    pub findings: Vec<PostRunFinding>,
    /// The ports that programs listened on in a separate network namespace. Nothing outside of it
    /// could connect to them.
    pub listening_ports: Vec<u16>,
    /// An error after the program was started. The report is incomplete then, and the program has
    /// ended.
    pub run_error: Option<String>,
    /// The limits that were not enforced, and the reason.
    pub unenforced_limits: Option<String>,
    /// The limits that stopped a process of the run, in order.
    pub reached_limits: Vec<ReachedLimit>,
}

/// A limit that stopped a process. It is known only if a control group enforces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReachedLimit {
    /// The kernel killed a process, because all together used this number of bytes.
    Memory(u64),
    /// A process could not be created, because this number of them existed.
    Processes(u64),
}

/// The known cause of the failure of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureCause {
    /// The sandbox refused this.
    Confirmed(SandboxDenial),
    /// The program printed an error that looks like a denial, and no restriction confirms it.
    Suspected,
    /// There is no sign that the sandbox caused the failure.
    None,
}

impl SandboxReport {
    /// Returns the known cause of the failure, or `FailureCause::None` if the command succeeded.
    #[must_use]
    pub fn failure_cause(&self) -> FailureCause {
        let denial = self.denials.iter().find(|denial| denial.is_conclusive());
        match (self.outcome, denial) {
            (CommandOutcome::Exited(0), _) => FailureCause::None,
            (_, Some(denial)) => FailureCause::Confirmed(denial.clone()),
            (_, None) if self.has_suspected_denial => FailureCause::Suspected,
            (_, None) => FailureCause::None,
        }
    }
}

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandOutcome {
    /// The command exited with this status.
    Exited(u8),
    /// A signal with this number killed the command.
    Signalled(u8),
    /// The command exceeded its time limit and was killed.
    TimedOut,
    /// The program does not exist.
    NotFound,
    /// The program could not be started. The value is the error number.
    NotStarted(i32),
}

/// A denial: an action that the sandbox refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "denied", rename_all = "kebab-case")]
pub enum SandboxDenial {
    /// A connection.
    Connect {
        /// The name or address.
        host: String,
        /// The port.
        port: u16,
        /// The address that the name leads to, if the connection was refused because of it.
        address: Option<RefusedAddress>,
    },
    /// A change of a file.
    Write {
        /// The file.
        path: AbsPath,
    },
    /// Reading a file.
    Read {
        /// The file.
        path: AbsPath,
    },
    /// A connection to the socket of a service outside of the sandbox.
    UnixSocket {
        /// The socket as a rule names it: its path, or the SSH agent with a host.
        path: String,
    },
    /// A connection to a socket that no rule can allow.
    UnreachableSocket {
        /// The path of the socket. An abstract name begins with `@`.
        socket: String,
        /// The reason.
        reason: String,
    },
    /// A request that the filter of the SSH agent did not pass on. No rule can allow it.
    SshAgent {
        /// The reason.
        reason: String,
    },
    /// An operation that the system call filter refused.
    SystemCall {
        /// The operation.
        operation: RefusedOperation,
    },
}

impl SandboxDenial {
    /// Returns whether this denial may be the cause of a failure. Many programs try system calls of
    /// this kind, and work without them.
    #[must_use]
    pub const fn is_conclusive(&self) -> bool {
        !matches!(self, Self::SystemCall { .. })
    }
}

/// An address that the name of a host leads to and that names must not lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedAddress {
    /// The address.
    pub address: IpAddr,
    /// True if it belongs to another machine of a private network. A rule with the exact name of
    /// the host allows it. Otherwise only a rule about the address does.
    pub is_neighbour: bool,
}

/// Something that a person should look at after a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "kebab-case")]
pub enum PostRunFinding {
    /// The program created files that make `git` run something for a second time. It was killed
    /// with all its processes.
    RunEnded {
        /// The file that was created the second time.
        path: AbsPath,
    },
    /// A repository inside the writable directories has a new or changed hook or configuration. The
    /// next `git` command on the host would run it.
    RepositoryHook {
        /// The file.
        path: AbsPath,
        /// The path in quarantine, so that the file is not run before a person has looked at it.
        quarantined: Option<AbsPath>,
    },
    /// The program changed a hook that exists on the host. The hook is unchanged.
    ChangedHook {
        /// The hook.
        path: AbsPath,
        /// The version of the program.
        held: AbsPath,
    },
    /// Settings of a repository that can make `git` run something were changed by the program, or
    /// by another one during the run. The file is as it was before.
    GitSettings {
        /// The configuration file.
        path: AbsPath,
        /// The changed version.
        held: AbsPath,
        /// The names of these settings. They are unknown if the file is not understood.
        names: Vec<String>,
        /// The names of harmless settings that another program has changed in the meantime.
        #[serde(default)]
        conflicts: Vec<String>,
    },
    /// A new file that a program of the host executes or follows without being asked to: settings
    /// of an agent or an editor, configuration of a tool, a program that configuration names; or a
    /// directory that could not be searched for such files.
    SteeringFile {
        /// The file.
        path: AbsPath,
        /// The path in quarantine, until a person has looked at it.
        quarantined: Option<AbsPath>,
    },
    /// A file in a writable directory that has another name outside (a hard link). Writing to it
    /// also changes the other file.
    HardLink {
        /// The file.
        path: AbsPath,
    },
    /// A new temporary file whose name was permitted, and that could not be copied to the host.
    UnsavedFile {
        /// The file.
        path: AbsPath,
        /// The reason.
        reason: String,
    },
    /// A change of the configuration or the hooks of a repository that could not be staged.
    UnstagedChange {
        /// The file.
        path: AbsPath,
        /// The reason.
        reason: String,
    },
    /// A directory that could not be searched completely.
    UnsearchedDirectory {
        /// The directory.
        path: AbsPath,
    },
    /// Requests were refused without a question, because a person is asked only a limited number of
    /// questions per minute.
    TooManyQuestions {
        /// The number of refused requests.
        count: usize,
        /// The limit.
        per_minute: usize,
    },
    /// More findings of the same kind as the listed ones. New hooks among them were quarantined
    /// like the others.
    Omitted {
        /// The number of omitted findings.
        count: usize,
    },
}
