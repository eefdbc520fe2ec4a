//! The requests of a confined process that a reviewer answers while the process waits.

use std::net::IpAddr;

use openoxide_protocol::{AbsPath, PublishedPort, SocketAccess};
use serde::{Deserialize, Serialize};

/// A request of a confined process that is waiting for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuntimeRequest {
    /// A request to reach a host that the profile does not name.
    Host {
        /// The name or address of the host.
        host: String,
        /// The port.
        port: u16,
    },
    /// A request to connect to a socket of a service outside of the sandbox.
    Socket(SocketAccess),
    /// A request to reach a private address that a permitted host leads to.
    PrivateAddress {
        /// The name of the host.
        host: String,
        /// The address.
        address: IpAddr,
        /// The port.
        port: u16,
    },
    /// A request to change a file that the profile does not allow to be changed.
    Change(RequestedChange),
    /// A program listens on a port that is not published. An approval publishes it.
    PublishPort {
        /// The port.
        port: u16,
    },
    /// A port cannot be published. This requires no decision.
    PortUnavailable {
        /// The port.
        port: PublishedPort,
        /// The reason, and what would help.
        reason: String,
    },
}

/// A reviewer's answer to a waiting request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuntimeDecision {
    /// An approval of the requests that are waiting now.
    Once,
    /// An approval of the waiting requests and of all later ones in this run.
    Session,
    /// Like `Session`, and the reviewer saves it for other runs.
    Always,
    /// A rejection of the waiting requests and of all later ones in this run.
    Rejected,
    /// Like `Session`, but without a question, because a rule allows the request.
    AllowedByRule,
    /// Like `Rejected`, but without a question, because a rule denies the request.
    DeniedByRule,
}

impl RuntimeDecision {
    /// Returns whether the decision lets the request pass.
    #[must_use]
    pub const fn is_approval(self) -> bool {
        !matches!(self, Self::Rejected | Self::DeniedByRule)
    }
}

/// A change of a file that requires approval.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestedChange {
    /// The operation.
    pub operation: FileOperation,
    /// The real path of the file.
    pub path: AbsPath,
    /// The new path, if the file is renamed or gets another name, or the path that a new symbolic
    /// link leads to.
    pub target: Option<AbsPath>,
    /// The new mode, if it is set.
    pub mode: Option<u32>,
    /// The number of other names (hard links) of the changed file. They change with it.
    pub other_links: u64,
}

/// An operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileOperation {
    /// The file is opened for writing, and created if it does not exist.
    Write,
    /// A directory is made.
    MakeDirectory,
    /// A pipe with a name (a FIFO) is made.
    MakePipe,
    /// A symbolic link is made.
    MakeSymlink,
    /// The file gets another name (a hard link).
    Link,
    /// A file or an empty directory is removed.
    Remove,
    /// The file or directory is renamed. A file that had the new name is removed.
    Rename,
    /// The mode of the file or directory is set.
    SetMode,
    /// The times of the file or directory are set.
    SetTimes,
}

impl RequestedChange {
    /// Returns the path that is new after the change, or whose file changes.
    pub(crate) fn into_new_path(self) -> AbsPath {
        match self.operation {
            FileOperation::MakeSymlink => self.path,
            _ => self.target.unwrap_or(self.path),
        }
    }
}
