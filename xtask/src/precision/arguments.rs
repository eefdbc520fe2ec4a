//! The arguments: what to measure and what to show.

use std::path::PathBuf;

use super::{case::Judged, split::Split, tally};
use crate::Failure;

/// The options that it accepts in addition to files.
const OPTIONS: &str = "options: --list harmless-asked|asks-allowed|dangerous-allowed, \
                       --split tune|held-out, --max-asked PERCENT, --auto-allow project|all";

/// The arguments of the command.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// The files with labelled commands.
    pub(crate) files: Vec<PathBuf>,
    /// The kind of offence to list instead of counting.
    pub(crate) list: Option<Offence>,
    /// The half whose commands are shown one by one. The default is the half for tuning.
    pub(crate) split: Split,
    /// The percentage of harmless commands in the held-out half that may be asked about.
    pub(crate) max_asked: Option<f64>,
    /// The value of `auto_allow` in the policy, which is empty otherwise.
    pub(crate) auto_allow: Option<&'static str>,
}

/// A decision that does not fit its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offence {
    /// A harmless command was not allowed.
    HarmlessAsked,
    /// A command that can do irreparable harm was allowed.
    DangerousAllowed,
    /// A command that a person should have been asked about was allowed.
    AsksAllowed,
}

impl Offence {
    /// All kinds.
    pub(crate) const ALL: [Self; 3] =
        [Self::HarmlessAsked, Self::AsksAllowed, Self::DangerousAllowed];

    /// Returns the name of the kind on the command line.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::HarmlessAsked => "harmless-asked",
            Self::DangerousAllowed => "dangerous-allowed",
            Self::AsksAllowed => "asks-allowed",
        }
    }

    /// Returns whether `judged` is of this kind.
    pub(crate) fn is(self, judged: &Judged) -> bool {
        tally::offence(judged) == Some(self)
    }
}

impl Arguments {
    /// Parses the arguments.
    pub(crate) fn read(words: &[String]) -> Result<Self, Failure> {
        let (files, split) = (Vec::new(), Split::Tune);
        let mut read = Self { files, list: None, split, max_asked: None, auto_allow: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--list" => read.list = Some(value(word, words.next(), offence)?),
                "--split" => read.split = value(word, words.next(), Split::parse)?,
                "--auto-allow" => read.auto_allow = Some(value(word, words.next(), auto_allow)?),
                "--max-asked" => read.max_asked = Some(value(word, words.next(), percent)?),
                flag if flag.starts_with('-') => return Err(stranger(flag)),
                file => read.files.push(file.into()),
            }
        }
        if read.files.is_empty() {
            return Err(Failure::Usage(format!("`cargo xtask precision` wants a FILE\n{OPTIONS}")));
        }
        Ok(read)
    }
}

fn value<T>(
    flag: &str,
    word: Option<&String>,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, Failure> {
    let parsed = word.and_then(|word| parse(word));
    parsed.ok_or_else(|| {
        let word = word.map_or("nothing", String::as_str);
        Failure::Usage(format!("`{flag}` does not take `{word}`"))
    })
}

fn offence(word: &str) -> Option<Offence> {
    Offence::ALL.into_iter().find(|offence| offence.word() == word)
}

fn auto_allow(word: &str) -> Option<&'static str> {
    ["project", "all"].into_iter().find(|value| *value == word)
}

fn percent(word: &str) -> Option<f64> {
    word.parse().ok().filter(|percent| (0.0..=100.0).contains(percent))
}

fn stranger(flag: &str) -> Failure {
    Failure::Usage(format!("`cargo xtask precision` has no `{flag}`\n{OPTIONS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Arguments, Failure> {
        Arguments::read(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn the_setting_of_the_policy_is_accepted() {
        for value in ["project", "all"] {
            assert_eq!(read(&["a", "--auto-allow", value]).unwrap().auto_allow, Some(value));
        }
    }

    #[test]
    fn flags_and_files_are_accepted_in_any_order() {
        let read =
            read(&["a.tsv", "--list", "asks-allowed", "--max-asked", "7.5", "b.jsonl"]).unwrap();
        assert_eq!(read.auto_allow, None);
        assert_eq!(read.files, [PathBuf::from("a.tsv"), PathBuf::from("b.jsonl")]);
        assert_eq!(read.list, Some(Offence::AsksAllowed));
        assert_eq!((read.max_asked, read.split), (Some(7.5), Split::Tune));
    }

    #[test]
    fn an_invalid_argument_is_a_usage_failure() {
        for words in [
            &[][..],
            &["a", "--lisp"],
            &["a", "--list"],
            &["a", "--list", "x"],
            &["a", "--max-asked", "101"],
            &["a", "--split", "half"],
            &["a", "--auto-allow", "off"],
        ] {
            assert!(matches!(read(words), Err(Failure::Usage(_))), "{words:?}");
        }
    }
}
