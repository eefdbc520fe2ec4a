//! The separate terminal that a program gets if a person runs it at a terminal.

use std::{ffi::CString, io, os::fd::OwnedFd};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::{
    interface::{SandboxError, SetupContext as _},
    ipc::{InitMessage, MessageSocket},
};

/// Creates a terminal for the program, and sends its outer end to the supervisor. Returns the name
/// of the inner end.
pub(crate) fn send_terminal(wire: &MessageSocket) -> Result<CString, SandboxError> {
    let made = open_pty().and_then(|(outer, name)| {
        wire.send(&InitMessage::Terminal, &[outer])?;
        Ok(name)
    });
    made.with_step(|| "making a terminal".to_owned())
}

/// Creates a pseudo-terminal in this process's `/dev/pts`. Returns the outer end, and the name of
/// the inner one.
fn open_pty() -> io::Result<(OwnedFd, CString)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let outer = openpt(flags)?;
    grantpt(&outer)?;
    unlockpt(&outer)?;
    let name = ptsname(&outer, Vec::new())?;
    Ok((outer, name))
}
