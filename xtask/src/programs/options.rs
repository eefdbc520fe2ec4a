//! The options of `cargo xtask programs`.

use std::path::PathBuf;

use super::install;
use crate::Failure;

/// The syntax of the arguments.
pub(crate) const ARGUMENTS: &str = "[--sample] [--controls] [--install] [--root DIR] [--each N] \
    [--seed N] [--jobs N] [--resume FILE] [--add FILE] [--write] [PROGRAM]…";

/// The programs of the sample, which the suite runs on every change. They come with the set-up or with the base system.
const SAMPLE: &[&str] = &[
    "[",
    "awk",
    "base64",
    "basename",
    "cat",
    "cmp",
    "comm",
    "cut",
    "date",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "env",
    "expr",
    "file",
    "find",
    "fold",
    "git",
    "grep",
    "gzip",
    "head",
    "ls",
    "md5sum",
    "nl",
    "od",
    "paste",
    "ps",
    "python3",
    "readlink",
    "realpath",
    "sed",
    "seq",
    "sha256sum",
    "sort",
    "stat",
    "strace",
    "tac",
    "tail",
    "tar",
    "test",
    "tr",
    "uniq",
    "wc",
    "which",
    "zcat",
];

/// The extent of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Every program.
    All,
    /// A few programs of this machine, and the controls of their traps.
    Sample,
    /// The controls of the traps alone.
    Controls,
}

/// The options of a run.
pub(super) struct Options {
    pub(super) extent: Extent,
    pub(super) install: bool,
    pub(super) write: bool,
    /// The root directory with the programs, or none for those of this machine.
    pub(super) root: Option<PathBuf>,
    /// The number of command lines for each program.
    pub(super) each: usize,
    /// The choice of command lines: 0 spreads them over the row, another number chooses by chance.
    pub(super) seed: u64,
    pub(super) jobs: usize,
    /// A file with the results of a run that was stopped. New results are appended to it.
    pub(super) resume: Option<PathBuf>,
    /// Files with the results of runs with other seeds, which are added to what is written.
    pub(super) add: Vec<PathBuf>,
    pub(super) programs: Vec<String>,
}

impl Options {
    /// Reads the arguments.
    pub(super) fn new(arguments: &[String]) -> Result<Self, Failure> {
        let mut options = Self {
            extent: Extent::All,
            install: false,
            write: false,
            root: None,
            each: 8,
            seed: 0,
            jobs: std::thread::available_parallelism().map_or(2, usize::from),
            resume: None,
            add: Vec::new(),
            programs: Vec::new(),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            options.read(word, &mut words)?;
        }
        if options.install && options.root.is_none() {
            options.root = Some(install::default_root());
        }
        if options.write && !options.programs.is_empty() {
            return Err(Failure::Usage("`--write` needs a run of all programs".to_owned()));
        }
        Ok(options)
    }

    /// Reads one argument and its value.
    fn read<'w>(
        &mut self,
        word: &str,
        rest: &mut impl Iterator<Item = &'w String>,
    ) -> Result<(), Failure> {
        let mut value =
            || rest.next().ok_or_else(|| Failure::Usage(format!("`{word}` needs a value")));
        match word {
            "--sample" => self.extent = Extent::Sample,
            "--controls" => self.extent = Extent::Controls,
            "--install" => self.install = true,
            "--write" => self.write = true,
            "--root" => self.root = Some(PathBuf::from(value()?)),
            "--each" => self.each = number(value()?)?,
            "--seed" => self.seed = number(value()?)?,
            "--jobs" => self.jobs = number(value()?)?,
            "--resume" => self.resume = Some(PathBuf::from(value()?)),
            "--add" => self.add.push(PathBuf::from(value()?)),
            option if option.starts_with('-') => {
                return Err(Failure::Usage(format!("unknown option `{option}`")));
            }
            program => self.programs.push(program.to_owned()),
        }
        Ok(())
    }

    /// Returns whether a program was asked for.
    pub(super) fn wants(&self, program: &str) -> bool {
        match (self.programs.is_empty(), self.extent == Extent::Sample) {
            (true, true) => SAMPLE.contains(&program),
            (true, false) => true,
            (false, _) => self.programs.iter().any(|asked| asked == program),
        }
    }
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, Failure> {
    text.parse().map_err(|_| Failure::Usage(format!("`{text}` is not a number")))
}
