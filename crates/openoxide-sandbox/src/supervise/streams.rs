//! The three standard streams of the program.
//!
//! Who holds an open file of the host can change its mode, its times and its attributes, whatever the mounts say: they belong
//! to the way on which a file was opened. So the program holds none: what is a file is read or written by the supervisor, and
//! the program has a pipe. A pipe, a socket or a terminal is handed on as it is.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    thread::{self, JoinHandle},
};

use rustix::{
    fs::{FileType, fstat, fstatfs},
    pipe::{PipeFlags, pipe_with},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout},
    termios::isatty,
};

/// What `f_type` of a pipe is, and of a socket (linux/magic.h).
const PIPES: u64 = 0x5049_5045;
const SOCKETS: u64 = 0x534f_434b;

/// The streams that need a pipe.
#[derive(Debug, Default)]
pub(super) struct Streams {
    input: Option<Ends>,
    output: Option<Ends>,
    error: Option<Ends>,
    /// Both lead to the same file, and keep the order in which they are written.
    joined: bool,
}

#[derive(Debug)]
struct Ends {
    read: OwnedFd,
    write: OwnedFd,
}

/// The threads that write what the program prints.
#[derive(Debug)]
pub(super) struct Relayed(Vec<JoinHandle<()>>);

impl Streams {
    /// Looks at what this process has, and makes the pipes.
    pub(super) fn make() -> io::Result<Self> {
        let joined = is_file(stdout()) && same(stdout(), stderr());
        Ok(Self {
            input: ends(stdin())?,
            output: ends(stdout())?,
            error: if joined { None } else { ends(stderr())? },
            joined,
        })
    }

    /// Puts the pipes in the place of the files, in the process that is to be confined.
    pub(super) fn enter(self) -> io::Result<()> {
        if let Some(Ends { read, .. }) = self.input {
            dup2_stdin(read)?;
        }
        if let Some(Ends { write, .. }) = self.output {
            dup2_stdout(&write)?;
            if self.joined {
                dup2_stderr(&write)?;
            }
        }
        if let Some(Ends { write, .. }) = self.error {
            dup2_stderr(write)?;
        }
        Ok(())
    }

    /// Reads and writes the files, in threads.
    pub(super) fn relay(self) -> io::Result<Relayed> {
        if let Some(Ends { write, .. }) = self.input {
            // It goes on when the program does not read to the end. Nobody waits for it.
            drop(copy(stdin().try_clone_to_owned()?, write)?);
        }
        let mut relayed = Relayed(Vec::new());
        for (ends, to) in [(self.output, stdout()), (self.error, stderr())] {
            if let Some(Ends { read, .. }) = ends {
                relayed.0.push(copy(read, to.try_clone_to_owned()?)?);
            }
        }
        Ok(relayed)
    }
}

impl Relayed {
    /// Waits until all is written that was printed. Nobody may be left who could print.
    pub(super) fn finish(self) {
        for thread in self.0 {
            // A thread that failed has said so to nobody, as a program whose output is not read any more.
            drop(thread.join());
        }
    }
}

fn copy(from: OwnedFd, to: OwnedFd) -> io::Result<JoinHandle<()>> {
    let (mut from, mut to) = (File::from(from), File::from(to));
    thread::Builder::new().spawn(move || drop(io::copy(&mut from, &mut to)))
}

fn ends(stream: BorrowedFd<'_>) -> io::Result<Option<Ends>> {
    if !is_file(stream) {
        return Ok(None);
    }
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok(Some(Ends { read, write }))
}

/// A stream that is closed is none.
fn is_file(stream: BorrowedFd<'_>) -> bool {
    let Ok(system) = fstatfs(stream) else { return false };
    let passes = u64::try_from(system.f_type).is_ok_and(|kind| kind == PIPES || kind == SOCKETS);
    !passes && !isatty(stream)
}

fn same(one: impl AsFd, other: impl AsFd) -> bool {
    let (Ok(one), Ok(other)) = (fstat(one), fstat(other)) else { return false };
    let regular = FileType::from_raw_mode(one.st_mode) == FileType::RegularFile;
    regular && (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}
