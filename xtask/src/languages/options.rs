//! The options of the language fuzzers.

use super::language::{LANGUAGES, Language};

/// The syntax of the arguments.
pub(crate) const ARGUMENTS: &str =
    "[awk|jq|sed|sql]… [--cases N] [--seed S] [--from N] [--jobs J] [--seconds N]";

/// The options, with their default values.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) languages: Vec<&'static Language>,
    /// The number of programs to generate in each language.
    pub(crate) cases: u64,
    /// The same seed gives the same programs.
    pub(crate) seed: u64,
    /// The number of the first program, to repeat a single violation.
    pub(crate) from: u64,
    /// The number of workers that run at once.
    pub(crate) jobs: usize,
    /// The number of seconds after which no more programs are generated in a language.
    pub(crate) seconds: u64,
}

impl Options {
    /// Reads the arguments.
    pub(crate) fn read(arguments: &[String]) -> Result<Self, String> {
        let jobs = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let mut options = Self {
            languages: Vec::new(),
            cases: 20_000,
            seed: 1,
            from: 0,
            jobs,
            seconds: u64::MAX,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if let Some(language) = LANGUAGES.iter().find(|language| language.name == word) {
                options.languages.push(language);
                continue;
            }
            let value = words.next().ok_or_else(|| format!("`{word}` needs a value"))?;
            options.set(word, value)?;
        }
        if options.languages.is_empty() {
            options.languages = LANGUAGES.iter().collect();
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wrong = |_| format!("`{name}` cannot be `{value}`");
        match name {
            "--cases" => self.cases = value.parse().map_err(wrong)?,
            "--seed" => self.seed = value.parse().map_err(wrong)?,
            "--from" => self.from = value.parse().map_err(wrong)?,
            "--seconds" => self.seconds = value.parse().map_err(wrong)?,
            "--jobs" => self.jobs = value.parse().map_err(wrong)?,
            _ => return Err(format!("`cargo xtask languages` has no `{name}`")),
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
    fn without_a_name_all_languages_are_tried() {
        let names = |options: Options| -> Vec<_> {
            options.languages.iter().map(|language| language.name).collect()
        };
        assert_eq!(names(read("--cases 5").unwrap()), ["awk", "jq", "sed", "sql"]);
        assert_eq!(names(read("sql awk --seed 2").unwrap()), ["sql", "awk"]);
    }

    #[test]
    fn a_wrong_word_is_named() {
        assert!(read("--cases many").unwrap_err().contains("many"));
        assert!(read("--seed").unwrap_err().contains("--seed"));
        assert!(read("perl 1").unwrap_err().contains("perl"));
    }
}
