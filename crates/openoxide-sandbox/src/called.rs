//! The supervisor as a process of its own: who may have many threads, has it started and talks to it.

use std::{
    env,
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    os::{
        fd::{AsFd as _, AsRawFd as _, RawFd},
        unix::process::ExitStatusExt as _,
    },
    process::{Child, Command, ExitStatus},
    time::Duration,
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    io::{FdFlags, fcntl_setfd},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Launch, LiveAnswer, LiveQuestion, Refusal, Report,
    error::{SandboxError, Step as _},
    progress::{self, ProgressWriter},
    supervise, sys,
    terminal::ready,
    wire::Wire,
};

/// What the supervisor says to who has started it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToCaller {
    /// May this be?
    Ask(LiveQuestion),
    /// Nobody wants to know any more. It is answered all the same.
    Withdrawn,
}

/// What the supervisor is given, in memory that the caller keeps open, too.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    launch: Launch,
    /// The number of the descriptor at which start and end are recorded.
    progress: RawFd,
}

/// How it went, which the supervisor writes over its order before it ends. So the report is there whatever becomes of the socket.
#[derive(Debug, Serialize, Deserialize)]
enum Outcome {
    /// It was run.
    Ran(Report),
    /// It could not be set up.
    Failed {
        /// What was tried.
        step: String,
        /// The number of the error.
        error: i32,
    },
    /// Nothing here holds the profile.
    Unavailable(Unavailable),
}

/// What was tried first, and why nothing else was left.
type Unavailable = (Option<(String, i32)>, Refusal);

/// What is said to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromCaller {
    /// The answer to the question that stands.
    Answer(LiveAnswer),
}

/// Who answers questions. The second argument says when nobody wants to know any more: the program has ended.
pub type Ask<'a> = dyn FnMut(LiveQuestion, &dyn Fn() -> bool) -> LiveAnswer + 'a;

/// Runs a program confined, under a supervisor that is started for it: this same program, called with `words` and two
/// numbers, which are for [`supervise_as_called`]. If the launch says that somebody can be asked, `ask` is, about hosts that the profile
/// does not name; and if it is `live`, about changes of other files.
///
/// # Errors
/// Where the confinement could not be set up; nothing was run then.
pub fn run_confined(
    launch: &Launch,
    words: &[&str],
    ask: &mut Ask<'_>,
) -> Result<Report, SandboxError> {
    let (wire, theirs) = Wire::pair().step(|| "making a socket".to_owned())?;
    let (reader, writer) = progress::pair().step(|| "making a pipe".to_owned())?;
    let started = start(launch, words, &theirs, &writer);
    let (mut supervisor, mut order) = started.step(|| "starting the supervisor".to_owned())?;
    drop((theirs, writer));
    attend(&wire, ask);
    drop(wire);
    let status = supervisor.wait();
    let outcome = unsealed(&mut order).unwrap_or_else(|_| Outcome::missing(status));
    // Where it was killed, the processes inside and the one that cleans up after it end next.
    reader.read(LAST_PROCESSES).settle(outcome.into_result(), &launch.profile)
}

/// How long the other processes of a run may take to end once the supervisor was killed.
const LAST_PROCESSES: Duration = Duration::from_secs(30);

fn start(
    launch: &Launch,
    words: &[&str],
    theirs: &Wire,
    progress: &ProgressWriter,
) -> io::Result<(Child, File)> {
    let order = Order { launch: launch.clone(), progress: progress.inherited()? };
    let order = sealed(&order)?;
    fcntl_setfd(&order, FdFlags::empty())?;
    fcntl_setfd(theirs.descriptor(), FdFlags::empty())?;
    let numbers = [order.as_raw_fd(), theirs.descriptor().as_raw_fd()];
    let mut command = Command::new(env::current_exe()?);
    let supervisor = command.args(words).args(numbers.map(|fd| fd.to_string())).spawn()?;
    Ok((supervisor, order))
}

/// Answers questions until the supervisor is gone.
fn attend(wire: &Wire, ask: &mut Ask<'_>) {
    loop {
        match wire.receive() {
            Ok(Some((ToCaller::Ask(question), _))) => {
                // While a question stands, nothing else is said but that it does so no longer.
                let answer = ask(question, &|| ready(wire.descriptor().as_fd()));
                // Where it is gone, that is heard next.
                drop(wire.send(&FromCaller::Answer(answer), &[]));
            }
            Ok(Some((ToCaller::Withdrawn, _))) => {}
            // It has ended without reading an answer. This is said once, and what it sent before is read next.
            Err(error) if error.raw_os_error() == Some(libc::ECONNRESET) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

impl Outcome {
    /// The outcome of a supervisor that left none.
    fn missing(status: io::Result<ExitStatus>) -> Self {
        let signal = status.ok().and_then(|status| status.signal());
        let how = signal.map_or_else(String::new, |signal| format!(" (signal {signal})"));
        Self::Failed { step: format!("the supervisor was ended{how}"), error: libc::ECHILD }
    }

    fn into_result(self) -> Result<Report, SandboxError> {
        match self {
            Self::Ran(report) => Ok(report),
            Self::Failed { step, error } => Err(failed(step, error)),
            Self::Unavailable((first, refusal)) => {
                let first = first.map(|(step, error)| Box::new(failed(step, error)));
                Err(SandboxError::Unavailable { first, refusal })
            }
        }
    }
}

impl From<Result<Report, SandboxError>> for Outcome {
    fn from(result: Result<Report, SandboxError>) -> Self {
        match result {
            Ok(report) => Self::Ran(report),
            Err(SandboxError::Unavailable { first, refusal }) => {
                Self::Unavailable((first.map(|first| parts(*first)), refusal))
            }
            Err(error) => {
                let (step, error) = parts(error);
                Self::Failed { step, error }
            }
        }
    }
}

fn failed(step: String, error: i32) -> SandboxError {
    SandboxError::Setup { step, error: io::Error::from_raw_os_error(error) }
}

fn parts(error: SandboxError) -> (String, i32) {
    match error {
        SandboxError::Setup { step, error } => (step, error.raw_os_error().unwrap_or(libc::EIO)),
        other @ SandboxError::Unavailable { .. } => (other.to_string(), libc::EIO),
    }
}

/// What the started process does: it reads its launch, supervises, and reports. The numbers are the last two of its words.
///
/// # Errors
/// Where the words are not those of [`run_confined`].
pub fn supervise_as_called(told: &str, wire: &str) -> Result<(), SandboxError> {
    let wrong = || "this is for OpenOxide itself".to_owned();
    let descriptor = |text: &str| text.parse().map_err(io::Error::other).and_then(sys::adopt);
    let mut order = File::from(descriptor(told).step(wrong)?);
    let Order { launch, progress } = unsealed(&mut order).step(wrong)?;
    let progress = ProgressWriter::adopt(progress).step(wrong)?;
    let caller = Wire::from(descriptor(wire).step(wrong)?);
    let outcome = Outcome::from(supervise::run(&launch, None, Some(caller), &progress));
    write(&mut order, &outcome).step(|| "writing the report".to_owned())
}

/// Writes a value into memory that a descriptor stands for.
fn sealed(value: &impl Serialize) -> io::Result<File> {
    let mut file = File::from(memfd_create("openoxide", MemfdFlags::CLOEXEC)?);
    write(&mut file, value)?;
    Ok(file)
}

/// Writes a value in the place of another one.
fn write(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&serde_json::to_vec(value)?)
}

fn unsealed<T: DeserializeOwned>(from: &mut File) -> io::Result<T> {
    let mut bytes = Vec::new();
    from.rewind()?;
    from.read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}
