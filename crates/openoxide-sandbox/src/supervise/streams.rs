//! The three standard streams of the program.
//!
//! Who holds an open file of the host can change its mode, its times and its attributes, whatever the mounts say: they belong
//! to the way on which a file was opened. So the program holds none: what is a file is read or written by the supervisor, and
//! the program has a pipe. A pipe, a socket or a terminal is handed on as it is.
//!
//! Errors go through the supervisor, which keeps the end of them, unless a terminal shows them, or they lead where output leads: who
//! reads both sees them in their order.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{FileType, fstat, fstatfs},
    pipe::{PipeFlags, pipe_with},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout},
    termios::isatty,
};

use crate::{End, tail::Tail};

/// How long is waited for who reads what a program has printed that was killed.
const PATIENCE: Duration = Duration::from_secs(1);
/// So often is looked whether that is over.
const LOOK: Duration = Duration::from_millis(10);

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
pub(super) struct Relayed {
    output: Option<JoinHandle<Tail>>,
    error: Option<JoinHandle<Tail>>,
    joined: bool,
}

impl Streams {
    /// Looks at what this process has, and makes the pipes.
    pub(super) fn make() -> io::Result<Self> {
        let joined = is_file(stdout()) && same(stdout(), stderr());
        Ok(Self {
            input: ends(stdin())?,
            output: ends(stdout())?,
            error: if joined { None } else { error_ends()? },
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
        let relay = |ends: Option<Ends>, to: BorrowedFd<'_>| {
            ends.map(|Ends { read, .. }| copy(read, to.try_clone_to_owned()?)).transpose()
        };
        let (output, error) = (relay(self.output, stdout())?, relay(self.error, stderr())?);
        Ok(Relayed { output, error, joined: self.joined })
    }
}

impl Relayed {
    /// Waits until all is written that was printed. Nobody may be left who could print. Returns the end of the errors, where they
    /// went through here.
    pub(super) fn finish(self, end: End) -> Option<Tail> {
        let patient = matches!(end, End::Exited(_));
        let output = self.output.and_then(|thread| wait(thread, patient));
        let error = self.error.and_then(|thread| wait(thread, patient));
        if self.joined { output } else { error }
    }
}

/// A thread that failed has said so to nobody, as a program whose output is not read any more.
fn wait(thread: JoinHandle<Tail>, patient: bool) -> Option<Tail> {
    let until = Instant::now() + PATIENCE;
    while !patient && !thread.is_finished() && Instant::now() < until {
        thread::sleep(LOOK);
    }
    (patient || thread.is_finished()).then(|| thread.join().ok()).flatten()
}

/// Copies at once what comes, in a thread.
fn copy(from: OwnedFd, to: OwnedFd) -> io::Result<JoinHandle<Tail>> {
    let (mut from, mut to) = (File::from(from), To(File::from(to)));
    thread::Builder::new().spawn(move || {
        let (mut tail, mut bytes) = (Tail::default(), vec![0; 8192]);
        loop {
            let read = match from.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => return tail,
                Ok(length) => bytes.get(..length).unwrap_or_default(),
            };
            tail.add(read);
            if to.write_all(read).is_err() {
                return tail;
            }
        }
    })
}

/// A file that is waited for, also where its other users do not want to wait (`O_NONBLOCK` is theirs and ours alike).
struct To(File);

impl io::Write for To {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], None)?;
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn error_ends() -> io::Result<Option<Ends>> {
    let pipe = fstatfs(stderr()).is_ok_and(|system| u64::try_from(system.f_type) == Ok(PIPES));
    let through = pipe && !leads_to(stdout(), stderr());
    if through { pipe_ends().map(Some) } else { ends(stderr()) }
}

/// Says whether both lead to the same place. What cannot be told, as of a closed stream, is taken for yes.
fn leads_to(one: impl AsFd, other: impl AsFd) -> bool {
    let (Ok(one), Ok(other)) = (fstat(one), fstat(other)) else { return true };
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

fn ends(stream: BorrowedFd<'_>) -> io::Result<Option<Ends>> {
    if !is_file(stream) {
        return Ok(None);
    }
    pipe_ends().map(Some)
}

fn pipe_ends() -> io::Result<Ends> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok(Ends { read, write })
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
