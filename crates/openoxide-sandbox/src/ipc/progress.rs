//! The record of a program's start and end, which the processes inside the sandbox write into a
//! pipe.
//!
//! The supervisor's own report can be missing because it was killed, or be an error that occurred
//! after the start. This record then shows whether the program ran and how it ended. The program
//! itself gets no descriptor of this pipe.

use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd, RawFd},
    time::{Duration, Instant},
};

use openoxide_protocol::SandboxRestrictions;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{read, retry_on_intr, write},
    pipe::{PipeFlags, pipe_with},
};
use serde::{Deserialize, Serialize};

use crate::{
    backend::{EnforcementPlan, HostFeatures, SandboxBackend},
    interface::{CommandOutcome, SandboxError, SandboxReport, SetupContext as _},
    sys,
};

/// The status of a program that was killed together with the sandbox.
const SIGKILL_NUMBER: u8 = 9;

/// One entry. It is written atomically, and is much shorter than the maximum size of an atomic
/// write to a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ProgressEvent {
    /// The program is about to be executed.
    Starting,
    /// The program ended, or could not be executed.
    Ended(CommandOutcome),
    /// The program was not executed, for another reason.
    NotExecuted,
}

/// The writing end, for the processes inside.
#[derive(Debug)]
pub(crate) struct ProgressWriter(OwnedFd);

/// The reading end, for the process that reports.
#[derive(Debug)]
pub(crate) struct ProgressReader(OwnedFd);

/// The recorded progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunProgress {
    starting: bool,
    end: Option<CommandOutcome>,
    not_executed: bool,
}

/// Creates both ends.
pub(crate) fn create_pipe() -> io::Result<(ProgressReader, ProgressWriter)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    Ok((ProgressReader(read), ProgressWriter(write)))
}

impl ProgressWriter {
    /// Adds an entry.
    pub(crate) fn record(&self, event: ProgressEvent) -> io::Result<()> {
        let mut line = serde_json::to_vec(&event)?;
        line.push(b'\n');
        retry_on_intr(|| write(&self.0, &line))?;
        Ok(())
    }

    /// Returns the number of the descriptor, which a program may inherit.
    pub(crate) fn number(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Takes ownership of an inherited descriptor.
    pub(crate) fn from_inherited(number: RawFd) -> io::Result<Self> {
        sys::adopt_descriptor(number).map(Self)
    }
}

impl ProgressReader {
    /// Reads the record, until every writer has ended or the time limit `patience` is reached.
    pub(crate) fn read(&self, patience: Duration) -> RunProgress {
        let until = Instant::now() + patience;
        let mut text = Vec::new();
        while self.read_available(&mut text) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let left = Timespec::try_from(left).ok();
            _ = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], left.as_ref());
        }
        RunProgress::parse(&text)
    }

    /// Reads the available data. Returns `false` if no writer is left.
    fn read_available(&self, text: &mut Vec<u8>) -> bool {
        let mut bytes = [0; 512];
        loop {
            match retry_on_intr(|| read(&self.0, &mut bytes)) {
                Ok(0) => return false,
                Ok(length) => text.extend(bytes.get(..length).unwrap_or_default()),
                Err(error) => return error == rustix::io::Errno::AGAIN,
            }
        }
    }
}

impl RunProgress {
    fn parse(text: &[u8]) -> Self {
        let mut progress = Self::default();
        for line in text.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(ProgressEvent::Starting) => progress.starting = true,
                Ok(ProgressEvent::NotExecuted) => progress.not_executed = true,
                // The worker's own record that it could not execute the program comes before its
                // exit.
                Ok(ProgressEvent::Ended(end)) => progress.end = progress.end.or(Some(end)),
                Err(_) => {}
            }
        }
        progress
    }

    /// Returns whether the program was executed.
    pub(crate) const fn has_started(self) -> bool {
        let failed =
            matches!(self.end, Some(CommandOutcome::NotFound | CommandOutcome::NotStarted(_)));
        self.starting && !failed && !self.not_executed
    }

    /// Corrects a result with the record. An error means that no program was run, and a report
    /// means that one was.
    pub(crate) fn correct_result(
        self,
        result: Result<SandboxReport, SandboxError>,
        profile: &SandboxRestrictions,
    ) -> Result<SandboxReport, SandboxError> {
        match result {
            Err(error) if self.has_started() => Ok(self.interrupted_report(&error, profile)),
            Ok(report)
                if !matches!(
                    report.outcome,
                    CommandOutcome::Signalled(_) | CommandOutcome::Exited(_)
                ) =>
            {
                Ok(report)
            }
            Ok(report) if self.has_started() => {
                Ok(SandboxReport { outcome: self.end.unwrap_or(report.outcome), ..report })
            }
            Ok(report) => match self.end {
                Some(end @ (CommandOutcome::NotFound | CommandOutcome::NotStarted(_))) => {
                    Ok(SandboxReport { outcome: end, ..report })
                }
                _ => Err(io::Error::other("it was killed before the program was started"))
                    .with_step(|| "the sandbox".to_owned()),
            },
            error => error,
        }
    }

    /// Returns the report on a program that ran although the supervisor reported nothing.
    fn interrupted_report(
        self,
        error: &SandboxError,
        profile: &SandboxRestrictions,
    ) -> SandboxReport {
        SandboxReport {
            plan: EnforcementPlan::for_profile(
                SandboxBackend::Namespaces,
                profile,
                &HostFeatures::new_supported(),
            ),
            outcome: self.end.unwrap_or(CommandOutcome::Signalled(SIGKILL_NUMBER)),
            denials: Vec::new(),
            has_suspected_denial: false,
            findings: Vec::new(),
            listening_ports: Vec::new(),
            run_error: Some(error.to_string()),
            unenforced_limits: None,
            reached_limits: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> SandboxError {
        SandboxError::Setup {
            step: "the supervisor".to_owned(),
            error: io::ErrorKind::Other.into(),
        }
    }

    fn recorded(events: &[ProgressEvent]) -> RunProgress {
        let (reader, writer) = create_pipe().unwrap();
        events.iter().for_each(|event| writer.record(*event).unwrap());
        drop(writer);
        reader.read(Duration::from_secs(30))
    }

    fn settled(
        events: &[ProgressEvent],
        result: Result<SandboxReport, SandboxError>,
    ) -> Result<CommandOutcome, String> {
        let settled = recorded(events).correct_result(result, &SandboxRestrictions::default());
        settled.map(|report| report.outcome).map_err(|error| error.to_string())
    }

    fn report(end: CommandOutcome) -> SandboxReport {
        SandboxReport {
            run_error: None,
            outcome: end,
            ..RunProgress::default().interrupted_report(&failure(), &SandboxRestrictions::default())
        }
    }

    #[test]
    fn an_error_after_the_start_is_a_report() {
        use ProgressEvent::{Ended, NotExecuted, Starting};
        for (events, expected) in [
            (&[Starting][..], Some(CommandOutcome::Signalled(9))),
            (&[Starting, Ended(CommandOutcome::Exited(0))], Some(CommandOutcome::Exited(0))),
            (
                &[Starting, Ended(CommandOutcome::Signalled(15))],
                Some(CommandOutcome::Signalled(15)),
            ),
            (&[Starting, Ended(CommandOutcome::NotFound), Ended(CommandOutcome::Exited(1))], None),
            (&[Starting, Ended(CommandOutcome::NotStarted(13))], None),
            (&[Starting, NotExecuted], None),
            (&[], None),
            (&[Ended(CommandOutcome::Signalled(9))], None),
        ] {
            assert_eq!(settled(events, Err(failure())).ok(), expected, "{events:?}");
        }
    }

    #[test]
    fn a_report_on_a_program_that_never_started_is_an_error() {
        use ProgressEvent::{Ended, Starting};
        let killed = || Ok(report(CommandOutcome::Signalled(9)));
        assert!(settled(&[], killed()).is_err());
        assert!(settled(&[Ended(CommandOutcome::Signalled(9))], killed()).is_err());
        assert_eq!(settled(&[Starting], killed()), Ok(CommandOutcome::Signalled(9)));
        assert_eq!(
            settled(&[Starting, Ended(CommandOutcome::Exited(3))], killed()),
            Ok(CommandOutcome::Exited(3))
        );
        assert_eq!(
            settled(&[Starting, Ended(CommandOutcome::NotFound)], killed()),
            Ok(CommandOutcome::NotFound)
        );
        for end in
            [CommandOutcome::NotFound, CommandOutcome::NotStarted(13), CommandOutcome::TimedOut]
        {
            assert_eq!(settled(&[Starting], Ok(report(end))), Ok(end));
        }
    }

    #[test]
    fn a_reported_run_error_names_its_step() {
        let settled = recorded(&[ProgressEvent::Starting])
            .correct_result(Err(failure()), &SandboxRestrictions::default());
        assert!(settled.unwrap().run_error.unwrap().starts_with("the supervisor"));
    }

    #[test]
    fn reading_ends_without_an_end_of_the_writers() {
        let (reader, writer) = create_pipe().unwrap();
        writer.record(ProgressEvent::Starting).unwrap();
        assert!(reader.read(Duration::from_millis(20)).has_started());
    }
}
