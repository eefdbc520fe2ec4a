//! How `bwrap` is started: with what it needs, and nothing else.

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

use super::Theirs;
use crate::{
    Launch, Limits,
    backend::bubblewrap::{BWRAP, Channels, Kind, arguments, filter},
    error::{SandboxError, Step as _},
    inside::{World, worker},
    shares::Shares,
    sys,
    wire::{Message, Wire},
};

/// What `bwrap` inherits besides the standard streams.
pub(super) struct Call {
    options: OwnedFd,
    filter: OwnedFd,
    theirs: Theirs,
}

impl Call {
    /// Writes down what it is told.
    pub(super) fn new(world: &World<'_>, theirs: Theirs) -> Result<Self, SandboxError> {
        let filter = in_memory(&filter()).step(|| "making a filter of system calls".to_owned())?;
        let channels = Channels {
            filter: filter.as_raw_fd(),
            status: theirs.status.as_raw_fd(),
            begin: theirs.begin.as_raw_fd(),
        };
        let options = arguments(world.launch, world.guards, channels, Kind::of);
        let options = options.map_err(|path| SandboxError::Setup {
            step: path.to_string(),
            error: Errno::LOOP.into(),
        })?;
        let options = separated(&options).and_then(|text| in_memory(&text));
        let options = options.step(|| "telling bwrap what to hold".to_owned())?;
        Ok(Self { options, filter, theirs })
    }

    /// Becomes it; it never returns.
    pub(super) fn become_bwrap(&self, launch: &Launch, wire: &Wire, shares: &Shares) -> ! {
        let prepared = self.prepare(launch, shares);
        let error = prepared.map_or_else(|error| error, |()| self.execute(launch));
        let error = error.raw_os_error().unwrap_or(libc::EIO);
        drop(wire.send(&Message::Failed { step: format!("starting {BWRAP}"), error }, &[]));
        sys::end(1)
    }

    fn prepare(&self, launch: &Launch, shares: &Shares) -> io::Result<()> {
        // It goes to the program's directory itself, in the sandbox.
        std::env::set_current_dir(Path::new("/"))?;
        worker::limit(Limits { processes: None, ..launch.limits }, shares)?;
        sys::close_on_exec_from(3)?;
        for descriptor in [&self.options, &self.filter, &self.theirs.status, &self.theirs.begin] {
            fcntl_setfd(descriptor, FdFlags::empty())?;
        }
        sys::unblock_signals();
        Ok(())
    }

    fn execute(&self, launch: &Launch) -> io::Error {
        let mut command = Command::new(BWRAP);
        command.arg("--args").arg(self.options.as_raw_fd().to_string()).arg("--");
        command.args(&launch.argv).env_clear();
        command.exec()
    }
}

/// Each word ends in NUL, so none can hold one: what follows it would be an option.
fn separated(words: &[OsString]) -> io::Result<Vec<u8>> {
    if words.iter().any(|word| word.as_bytes().contains(&0)) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    Ok(words.iter().flat_map(|word| word.as_bytes().iter().copied().chain([0])).collect())
}

fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
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
            |words: &[&str]| separated(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(words(&["--setenv", "A", ""]).unwrap(), b"--setenv\0A\0\0");
        assert!(words(&["--setenv", "A", "b\0--bind\0/\0/"]).is_err());
    }
}
