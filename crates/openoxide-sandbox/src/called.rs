//! The supervisor as a process of its own: who may have many threads, has it started and talks to it.

use std::{
    env,
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
    process::{Child, Command},
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    io::{FdFlags, fcntl_setfd},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Launch, LiveAnswer, LiveQuestion, Refusal, Report,
    error::{SandboxError, Step as _},
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
    /// It is over; the report is in the descriptor.
    Over,
    /// Nothing was run.
    Failed {
        /// What was tried.
        step: String,
        /// The number of the error.
        error: i32,
    },
    /// Nothing here holds the profile; what there is lies in the descriptor.
    Unavailable,
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
    let mut supervisor =
        start(launch, words, &theirs).step(|| "starting the supervisor".to_owned())?;
    drop(theirs);
    let report = listen(&wire, ask);
    drop(wire);
    // It has said how it went; how its process ends says nothing more.
    drop(supervisor.wait());
    report
}

fn start(launch: &Launch, words: &[&str], theirs: &Wire) -> io::Result<Child> {
    let told = sealed(launch)?;
    for descriptor in [&told, theirs.descriptor()] {
        fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    let numbers = [told.as_raw_fd(), theirs.descriptor().as_raw_fd()];
    Command::new(env::current_exe()?).args(words).args(numbers.map(|fd| fd.to_string())).spawn()
}

fn listen(wire: &Wire, ask: &mut Ask<'_>) -> Result<Report, SandboxError> {
    let gone = || io::Error::other("it has ended without a word");
    loop {
        let said = wire.receive().step(|| "hearing of the supervisor".to_owned())?;
        let (message, descriptors) = said.ok_or_else(gone).step(|| "the supervisor".to_owned())?;
        match message {
            ToCaller::Ask(question) => {
                // While a question stands, nothing else is said but that it does so no longer.
                let answer = ask(question, &|| ready(wire.descriptor().as_fd()));
                // Where it is gone, that is heard next.
                drop(wire.send(&FromCaller::Answer(answer), &[]));
            }
            ToCaller::Withdrawn => {}
            ToCaller::Over => {
                let report = descriptors.into_iter().next().ok_or_else(gone).and_then(unsealed);
                return report.step(|| "reading the report".to_owned());
            }
            ToCaller::Failed { step, error } => return Err(failed(step, error)),
            ToCaller::Unavailable => {
                let found = descriptors.into_iter().next().ok_or_else(gone).and_then(unsealed);
                let (first, refusal): Unavailable =
                    found.step(|| "reading what there is".to_owned())?;
                let first = first.map(|(step, error)| Box::new(failed(step, error)));
                return Err(SandboxError::Unavailable { first, refusal });
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
    let launch: Launch = descriptor(told).and_then(unsealed).step(wrong)?;
    let caller = descriptor(wire).step(wrong)?;
    let answer = Wire::from(caller.try_clone().step(wrong)?);
    match supervise::run(&launch, None, Some(Wire::from(caller))) {
        Ok(report) => {
            let report = sealed(&report).step(|| "writing the report".to_owned())?;
            answer.send(&ToCaller::Over, &[report])
        }
        Err(SandboxError::Unavailable { first, refusal }) => {
            let found: Unavailable = (first.map(|first| parts(*first)), refusal);
            let found = sealed(&found).step(|| "writing what there is".to_owned())?;
            answer.send(&ToCaller::Unavailable, &[found])
        }
        Err(error) => {
            let (step, error) = parts(error);
            answer.send(&ToCaller::Failed { step, error }, &[])
        }
    }
    .step(|| "telling who called".to_owned())
}

/// Writes a value into memory that a descriptor stands for.
fn sealed(value: &impl Serialize) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("openoxide", MemfdFlags::CLOEXEC)?);
    file.write_all(&serde_json::to_vec(value)?)?;
    file.rewind()?;
    Ok(file.into())
}

fn unsealed<T: DeserializeOwned>(from: OwnedFd) -> io::Result<T> {
    let mut bytes = Vec::new();
    File::from(from).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}
