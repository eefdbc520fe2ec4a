//! The options of the referee.

use std::thread;

/// The syntax of the arguments.
pub(crate) const ARGUMENTS: &str =
    "[--cases N] [--seed S] [--from N] [--shell bash|dash] [--jobs J]";

/// The shell that runs the scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shell {
    /// bash, the shell that the analysis is about.
    #[default]
    Bash,
    /// dash, started as `dash -c SCRIPT`.
    Dash,
}

/// The options, with their default values.
#[derive(Debug)]
pub(crate) struct Options {
    /// The number of scripts to run.
    pub(crate) cases: u64,
    /// The seed of the random numbers. The same seed gives the same scripts.
    pub(crate) seed: u64,
    /// The number of the first script, to repeat a single miss.
    pub(crate) from: u64,
    /// The shell that runs them.
    pub(crate) shell: Shell,
    /// The number of jobs that run at once.
    pub(crate) jobs: usize,
    /// A file with one script to run and to show.
    pub(crate) explain: Option<String>,
}

impl Options {
    /// Reads the arguments.
    pub(crate) fn read(arguments: &[String]) -> Result<Self, String> {
        // A tracer and its tracee alternate, so two jobs per core keep all cores busy.
        let jobs = thread::available_parallelism().map_or(2, |cores| cores.get() * 2);
        let mut options =
            Self { cases: 20_000, seed: 1, from: 0, shell: Shell::default(), jobs, explain: None };
        let mut words = arguments.iter();
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("`{name}` wants a value"))?;
            options.set(name, value)?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wrong = || format!("`{name}` cannot be `{value}`");
        match name {
            "--cases" => self.cases = value.parse().map_err(|_| wrong())?,
            "--seed" => self.seed = value.parse().map_err(|_| wrong())?,
            "--from" => self.from = value.parse().map_err(|_| wrong())?,
            "--jobs" => self.jobs = value.parse().map_err(|_| wrong())?,
            "--explain" => self.explain = Some(value.to_owned()),
            "--shell" if value == "bash" => self.shell = Shell::Bash,
            "--shell" if value == "dash" => self.shell = Shell::Dash,
            "--shell" => return Err(wrong()),
            _ => return Err(format!("`cargo xtask referee` has no `{name}`")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Options, String> {
        Options::read(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn missing_options_have_their_default_value() {
        let options = read("--seed 7 --shell dash").unwrap();
        assert_eq!((options.cases, options.seed, options.shell), (20_000, 7, Shell::Dash));
    }

    #[test]
    fn a_wrong_word_is_named() {
        assert!(read("--cases many").unwrap_err().contains("many"));
        assert!(read("--shell zsh").unwrap_err().contains("zsh"));
        assert!(read("--seed").unwrap_err().contains("--seed"));
        assert!(read("--nope 1").unwrap_err().contains("--nope"));
    }
}
