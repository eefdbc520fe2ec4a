//! The three standard streams of the program.
//!
//! Who holds an open file of the host can change its mode, its times and its attributes, whatever the mounts say: they belong
//! to the way on which a file was opened. So the program holds none: what is a file is read or written by the supervisor, and
//! the program has a pipe. So it is with a person's terminal that is not joined to one of the program's own: who has it could open
//! it to everybody, write into its input, or close it to the question. A pipe or a socket is handed on as it is.
//!
//! Errors go through the supervisor, which keeps the end of them, unless they lead where output leads: who reads both sees them in
//! their order.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::{
    fs::{FileType, fstat, fstatfs},
    pipe::{PipeFlags, pipe_with},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout},
    termios::isatty,
};

use super::turn::{Copy, Turn};
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
    turn: Turn,
}

impl Streams {
    /// Looks at what this process has, and makes the pipes. A program with a terminal of its own has that in the place of
    /// each terminal.
    pub(super) fn make(terminal: bool) -> io::Result<Self> {
        let ends = |stream| if is_ours(stream, terminal) { ends().map(Some) } else { Ok(None) };
        let joined = is_ours(stdout(), terminal) && same(stdout(), stderr());
        Ok(Self {
            input: ends(stdin())?,
            output: ends(stdout())?,
            error: if joined { None } else { error_ends(terminal)? },
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

    /// Reads and writes the files and terminals, in threads. At a terminal nothing is read or written while a question stands.
    pub(super) fn relay(self, turn: &Turn) -> io::Result<Relayed> {
        if let Some(Ends { write, .. }) = self.input {
            // It goes on when the program does not read to the end. Nobody waits for it.
            drop(copy(turn, stdin().try_clone_to_owned()?, write)?);
        }
        let relay = |ends: Option<Ends>, to: BorrowedFd<'_>| {
            ends.map(|Ends { read, .. }| copy(turn, read, to.try_clone_to_owned()?)).transpose()
        };
        let (output, error) = (relay(self.output, stdout())?, relay(self.error, stderr())?);
        Ok(Relayed { output, error, joined: self.joined, turn: turn.clone() })
    }
}

impl Relayed {
    /// Waits until all is written that was printed. Nobody may be left who could print. Returns the end of the errors, where they
    /// went through here.
    pub(super) fn finish(self, end: End) -> Option<Tail> {
        self.turn.give_back();
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

fn copy(turn: &Turn, from: OwnedFd, to: OwnedFd) -> io::Result<JoinHandle<Tail>> {
    let (typed, shown) = (isatty(&from), isatty(&to));
    let copy = Copy { turn: turn.clone(), typed, shown, from, to };
    thread::Builder::new().spawn(move || copy.go())
}

fn error_ends(terminal: bool) -> io::Result<Option<Ends>> {
    let pipe = fstatfs(stderr()).is_ok_and(|system| u64::try_from(system.f_type) == Ok(PIPES));
    let through = pipe && !leads_to(stdout(), stderr());
    (through || is_ours(stderr(), terminal)).then(ends).transpose()
}

/// Says whether both lead to the same place. What cannot be told, as of a closed stream, is taken for yes.
fn leads_to(one: impl AsFd, other: impl AsFd) -> bool {
    let (Ok(one), Ok(other)) = (fstat(one), fstat(other)) else { return true };
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

fn ends() -> io::Result<Ends> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok(Ends { read, write })
}

/// Says whether the program gets a pipe in the place of this. A stream that is closed is none.
fn is_ours(stream: BorrowedFd<'_>, terminal: bool) -> bool {
    let Ok(system) = fstatfs(stream) else { return false };
    let passes = u64::try_from(system.f_type).is_ok_and(|kind| kind == PIPES || kind == SOCKETS);
    !(passes || terminal && isatty(stream))
}

fn same(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let terminal = isatty(one);
    let (Ok(one), Ok(other)) = (fstat(one), fstat(other)) else { return false };
    let regular = FileType::from_raw_mode(one.st_mode) == FileType::RegularFile;
    (regular || terminal) && (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}
