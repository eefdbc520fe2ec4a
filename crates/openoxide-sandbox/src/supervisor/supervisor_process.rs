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
    sync::Arc,
    time::Duration,
};

use openoxide_protocol::{PublishedPort, SandboxRestrictions};
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    backend::{NoBackendError, is_in_sandbox},
    interface::{
        LaunchConfig, RuntimeDecision, RuntimeRequest, SandboxError, SandboxReport,
        SetupContext as _,
    },
    ipc::{
        CallerMessage, MessageSocket, ProgressReader, ProgressWriter, SupervisorMessage,
        create_pipe, is_readable,
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
    /// A port cannot be published.
    PortUnavailable {
        /// The port.
        port: PublishedPort,
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
    let mut command = Command::new(env::current_exe().with_step(starting_step)?);
    command.args(words);
    ConfinedRun::start(launch, command)?.wait(ask)
}

/// A confined run in progress, under a supervisor that was started for it.
///
/// If this process ends, the supervisor ends all processes of the run.
#[derive(Debug)]
pub struct ConfinedRun {
    socket: Arc<MessageSocket>,
    supervisor: Child,
    input: File,
    progress: ProgressReader,
    profile: SandboxRestrictions,
}

/// A handle that cancels a run from another thread.
#[derive(Clone, Debug)]
pub struct RunCanceller(Arc<MessageSocket>);

impl ConfinedRun {
    /// Starts a program confined. `command` starts the supervisor: a process with one thread that
    /// calls [`supervisor_main`] with its last two arguments, which this function adds. The program
    /// has the standard streams of the supervisor.
    ///
    /// # Errors
    /// Returns an error if the supervisor could not be started. Nothing was run then.
    pub fn start(launch: &LaunchConfig, command: Command) -> Result<Self, SandboxError> {
        if is_in_sandbox() {
            return Err(SandboxError::Nested);
        }
        let (socket, theirs) = MessageSocket::pair().with_step(|| "making a socket".to_owned())?;
        let (progress, writer) = create_pipe().with_step(|| "making a pipe".to_owned())?;
        let started = spawn_supervisor(launch, command, &theirs, &writer);
        let (supervisor, input) = started.with_step(starting_step)?;
        let (socket, profile) = (Arc::new(socket), launch.profile.clone());
        Ok(Self { socket, supervisor, input, progress, profile })
    }

    /// Returns a handle that cancels the run from another thread.
    #[must_use]
    pub fn canceller(&self) -> RunCanceller {
        RunCanceller(Arc::clone(&self.socket))
    }

    /// Waits for the end of the run, and answers questions with `ask` until then.
    ///
    /// # Errors
    /// Returns an error if the confinement could not be set up. Nothing was run then.
    pub fn wait(mut self, ask: &mut RuntimeReviewer<'_>) -> Result<SandboxReport, SandboxError> {
        answer_requests(&self.socket, ask);
        self.socket.close();
        let status = self.supervisor.wait();
        let outcome = read_from_memfd(&mut self.input)
            .unwrap_or_else(|_| SupervisorResult::new_missing(status));
        // If the supervisor was killed, the processes inside and the cleanup process end next.
        self.progress.read(PROGRESS_TIMEOUT).correct_result(outcome.into_result(), &self.profile)
    }
}

impl RunCanceller {
    /// Ends all processes of the run. [`ConfinedRun::wait`] then returns.
    pub fn cancel(&self) {
        self.0.close();
    }
}

fn starting_step() -> String {
    "starting the supervisor".to_owned()
}

/// The time that the other processes of a run have to end after the supervisor was killed.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(30);

fn spawn_supervisor(
    launch: &LaunchConfig,
    mut command: Command,
    theirs: &MessageSocket,
    progress: &ProgressWriter,
) -> io::Result<(Child, File)> {
    let input = SupervisorInput { launch: launch.clone(), progress: progress.number() };
    let input = write_to_memfd(&input)?;
    let arguments = [input.as_raw_fd(), theirs.descriptor().as_raw_fd()];
    let [input_number, socket_number] = arguments;
    let numbers = vec![input_number, socket_number, progress.number()];
    sys::inherit_descriptors(&mut command, numbers);
    let supervisor = command.args(arguments.map(|fd| fd.to_string())).spawn()?;
    Ok((supervisor, input))
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
            Self::PortUnavailable { port, error } => {
                let error = io::Error::from_raw_os_error(error);
                Err(SandboxError::PortUnavailable { port, error })
            }
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
            Err(SandboxError::PortUnavailable { port, error }) => {
                Self::PortUnavailable { port, error: error.raw_os_error().unwrap_or(libc::EIO) }
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
        other @ (SandboxError::Nested
        | SandboxError::Unavailable { .. }
        | SandboxError::PortUnavailable { .. }) => (other.to_string(), libc::EIO),
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
