//! How a confined run went.

use openoxide_protocol::AbsPath;
use serde::{Deserialize, Serialize};

use crate::EnforcementPlan;

/// How a confined run went: what was really enforced, how it ended, what was denied and what was found afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// What was enforced.
    pub plan: EnforcementPlan,
    /// How the command ended.
    pub outcome: CommandOutcome,
    /// What the sandbox is known to have refused, in order, each once.
    pub denials: Vec<SandboxDenial>,
    /// Words of a refusal were printed that nothing held confirms.
    pub has_suspected_denial: bool,
    /// What is to be looked at by a person.
    pub findings: Vec<PostRunFinding>,
    /// The ports that programs listened on in a network of their own, where nobody outside could connect to them.
    pub listening_ports: Vec<u16>,
    /// What went wrong after the program was started: then this report is incomplete, and the program has ended.
    pub run_error: Option<String>,
    /// What of the limits was not enforced here, and why.
    pub unenforced_limits: Option<String>,
}

/// What is known of why a command failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureCause {
    /// The sandbox refused this.
    Confirmed(SandboxDenial),
    /// The words of a refusal were printed, and nothing held agrees with them.
    Suspected,
    /// Nothing speaks for the sandbox.
    None,
}

impl SandboxReport {
    /// Returns what is known of why the command failed: nothing, if it did not.
    #[must_use]
    pub fn failure_cause(&self) -> FailureCause {
        match (self.outcome, self.denials.first()) {
            (CommandOutcome::Exited(0), _) => FailureCause::None,
            (_, Some(denial)) => FailureCause::Confirmed(denial.clone()),
            (_, None) if self.has_suspected_denial => FailureCause::Suspected,
            (_, None) => FailureCause::None,
        }
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandOutcome {
    /// It ended by itself with this status.
    Exited(u8),
    /// A signal ended it.
    Signalled(u8),
    /// It used up its time and was killed.
    TimedOut,
    /// The program is not there.
    NotFound,
    /// The program could not be started: the number of the error.
    NotStarted(i32),
}

/// Something that the sandbox refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "denied", rename_all = "kebab-case")]
pub enum SandboxDenial {
    /// A connection.
    Connect {
        /// The name or address.
        host: String,
        /// The port.
        port: u16,
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
    /// The socket of a service outside.
    UnixSocket {
        /// The socket's path; an abstract name begins with `@`.
        path: String,
    },
}

/// Something that a person should look at after a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "kebab-case")]
pub enum PostRunFinding {
    /// A repository inside the writable directories has a new or changed hook or configuration: the next `git` of the
    /// host would run it.
    RepositoryHook {
        /// The file.
        path: AbsPath,
        /// Where it was put, so that nobody runs it before a person has looked at it.
        quarantined: Option<AbsPath>,
    },
    /// A new file that a program of the host executes or obeys by itself: settings of an agent or an editor, configuration of
    /// a tool, a program that configuration names; or a directory that could not be searched for such files.
    SteeringFile {
        /// The file.
        path: AbsPath,
        /// Where it was put until a person has looked at it.
        quarantined: Option<AbsPath>,
    },
    /// A file in a writable directory that has another name outside (a hard link): who writes it, writes the other, too.
    HardLink {
        /// The file.
        path: AbsPath,
    },
    /// There were more files than were looked at.
    UnsearchedDirectory {
        /// The directory.
        path: AbsPath,
    },
    /// More of the same kind as what is named. New hooks among them were put aside like the others.
    Omitted {
        /// How many.
        count: usize,
    },
}
