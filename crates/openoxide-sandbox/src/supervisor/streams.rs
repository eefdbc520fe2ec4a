//! The three standard streams of the program.
//!
//! A process with an open file of the host can change the file's mode, times and attributes,
//! independently of the mounts of the sandbox, because the kernel checks the mount through which
//! the file was opened. Therefore the program gets no such file. The supervisor reads or writes the
//! file, and the program has a pipe. The same applies to a person's terminal if the program has no
//! separate terminal. With the person's terminal, a program could open it to all users, write into
//! its input, or make it unavailable for a question. A pipe or a socket is passed on unchanged.
//!
//! Error output passes through the supervisor, which keeps the last part of it. If both streams
//! have the same target, it does not, so that a reader sees the output in order.

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

use crate::{
    interface::CommandOutcome,
    supervisor::{
        output_tail::OutputTail,
        terminal_lease::{StreamCopy, TerminalLease},
    },
};

/// The time to wait for the reader of the output of a program that was killed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// The interval at which the forwarding threads are checked during that time.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The values of `f_type` for a pipe and for a socket (linux/magic.h).
const PIPEFS_MAGIC: u64 = 0x5049_5045;
const SOCKFS_MAGIC: u64 = 0x534f_434b;

/// The streams that need a pipe.
#[derive(Debug, Default)]
pub(super) struct StreamPipes {
    input: Option<PipeEnds>,
    output: Option<PipeEnds>,
    error: Option<PipeEnds>,
    /// True if standard output and standard error have the same target. Their order is preserved.
    is_error_joined: bool,
}

#[derive(Debug)]
struct PipeEnds {
    read: OwnedFd,
    write: OwnedFd,
}

/// The threads that forward the program's output.
#[derive(Debug)]
pub(super) struct OutputForwarders {
    output: Option<JoinHandle<OutputTail>>,
    error: Option<JoinHandle<OutputTail>>,
    is_error_joined: bool,
    terminal_lease: TerminalLease,
}

impl StreamPipes {
    /// Checks the streams of this process, and creates the pipes. A program with a separate
    /// terminal gets that terminal in place of each terminal.
    pub(super) fn create(terminal: bool) -> io::Result<Self> {
        let ends =
            |stream| if needs_pipe(stream, terminal) { create_pipe().map(Some) } else { Ok(None) };
        let joined = needs_pipe(stdout(), terminal) && is_same_file(stdout(), stderr());
        Ok(Self {
            input: ends(stdin())?,
            output: ends(stdout())?,
            error: if joined { None } else { create_error_pipe(terminal)? },
            is_error_joined: joined,
        })
    }

    /// Replaces the files with the pipes, in the process that will be confined.
    pub(super) fn install(self) -> io::Result<()> {
        if let Some(PipeEnds { read, .. }) = self.input {
            dup2_stdin(read)?;
        }
        if let Some(PipeEnds { write, .. }) = self.output {
            dup2_stdout(&write)?;
            if self.is_error_joined {
                dup2_stderr(&write)?;
            }
        }
        if let Some(PipeEnds { write, .. }) = self.error {
            dup2_stderr(write)?;
        }
        Ok(())
    }

    /// Starts the threads that read and write the files and terminals. While a question is open,
    /// nothing is read from a terminal or written to it.
    pub(super) fn start_forwarding(self, turn: &TerminalLease) -> io::Result<OutputForwarders> {
        if let Some(PipeEnds { write, .. }) = self.input {
            // The thread continues if the program does not read to the end. It is not joined.
            drop(spawn_copy(turn, stdin().try_clone_to_owned()?, write)?);
        }
        let relay = |ends: Option<PipeEnds>, to: BorrowedFd<'_>| {
            ends.map(|PipeEnds { read, .. }| spawn_copy(turn, read, to.try_clone_to_owned()?))
                .transpose()
        };
        let (output, error) = (relay(self.output, stdout())?, relay(self.error, stderr())?);
        Ok(OutputForwarders {
            output,
            error,
            is_error_joined: self.is_error_joined,
            terminal_lease: turn.clone(),
        })
    }
}

impl OutputForwarders {
    /// Waits until all output is written. No process that could write may be left. Returns the last
    /// part of the error output, if it went through the supervisor.
    pub(super) fn finish(self, end: CommandOutcome) -> Option<OutputTail> {
        self.terminal_lease.release();
        let patient = matches!(end, CommandOutcome::Exited(_));
        let output = self.output.and_then(|thread| join_thread(thread, patient));
        let error = self.error.and_then(|thread| join_thread(thread, patient));
        if self.is_error_joined { output } else { error }
    }
}

/// Waits for a thread: without a limit if `patient`, otherwise for at most `DRAIN_TIMEOUT`. A
/// thread that failed is ignored, like output that is not read any more.
fn join_thread(thread: JoinHandle<OutputTail>, patient: bool) -> Option<OutputTail> {
    let until = Instant::now() + DRAIN_TIMEOUT;
    while !patient && !thread.is_finished() && Instant::now() < until {
        thread::sleep(POLL_INTERVAL);
    }
    (patient || thread.is_finished()).then(|| thread.join().ok()).flatten()
}

fn spawn_copy(
    turn: &TerminalLease,
    from: OwnedFd,
    to: OwnedFd,
) -> io::Result<JoinHandle<OutputTail>> {
    let (typed, shown) = (isatty(&from), isatty(&to));
    let copy = StreamCopy {
        terminal_lease: turn.clone(),
        from_terminal: typed,
        to_terminal: shown,
        from,
        to,
    };
    thread::Builder::new().spawn(move || copy.run())
}

fn create_error_pipe(terminal: bool) -> io::Result<Option<PipeEnds>> {
    let pipe =
        fstatfs(stderr()).is_ok_and(|system| u64::try_from(system.f_type) == Ok(PIPEFS_MAGIC));
    let through = pipe && !is_same_target(stdout(), stderr());
    (through || needs_pipe(stderr(), terminal)).then(create_pipe).transpose()
}

/// Returns whether both have the same target. Returns true if that cannot be determined, as for a
/// closed stream.
fn is_same_target(one: impl AsFd, other: impl AsFd) -> bool {
    let (Ok(one), Ok(other)) = (fstat(one), fstat(other)) else { return true };
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

fn create_pipe() -> io::Result<PipeEnds> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok(PipeEnds { read, write })
}

/// Returns whether the program gets a pipe in place of this stream. A closed stream needs none.
fn needs_pipe(stream: BorrowedFd<'_>, terminal: bool) -> bool {
    let Ok(system) = fstatfs(stream) else { return false };
    let passes =
        u64::try_from(system.f_type).is_ok_and(|kind| kind == PIPEFS_MAGIC || kind == SOCKFS_MAGIC);
    !(passes || terminal && isatty(stream))
}

fn is_same_file(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let terminal = isatty(one);
    let (Ok(one), Ok(other)) = (fstat(one), fstat(other)) else { return false };
    let regular = FileType::from_raw_mode(one.st_mode) == FileType::RegularFile;
    (regular || terminal) && (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}
