//! Exit codes. They are part of the interface of the program.

use std::process::ExitCode;

/// The exit status of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramExit {
    /// Allow, or success.
    Success,
    /// OpenOxide failed.
    Failure,
    /// The arguments or the configuration are wrong.
    Usage,
    /// Deny.
    Deny,
    /// A person is needed, and none can be asked.
    Ask,
    /// No answer arrived in time.
    Expired,
    /// The program that was run exceeded its time limit.
    TimedOut,
    /// `run` itself failed.
    RunFailed,
    /// `run` was refused.
    Refused,
    /// `run` found no such program.
    NotFound,
    /// Ctrl-C or a termination signal.
    Interrupted,
    /// The status of the program that was run.
    Program(u8),
}

impl ProgramExit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Deny => 3,
            Self::Ask => 4,
            Self::Expired => 5,
            Self::TimedOut => 124,
            Self::RunFailed => 125,
            Self::Refused => 126,
            Self::NotFound => 127,
            Self::Interrupted => 130,
            Self::Program(code) => code,
        }
    }
}

impl From<ProgramExit> for ExitCode {
    fn from(exit: ProgramExit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_contract() {
        let codes = [
            ProgramExit::Success,
            ProgramExit::Failure,
            ProgramExit::Usage,
            ProgramExit::Deny,
            ProgramExit::Ask,
            ProgramExit::Expired,
            ProgramExit::RunFailed,
            ProgramExit::Refused,
            ProgramExit::NotFound,
            ProgramExit::Interrupted,
            ProgramExit::Program(7),
        ];
        assert_eq!(codes.map(ProgramExit::code), [0, 1, 2, 3, 4, 5, 125, 126, 127, 130, 7]);
    }
}
