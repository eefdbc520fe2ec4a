//! The record of a program's start and end, which the processes inside the sandbox write into a pipe.
//!
//! The supervisor's own report can be missing, because it was killed, or be an error that came after the start. This record then
//! says whether the program ran and how it ended. Nothing is executed with a descriptor of this pipe.

use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd, RawFd},
    time::{Duration, Instant},
};

use openoxide_protocol::Confined;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{FdFlags, fcntl_setfd, read, retry_on_intr, write},
    pipe::{PipeFlags, pipe_with},
};
use serde::{Deserialize, Serialize};

use crate::{
    Backend, End, Plan, Report, Support,
    error::{SandboxError, Step as _},
    sys,
};

/// The status of a program that was killed together with the sandbox.
const KILLED: u8 = 9;

/// One entry. It is written in one piece, and is far shorter than what a pipe takes in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// The program is executed next.
    Starting,
    /// The program ended, or could not be executed.
    Ended(End),
    /// The program was not executed, for another reason.
    NotExecuted,
}

/// The end for the processes inside.
#[derive(Debug)]
pub(crate) struct ProgressWriter(OwnedFd);

/// The end for the process that reports.
#[derive(Debug)]
pub(crate) struct ProgressReader(OwnedFd);

/// What was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    starting: bool,
    end: Option<End>,
    not_executed: bool,
}

/// Makes both ends.
pub(crate) fn pair() -> io::Result<(ProgressReader, ProgressWriter)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    Ok((ProgressReader(read), ProgressWriter(write)))
}

impl ProgressWriter {
    /// Adds an entry.
    pub(crate) fn record(&self, event: Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(&event)?;
        line.push(b'\n');
        retry_on_intr(|| write(&self.0, &line))?;
        Ok(())
    }

    /// Lets the next program inherit it, and returns its number there.
    pub(crate) fn inherited(&self) -> io::Result<RawFd> {
        fcntl_setfd(&self.0, FdFlags::empty())?;
        Ok(self.0.as_raw_fd())
    }

    /// Takes over one that was inherited.
    pub(crate) fn adopt(number: RawFd) -> io::Result<Self> {
        sys::adopt(number).map(Self)
    }
}

impl ProgressReader {
    /// Reads what was recorded, until every writer has ended or `patience` is over.
    pub(crate) fn read(&self, patience: Duration) -> Progress {
        let until = Instant::now() + patience;
        let mut text = Vec::new();
        while self.read_some(&mut text) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let left = Timespec::try_from(left).ok();
            _ = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], left.as_ref());
        }
        Progress::parse(&text)
    }

    /// Reads what is there. False: no writer is left.
    fn read_some(&self, text: &mut Vec<u8>) -> bool {
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

impl Progress {
    fn parse(text: &[u8]) -> Self {
        let mut progress = Self::default();
        for line in text.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Event::Starting) => progress.starting = true,
                Ok(Event::NotExecuted) => progress.not_executed = true,
                // The worker's own word that it could not execute comes before its end as a process.
                Ok(Event::Ended(end)) => progress.end = progress.end.or(Some(end)),
                Err(_) => {}
            }
        }
        progress
    }

    /// Whether the program was executed.
    pub(crate) const fn is_started(self) -> bool {
        let failed = matches!(self.end, Some(End::NotFound | End::NotStarted(_)));
        self.starting && !failed && !self.not_executed
    }

    /// Corrects a result by what was recorded: an error says that nothing was run, and a report that something was.
    pub(crate) fn settle(
        self,
        result: Result<Report, SandboxError>,
        profile: &Confined,
    ) -> Result<Report, SandboxError> {
        match result {
            Err(error) if self.is_started() => Ok(self.interrupted(&error, profile)),
            Ok(report) if !matches!(report.end, End::Signalled(_) | End::Exited(_)) => Ok(report),
            Ok(report) if self.is_started() => {
                Ok(Report { end: self.end.unwrap_or(report.end), ..report })
            }
            Ok(report) => match self.end {
                Some(end @ (End::NotFound | End::NotStarted(_))) => Ok(Report { end, ..report }),
                _ => Err(io::Error::other("it was killed before the program was started"))
                    .step(|| "the sandbox".to_owned()),
            },
            error => error,
        }
    }

    /// The report on a program that ran although no report was given.
    fn interrupted(self, error: &SandboxError, profile: &Confined) -> Report {
        Report {
            plan: Plan::of(Backend::Namespaces, profile, &Support::all()),
            end: self.end.unwrap_or(End::Signalled(KILLED)),
            denials: Vec::new(),
            suspected: false,
            found: Vec::new(),
            listened: Vec::new(),
            interrupted: Some(error.to_string()),
            unlimited: None,
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

    fn recorded(events: &[Event]) -> Progress {
        let (reader, writer) = pair().unwrap();
        events.iter().for_each(|event| writer.record(*event).unwrap());
        drop(writer);
        reader.read(Duration::from_secs(30))
    }

    fn settled(events: &[Event], result: Result<Report, SandboxError>) -> Result<End, String> {
        let settled = recorded(events).settle(result, &Confined::default());
        settled.map(|report| report.end).map_err(|error| error.to_string())
    }

    fn report(end: End) -> Report {
        Report {
            interrupted: None,
            end,
            ..Progress::default().interrupted(&failure(), &Confined::default())
        }
    }

    #[test]
    fn an_error_after_the_start_is_a_report() {
        use Event::{Ended, NotExecuted, Starting};
        for (events, expected) in [
            (&[Starting][..], Some(End::Signalled(9))),
            (&[Starting, Ended(End::Exited(0))], Some(End::Exited(0))),
            (&[Starting, Ended(End::Signalled(15))], Some(End::Signalled(15))),
            (&[Starting, Ended(End::NotFound), Ended(End::Exited(1))], None),
            (&[Starting, Ended(End::NotStarted(13))], None),
            (&[Starting, NotExecuted], None),
            (&[], None),
            (&[Ended(End::Signalled(9))], None),
        ] {
            assert_eq!(settled(events, Err(failure())).ok(), expected, "{events:?}");
        }
    }

    #[test]
    fn a_report_on_what_never_started_is_an_error() {
        use Event::{Ended, Starting};
        let killed = || Ok(report(End::Signalled(9)));
        assert!(settled(&[], killed()).is_err());
        assert!(settled(&[Ended(End::Signalled(9))], killed()).is_err());
        assert_eq!(settled(&[Starting], killed()), Ok(End::Signalled(9)));
        assert_eq!(settled(&[Starting, Ended(End::Exited(3))], killed()), Ok(End::Exited(3)));
        assert_eq!(settled(&[Starting, Ended(End::NotFound)], killed()), Ok(End::NotFound));
        for end in [End::NotFound, End::NotStarted(13), End::TimedOut] {
            assert_eq!(settled(&[Starting], Ok(report(end))), Ok(end));
        }
    }

    #[test]
    fn an_error_that_is_told_names_its_step() {
        let settled = recorded(&[Event::Starting]).settle(Err(failure()), &Confined::default());
        assert!(settled.unwrap().interrupted.unwrap().starts_with("the supervisor"));
    }

    #[test]
    fn reading_ends_without_an_end_of_the_writers() {
        let (reader, writer) = pair().unwrap();
        writer.record(Event::Starting).unwrap();
        assert!(reader.read(Duration::from_millis(20)).is_started());
    }
}
