//! The configuration of a confined run: the program and its restrictions.

use std::{collections::BTreeSet, ffi::OsString};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use serde::{Deserialize, Serialize};

/// A program that is to run confined. It is plain data: the process that confines is started anew and reads it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LaunchConfig {
    /// The restrictions.
    pub profile: SandboxRestrictions,
    /// Steering files below the writable directories that it may change, because a person has allowed it by their names.
    pub changeable_paths: std::collections::BTreeSet<AbsPath>,
    /// The program and its arguments. A name without `/` is looked for in the `PATH` of `environment`.
    pub argv: Vec<OsString>,
    /// The working directory.
    pub cwd: AbsPath,
    /// All of its environment: nothing else passes.
    pub environment: Vec<(OsString, OsString)>,
    /// Directories that it reads as they are and writes for itself alone: caches. They are resolved.
    pub scratch_directories: Vec<AbsPath>,
    /// Paths of the host below the directories for temporary files that the program can read. The
    /// rest of these directories is private to the run. The paths are resolved. Missing ones are
    /// ignored.
    pub visible_paths: BTreeSet<AbsPath>,
    /// The directory that stores changes to the writable directories: the place of a `StagingArea`.
    /// If it is `None`, the program changes them directly.
    pub staging_directory: Option<AbsPath>,
    /// True if the program has its own terminal, connected to the person's.
    pub terminal: bool,
    /// True if a reviewer can be asked about hosts that the profile does not name.
    pub has_reviewer: bool,
    /// True if changes of files outside of the profile are suspended, reviewed, and performed for
    /// the program. If this is not possible, no program is run.
    pub reviews_file_changes: bool,
    /// The resource limits.
    pub limits: ResourceLimits,
    /// The directory that records what must be cleaned up after a crash (the registry). It belongs
    /// to the user.
    pub registry: AbsPath,
}

/// The resource limits of a confined process. A missing value means no limit.
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
