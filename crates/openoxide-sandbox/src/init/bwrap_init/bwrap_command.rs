//! The start of `bwrap`, with only the options and descriptors that it needs.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Seek as _, Write as _},
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::{ffi::OsStrExt as _, process::CommandExt as _},
    },
    path::Path,
    process::Command,
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    io::{Errno, FdFlags, fcntl_setfd},
};

use crate::{
    backend::BWRAP,
    init::{
        bwrap_init::bwrap_arguments::{
            BwrapDescriptors, HostEntryKind, build_arguments, build_seccomp_filter,
        },
        init_context::InitContext,
        worker,
    },
    interface::{LaunchConfig, ResourceLimits, SandboxError, SetupContext as _},
    ipc::{InitMessage, MessageSocket},
    resource_limits::ResourceShares,
    sys,
};

/// The ends of the two pipes that `bwrap` has.
pub(super) struct BwrapPipes {
    pub(super) status: OwnedFd,
    pub(super) start_gate: OwnedFd,
}

/// The descriptors that `bwrap` inherits in addition to the standard streams.
pub(super) struct BwrapCommand {
    options: OwnedFd,
    filter: OwnedFd,
    pipes: BwrapPipes,
}

impl BwrapCommand {
    /// Writes the options and the seccomp filter to memory files.
    pub(super) fn new(world: &InitContext<'_>, theirs: BwrapPipes) -> Result<Self, SandboxError> {
        let filter = write_to_memfd(&build_seccomp_filter())
            .with_step(|| "compiling the system call filter".to_owned())?;
        let channels = BwrapDescriptors {
            filter: filter.as_raw_fd(),
            status: theirs.status.as_raw_fd(),
            start_gate: theirs.start_gate.as_raw_fd(),
        };
        let options =
            build_arguments(world.launch, world.mount_plan, channels, HostEntryKind::from_path);
        let options = options.map_err(|path| SandboxError::Setup {
            step: path.to_string(),
            error: Errno::LOOP.into(),
        })?;
        let options = join_with_nul(&options).and_then(|text| write_to_memfd(&text));
        let options = options.with_step(|| "writing the options for bwrap".to_owned())?;
        Ok(Self { options, filter, pipes: theirs })
    }

    /// Executes `bwrap` in this process. It returns only an error.
    pub(super) fn exec_bwrap(
        &self,
        launch: &LaunchConfig,
        wire: &MessageSocket,
        shares: &ResourceShares,
    ) -> ! {
        let prepared = self.prepare(launch, shares);
        let error = prepared.map_or_else(|error| error, |()| self.exec(launch));
        let error = error.raw_os_error().unwrap_or(libc::EIO);
        drop(wire.send(&InitMessage::Failed { step: format!("starting {BWRAP}"), error }, &[]));
        sys::exit_process(1)
    }

    fn prepare(&self, launch: &LaunchConfig, shares: &ResourceShares) -> io::Result<()> {
        // `bwrap` changes to the program's directory itself, in the sandbox.
        std::env::set_current_dir(Path::new("/"))?;
        worker::set_resource_limits(ResourceLimits { processes: None, ..launch.limits }, shares)?;
        sys::set_close_on_exec(3)?;
        for descriptor in [&self.options, &self.filter, &self.pipes.status, &self.pipes.start_gate]
        {
            fcntl_setfd(descriptor, FdFlags::empty())?;
        }
        sys::unblock_signals();
        Ok(())
    }

    fn exec(&self, launch: &LaunchConfig) -> io::Error {
        let mut command = Command::new(BWRAP);
        command.arg("--args").arg(self.options.as_raw_fd().to_string()).arg("--");
        command.args(&launch.argv).env_clear();
        command.exec()
    }
}

/// Joins words, each terminated by NUL. A word that contains NUL is an error, because the rest of
/// it would become an option.
fn join_with_nul(words: &[OsString]) -> io::Result<Vec<u8>> {
    if words.iter().any(|word| word.as_bytes().contains(&0)) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    Ok(words.iter().flat_map(|word| word.as_bytes().iter().copied().chain([0])).collect())
}

fn write_to_memfd(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("bwrap", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_can_hold_another_one() {
        let words =
            |words: &[&str]| join_with_nul(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(words(&["--setenv", "A", ""]).unwrap(), b"--setenv\0A\0\0");
        assert!(words(&["--setenv", "A", "b\0--bind\0/\0/"]).is_err());
    }
}
