//! The first process inside a sandbox: it creates the mounts and the network that the program sees,
//! starts the program, and ends everything with it.
//!
//! With `bwrap`, a process next to the sandbox takes its role ([`bwrap_init`]). Only `supervisor`
//! uses this module: it starts either of them, in a process with one thread.

pub(crate) mod bwrap_init;
mod devices;
mod hidden_paths;
mod identity;
mod init_context;
mod landlock;
mod mount_operations;
mod mounts;
mod namespace_limits;
mod private_configs;
mod private_overlays;
mod private_tmpfs;
mod proc_mount;
mod program_terminal;
mod reaper;
mod remount;
mod setup;
mod staged_overlays;
mod temporary_directories;
mod worker;

pub(crate) use identity::HostIdentity;
pub(crate) use init_context::InitContext;
pub(crate) use setup::run;
pub use temporary_directories::is_temporary;
