//! The configuration of a confined run: the program and its restrictions.

use std::{collections::BTreeSet, ffi::OsString};

use openoxide_protocol::{AbsPath, HostPort, PublishedPort, SandboxRestrictions, SocketAccess};
use serde::{Deserialize, Serialize};

/// A program to run confined. It is plain data, because a new process reads it and sets up the
/// confinement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LaunchConfig {
    /// The restrictions.
    pub profile: SandboxRestrictions,
    /// Steering files below the writable directories that the program may change, because a person
    /// has allowed them by name.
    pub changeable_paths: std::collections::BTreeSet<AbsPath>,
    /// The program and its arguments. A name without `/` is looked up in the `PATH` of
    /// `environment`.
    pub argv: Vec<OsString>,
    /// The working directory.
    pub cwd: AbsPath,
    /// The complete environment of the program. Nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// Directories that the program reads as they are and whose changes are private, such as caches
    /// of tools. A directory comes before the ones below it. The paths are resolved.
    pub private_directories: Vec<PrivateDirectory>,
    /// The directory that contains most of the private directories, such as the home directory. They
    /// share overlays. The path is resolved.
    pub private_base: Option<AbsPath>,
    /// The directory that stores changes of persistent private directories: a
    /// [`project_layer_directory`](crate::project_layer_directory). If it is `None`, or if another
    /// run uses it, the changes are in memory.
    pub layer_directory: Option<AbsPath>,
    /// Paths of the host below the directories for temporary files that the program can read. The
    /// rest of these directories is private to the run. The paths are resolved. Missing ones are
    /// ignored.
    pub visible_paths: BTreeSet<AbsPath>,
    /// Files below the directories for temporary files that do not exist, and that are copied to the
    /// host if the program has created them. Their directories exist, and the paths are resolved.
    pub saved_files: BTreeSet<AbsPath>,
    /// Files that the program can read although a directory above them is unreadable: copies of
    /// them, as they are when it starts. Only files directly in such a directory are copied.
    pub readable_copies: BTreeSet<AbsPath>,
    /// The directory that stores changes to the writable directories: the directory of a
    /// `StagingArea`. If it is `None`, the program changes them directly.
    pub staging_directory: Option<AbsPath>,
    /// True if the program has its own terminal, connected to the person's.
    pub terminal: bool,
    /// True if a reviewer can be asked about hosts that the profile does not name.
    pub has_reviewer: bool,
    /// The connections to sockets of services outside of the sandbox that are permitted without a
    /// question.
    pub granted_sockets: BTreeSet<SocketAccess>,
    /// The user's SSH agent, if programs may sign in with it. Which hosts they sign in to is
    /// decided like other connections to sockets.
    pub ssh_agent: Option<HostAgent>,
    /// True if changes of files outside of the profile are suspended, reviewed, and performed for
    /// the program. If this is not possible, no program is run.
    pub reviews_file_changes: bool,
    /// The hosts whose names may lead to private addresses. Each is one host, never a wildcard.
    pub private_hosts: BTreeSet<HostPort>,
    /// The ports inside at which programs of the host can connect to the program. There must be
    /// none if the program uses the host's network.
    pub published_ports: BTreeSet<PublishedPort>,
    /// Ports that are published in the same way when the program listens on them. If the host's port
    /// is in use then, the program runs on.
    pub published_on_listen: BTreeSet<PublishedPort>,
    /// The resource limits.
    pub limits: ResourceLimits,
    /// The directory that records what must be cleaned up after a crash (the registry). It belongs
    /// to the user.
    pub registry: AbsPath,
}

/// The SSH agent of the user, outside of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostAgent {
    /// The real path of its socket.
    pub socket: AbsPath,
    /// The files with the host keys that the user knows. Missing ones are ignored.
    pub known_hosts: Vec<AbsPath>,
}

/// A directory whose changes are private. Nothing outside of the sandbox sees them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateDirectory {
    /// The directory. If it is missing, it is created inside of the directory above it if that is
    /// private, too, and otherwise on the host until the run ends.
    pub path: AbsPath,
    /// True if the changes are stored for later runs with the same layer directory, and false if
    /// they end with the run.
    pub is_persistent: bool,
}

/// The resource limits of a confined process. A missing value means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// The wall-clock time in seconds after which all processes are killed.
    pub seconds: Option<u64>,
    /// The memory limit in bytes: for all processes together if a control group can be created, and
    /// otherwise for the address space of each process.
    pub memory: Option<u64>,
    /// The maximum number of processes at the same time.
    pub processes: Option<u64>,
}
