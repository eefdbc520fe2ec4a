//! The separate terminal that a program gets if a person runs it at a terminal.

use std::{
    ffi::{CStr, CString},
    io,
    os::fd::OwnedFd,
};

use rustix::{
    fs::{Mode, OFlags, open},
    process::{Signal, getpid, ioctl_tiocsctty, setpgid, setsid},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr},
    termios::{isatty, tcsetpgrp},
};

use crate::{
    interface::{SandboxError, SetupContext as _},
    ipc::{InitMessage, MessageSocket},
    sys,
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

/// Makes this process lead a new session with this terminal. The program is a job of that session,
/// as it would be a job of a shell. Keys can stop only a group of processes with a parent in the
/// same session (setpgid(2), orphaned process group). Returns the open terminal.
pub(super) fn lead_session(terminal: &CStr) -> io::Result<OwnedFd> {
    setsid()?;
    let inner = open_inner(terminal)?;
    ioctl_tiocsctty(&inner)?;
    Ok(inner)
}

/// Makes this process the foreground job of its terminal, which becomes its three standard streams.
pub(super) fn enter_foreground(terminal: &CStr) -> io::Result<()> {
    let inner = open_inner(terminal)?;
    setpgid(None, None)?;
    // A background job that changes the foreground is stopped by this signal.
    sys::block_signal(Signal::TTOU);
    tcsetpgrp(&inner, getpid())?;
    use_as_streams(&inner)
}

/// Makes the terminal the controlling terminal of this session, which this process leads, and its
/// three standard streams.
pub(crate) fn set_controlling_terminal(terminal: &CStr) -> io::Result<()> {
    let inner = open_inner(terminal)?;
    ioctl_tiocsctty(&inner)?;
    use_as_streams(&inner)
}

fn open_inner(terminal: &CStr) -> io::Result<OwnedFd> {
    Ok(open(terminal, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty())?)
}

fn use_as_streams(inner: &OwnedFd) -> io::Result<()> {
    dup2_stdin(inner)?;
    dup2_stdout(inner)?;
    if isatty(stderr()) {
        dup2_stderr(inner)?;
    }
    Ok(())
}
