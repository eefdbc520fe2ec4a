//! The data that the first process inside gets from the supervisor, and the message that reports its
//! failure.

use std::io;

use crate::{
    init::identity::HostIdentity,
    interface::{LaunchConfig, SandboxError},
    ipc::{InitMessage, MessageSocket, ProgressWriter},
    protected_paths::MountPlan,
    resource_limits::ResourceShares,
};

/// The data that the init process needs.
pub(crate) struct InitContext<'a> {
    pub(crate) launch: &'a LaunchConfig,
    pub(crate) mount_plan: &'a MountPlan,
    pub(crate) identity: HostIdentity,
    pub(crate) socket: &'a MessageSocket,
    /// The writer that records the start and the end of the program.
    pub(crate) progress: &'a ProgressWriter,
    /// The run's share of the kernel objects that are counted per user.
    pub(crate) shares: &'a ResourceShares,
    /// The limit on the address space of each process, if no control group limits the memory.
    pub(crate) address_space: Option<u64>,
}

pub(crate) fn failure_message(error: SandboxError) -> InitMessage {
    let (step, error) = match error {
        SandboxError::Setup { step, error } => (step, error),
        other => (other.to_string(), io::ErrorKind::Other.into()),
    };
    InitMessage::Failed { step, error: error.raw_os_error().unwrap_or(libc::EIO) }
}
