//! `jq`: a filter can read the environment and other files, so it is searched for the words that do.

use openoxide_protocol::{Word, Words};

use super::{
    super::{Arguments, Meaning, level::Level},
    Known, harmless,
};

const FLAGS: &str = "nrcRajSCMseh";

/// The builtins and keywords that reach beyond the input.
const REACHING: [&str; 7] =
    ["env", "ENV", "import", "include", "modulemeta", "get_search_list", "input_filename"];

/// Reads a whole command.
pub(in super::super) fn jq(_: &Level, arguments: Arguments<'_>, _: usize) -> Meaning {
    harmless(judge(arguments.words))
}

fn judge(argv: &Words) -> Option<Known> {
    let mut known = Known::default();
    let mut words = argv.iter().skip(1);
    let mut filter = None;
    let mut operands_only = false;
    while let Some(word) = words.next() {
        let Word::Known(text) = word else { return None };
        match text {
            _ if operands_only || !text.starts_with('-') || text == "-" => match filter {
                None => filter = Some(text),
                Some(_) => known.read(text),
            },
            "--" => operands_only = true,
            "--arg" | "--argjson" => {
                words.nth(1).filter(|word| *word != Word::Many)?;
            }
            "--slurpfile" | "--rawfile" => known.read_word(words.nth(1)?)?,
            "--indent" => words.next().filter(|word| *word != Word::Many).map(|_| ())?,
            _ => flag(text)?,
        }
    }
    stays_within(filter?).then_some(known)
}

fn flag(text: &str) -> Option<()> {
    let long = "--null-input --raw-output --compact-output --raw-input --ascii-output \
        --join-output --sort-keys --color-output --monochrome-output --slurp --exit-status \
        --tab --seq --stream --stream-errors --unbuffered --raw-output0";
    let short = text.strip_prefix('-')?;
    let known =
        long.split(' ').any(|each| each == text) || short.chars().all(|each| FLAGS.contains(each));
    known.then_some(())
}

/// Says whether a filter reads nothing but its input.
pub(super) fn stays_within(filter: &str) -> bool {
    filter
        .split(|each: char| !each.is_ascii_alphanumeric() && each != '_')
        .all(|word| !REACHING.contains(&word))
}
