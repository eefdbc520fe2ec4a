//! The supervisor as a separate process. A process that may have many threads starts it and
//! communicates with it.

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
    backend::NoBackendError,
    interface::{
        LaunchConfig, RuntimeDecision, RuntimeRequest, SandboxError, SandboxReport,
        SetupContext as _,
    },
    ipc::{
        CallerMessage, MessageSocket, ProgressWriter, SupervisorMessage, create_pipe, is_readable,
    },
    supervisor::supervision::run_with_caller,
    sys,
};

/// The input of the supervisor, in a memory file that the caller keeps open, too.
#[derive(Debug, Serialize, Deserialize)]
struct SupervisorInput {
    launch: LaunchConfig,
    /// The number of the descriptor to which start and end are written.
    progress: RawFd,
}

/// The result of the supervisor, which replaces its input before it ends. The report is therefore
/// available even if the socket fails.
#[derive(Debug, Serialize, Deserialize)]
enum SupervisorResult {
    /// The program was run.
    Finished(SandboxReport),
    /// The confinement could not be set up.
    Failed {
        /// The step that failed.
        step: String,
        /// The number of the error.
        error: i32,
    },
    /// No available backend enforces the profile.
    Unavailable(UnavailableDetails),
}

/// The error of the first attempt, and the reason that no other backend can be used.
type UnavailableDetails = (Option<(String, i32)>, NoBackendError);

/// The function that answers questions. The second argument returns true if the answer is not
/// needed any more: the question was withdrawn, or the program has ended.
pub type RuntimeReviewer<'a> = dyn FnMut(RuntimeRequest, &dyn Fn() -> bool) -> RuntimeDecision + 'a;

/// Runs a program confined, under a supervisor that is started for it. The supervisor is this same
/// program, called with `words` and two numbers, which are for [`supervisor_main`]. If the launch
/// has a reviewer, `ask` is called about hosts that the profile does not name. If it reviews file
/// changes, `ask` is also called about changes of other files.
///
/// # Errors
/// Returns an error if the confinement could not be set up. Nothing was run then.
pub fn run_confined(
    launch: &LaunchConfig,
    words: &[&str],
    ask: &mut RuntimeReviewer<'_>,
) -> Result<SandboxReport, SandboxError> {
    let (wire, theirs) = MessageSocket::pair().with_step(|| "making a socket".to_owned())?;
    let (reader, writer) = create_pipe().with_step(|| "making a pipe".to_owned())?;
    let started = spawn_supervisor(launch, words, &theirs, &writer);
    let (mut supervisor, mut order) = started.with_step(|| "starting the supervisor".to_owned())?;
    drop((theirs, writer));
    answer_requests(&wire, ask);
    drop(wire);
    let status = supervisor.wait();
    let outcome =
        read_from_memfd(&mut order).unwrap_or_else(|_| SupervisorResult::new_missing(status));
    // If the supervisor was killed, the processes inside and the cleanup process end next.
    reader.read(PROGRESS_TIMEOUT).correct_result(outcome.into_result(), &launch.profile)
}

/// The time that the other processes of a run have to end after the supervisor was killed.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(30);

fn spawn_supervisor(
    launch: &LaunchConfig,
    words: &[&str],
    theirs: &MessageSocket,
    progress: &ProgressWriter,
) -> io::Result<(Child, File)> {
    let order = SupervisorInput { launch: launch.clone(), progress: progress.make_inheritable()? };
    let order = write_to_memfd(&order)?;
    fcntl_setfd(&order, FdFlags::empty())?;
    fcntl_setfd(theirs.descriptor(), FdFlags::empty())?;
    let numbers = [order.as_raw_fd(), theirs.descriptor().as_raw_fd()];
    let mut command = Command::new(env::current_exe()?);
    let supervisor = command.args(words).args(numbers.map(|fd| fd.to_string())).spawn()?;
    Ok((supervisor, order))
}

/// Answers questions until the supervisor is gone.
fn answer_requests(wire: &MessageSocket, ask: &mut RuntimeReviewer<'_>) {
    loop {
        match wire.receive() {
            Ok(Some((SupervisorMessage::Ask(question), _))) => {
                // While a question is open, the only message is its withdrawal.
                let answer = ask(question, &|| is_readable(wire.descriptor().as_fd()));
                // If the supervisor is gone, this is received next.
                drop(wire.send(&CallerMessage::Answer(answer), &[]));
            }
            Ok(Some((SupervisorMessage::Withdrawn, _))) => {}
            // The supervisor has ended without reading an answer. This error is reported once. Its
            // earlier messages are read next.
            Err(error) if error.raw_os_error() == Some(libc::ECONNRESET) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

impl SupervisorResult {
    /// Returns the outcome for a supervisor that wrote none.
    fn new_missing(status: io::Result<ExitStatus>) -> Self {
        let signal = status.ok().and_then(|status| status.signal());
        let how = signal.map_or_else(String::new, |signal| format!(" (signal {signal})"));
        Self::Failed { step: format!("the supervisor was ended{how}"), error: libc::ECHILD }
    }

    fn into_result(self) -> Result<SandboxReport, SandboxError> {
        match self {
            Self::Finished(report) => Ok(report),
            Self::Failed { step, error } => Err(setup_error(step, error)),
            Self::Unavailable((first, refusal)) => {
                let first = first.map(|(step, error)| Box::new(setup_error(step, error)));
                Err(SandboxError::Unavailable { first, refusal })
            }
        }
    }
}

impl From<Result<SandboxReport, SandboxError>> for SupervisorResult {
    fn from(result: Result<SandboxReport, SandboxError>) -> Self {
        match result {
            Ok(report) => Self::Finished(report),
            Err(SandboxError::Unavailable { first, refusal }) => {
                Self::Unavailable((first.map(|first| split_error(*first)), refusal))
            }
            Err(error) => {
                let (step, error) = split_error(error);
                Self::Failed { step, error }
            }
        }
    }
}

fn setup_error(step: String, error: i32) -> SandboxError {
    SandboxError::Setup { step, error: io::Error::from_raw_os_error(error) }
}

fn split_error(error: SandboxError) -> (String, i32) {
    match error {
        SandboxError::Setup { step, error } => (step, error.raw_os_error().unwrap_or(libc::EIO)),
        other @ SandboxError::Unavailable { .. } => (other.to_string(), libc::EIO),
    }
}

/// Runs the supervisor process: reads its launch, supervises the run, and writes the report. The
/// numbers are the last two of its arguments.
///
/// # Errors
/// Returns an error if the arguments are not those of [`run_confined`].
pub fn supervisor_main(told: &str, wire: &str) -> Result<(), SandboxError> {
    let wrong = || "this is for OpenOxide itself".to_owned();
    let descriptor =
        |text: &str| text.parse().map_err(io::Error::other).and_then(sys::adopt_descriptor);
    let mut order = File::from(descriptor(told).with_step(wrong)?);
    let SupervisorInput { launch, progress } = read_from_memfd(&mut order).with_step(wrong)?;
    let progress = ProgressWriter::from_inherited(progress).with_step(wrong)?;
    let caller = MessageSocket::from(descriptor(wire).with_step(wrong)?);
    let outcome = SupervisorResult::from(run_with_caller(&launch, None, Some(caller), &progress));
    overwrite_memfd(&mut order, &outcome).with_step(|| "writing the report".to_owned())
}

/// Writes a value into a new memory file (memfd_create(2)).
fn write_to_memfd(value: &impl Serialize) -> io::Result<File> {
    let mut file = File::from(memfd_create("openoxide", MemfdFlags::CLOEXEC)?);
    overwrite_memfd(&mut file, value)?;
    Ok(file)
}

/// Replaces the value in a memory file.
fn overwrite_memfd(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&serde_json::to_vec(value)?)
}

fn read_from_memfd<T: DeserializeOwned>(from: &mut File) -> io::Result<T> {
    let mut bytes = Vec::new();
    from.rewind()?;
    from.read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}
