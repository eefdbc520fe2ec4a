//! The options of the command.

use std::path::PathBuf;

use super::generate::DIALECT;
use crate::{Failure, agents};

/// The arguments of the command.
pub(crate) const ARGUMENTS: &str = "[--binary PATH] [--ours PATH] [--cases N] [--seed S] [--dialect 0.169|0.145] [--record FILE] [--amendments FILE]";

#[derive(Debug)]
pub(super) struct Options {
    /// The real program [default: the pinned one].
    pub(super) binary: PathBuf,
    /// The `openoxide` program [default: built from the workspace].
    pub(super) ours: Option<PathBuf>,
    pub(super) cases: u64,
    pub(super) seed: u64,
    /// The version of the real program.
    pub(super) dialect: String,
    /// The file for the real program's answers. If it is set, `openoxide` runs only if `ours` is
    /// set.
    pub(super) record: Option<PathBuf>,
    /// The file for the amendments that the real program writes to the disk. If it is set, only
    /// amendments are recorded.
    pub(super) amendments: Option<PathBuf>,
}

impl Options {
    pub(super) fn read(arguments: &[String]) -> Result<Self, Failure> {
        let wrong = || Failure::Usage(format!("`cargo xtask codex-session` takes {ARGUMENTS}"));
        let mut binary = None;
        let mut options = Self {
            binary: PathBuf::new(),
            ours: None,
            cases: 1_000,
            seed: 1,
            dialect: DIALECT.to_owned(),
            record: None,
            amendments: None,
        };
        for pair in arguments.chunks(2) {
            let [name, value] = pair else { return Err(wrong()) };
            match name.as_str() {
                "--binary" => binary = Some(value),
                "--ours" => options.ours = Some(value.into()),
                "--record" => options.record = Some(value.into()),
                "--amendments" => options.amendments = Some(value.into()),
                "--cases" => options.cases = value.parse().map_err(|_| wrong())?,
                "--dialect" => options.dialect.clone_from(value),
                "--seed" => options.seed = value.parse().map_err(|_| wrong())?,
                _ => return Err(wrong()),
            }
        }
        options.binary = match binary {
            Some(path) => std::path::absolute(path).map_err(|error| error.to_string())?,
            None if options.dialect == DIALECT => agents::CODEX.install()?,
            None => return Err(Failure::Usage("another dialect needs its --binary".to_owned())),
        };
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, Failure> {
        Options::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn another_dialect_without_its_binary_and_half_an_option_are_wrong() {
        for line in ["--dialect 0.145", "--binary", "--binary /x --cases", "--binary /x --cases y"]
        {
            assert!(matches!(read(line), Err(Failure::Usage(_))), "{line}");
        }
        assert_eq!(read("--binary /x --cases 3").unwrap().cases, 3);
    }
}
