//! The requests of a confined process that a reviewer answers while the process waits.

use openoxide_protocol::AbsPath;
use serde::{Deserialize, Serialize};

/// A request of a confined process that is waiting for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuntimeRequest {
    /// To reach a host that the profile does not name.
    Host {
        /// Its name or address.
        host: String,
        /// The port.
        port: u16,
    },
    /// To change a file that the profile does not let it change.
    Change(RequestedChange),
}

/// A reviewer's answer to a waiting request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuntimeDecision {
    /// An approval of the requests that are waiting now.
    Once,
    /// These and all that follow in this run.
    Session,
    /// As `Session`; the reviewer keeps it for other runs.
    Always,
    /// Neither these nor any that follow in this run.
    Rejected,
    /// As `Session`, without a question: a rule allows it.
    AllowedByRule,
    /// As `Rejected`, without a question: a rule denies it.
    DeniedByRule,
}

impl RuntimeDecision {
    /// Returns whether the decision lets the request pass.
    pub(crate) const fn is_approval(self) -> bool {
        !matches!(self, Self::Rejected | Self::DeniedByRule)
    }
}

/// A change that is asked about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestedChange {
    /// The operation.
    pub operation: FileOperation,
    /// To which file: where it really is.
    pub path: AbsPath,
    /// The new path, if the file is renamed.
    pub target: Option<AbsPath>,
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
    /// The file or directory is removed.
    Remove,
    /// The file is renamed. A file that had the new name is removed.
    Rename,
}
