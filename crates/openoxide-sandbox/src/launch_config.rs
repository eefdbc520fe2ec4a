//! What is to be run, and how it is to be held.

use std::{collections::BTreeSet, ffi::OsString};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use serde::{Deserialize, Serialize};

/// A program that is to run confined. It is plain data: the process that confines is started anew and reads it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LaunchConfig {
    /// What is held.
    pub profile: SandboxRestrictions,
    /// Steering files below the writable directories that it may change, because a person has allowed it by their names.
    pub changeable_paths: std::collections::BTreeSet<AbsPath>,
    /// The program and its arguments. A name without `/` is looked for in the `PATH` of `environment`.
    pub argv: Vec<OsString>,
    /// Where it runs.
    pub cwd: AbsPath,
    /// All of its environment: nothing else passes.
    pub environment: Vec<(OsString, OsString)>,
    /// Directories that it reads as they are and writes for itself alone: caches. They are resolved.
    pub scratch_directories: Vec<AbsPath>,
    /// What it reads below the directories for temporary files, which are its own: there it sees these of the host's, and nothing else.
    /// They are resolved. What is not there is passed over.
    pub visible_paths: BTreeSet<AbsPath>,
    /// Where what it changes in the writable directories is kept instead: the place of a `Stage`. None: it changes them.
    pub staging_directory: Option<AbsPath>,
    /// Whether it has a terminal of its own, joined to the one where the person sits.
    pub terminal: bool,
    /// Whether somebody can be asked about hosts that the profile does not name.
    pub has_reviewer: bool,
    /// Whether changes of other files than the profile names are held and asked about, and done on its behalf. Where that cannot
    /// be, nothing is run.
    pub reviews_file_changes: bool,
    /// How much it may use.
    pub limits: ResourceLimits,
    /// Where what must be cleaned up after a crash is written down (the registry): a directory of the user's own.
    pub registry: AbsPath,
}

/// How much a confined process may use. What is not given is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Seconds by the clock until everything is killed.
    pub seconds: Option<u64>,
    /// Bytes of memory that all processes may have together, where a control group can be made, and of address space that each may
    /// have.
    pub memory: Option<u64>,
    /// Processes at the same time.
    pub processes: Option<u64>,
}
