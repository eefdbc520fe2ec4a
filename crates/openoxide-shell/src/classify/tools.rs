//! Programs that are harmless in some of their uses only.

use openoxide_protocol::{Word, Words};

use super::{Judge, Known, harmless, lookup, print::is_digits, read::Shape};
use crate::wrappers::{Inside, unfold};

/// `command -v NAME` and `command -V NAME` print; without them it runs what it is given.
pub(super) fn command(argv: &Words) -> Option<Known> {
    match argv.known(1)? {
        "-v" | "-V" => Some(Known::harmless()),
        _ => carried(argv),
    }
}

/// `time`: with an option it can write what it measures to a file.
pub(super) fn time(argv: &Words) -> Option<Known> {
    let first = argv.known(1)?;
    (first == "-p" || !first.starts_with('-')).then(|| carried(argv))?
}

/// A program that adds nothing to the one that it runs but a limit, a priority or a buffer.
pub(super) fn carried(argv: &Words) -> Option<Known> {
    const CARRIERS: [&str; 7] =
        ["builtin", "command", "ionice", "nice", "stdbuf", "time", "timeout"];
    let mut inner = carried_by(argv)?;
    for _ in 0..4 {
        if !CARRIERS.contains(&inner.known(0)?) {
            return harmless(&inner);
        }
        inner = carried_by(&inner)?;
    }
    None
}

fn carried_by(argv: &Words) -> Option<Words> {
    match unfold(argv) {
        Inside::Command(inner) => Some(inner),
        _ => None,
    }
}

/// Interpreters and their like, asked for their version and nothing else: without that they run what they read.
pub(super) fn version(argv: &Words) -> Option<Known> {
    let asks = match argv.known(1)? {
        "--version" => true,
        "-v" => matches!(argv.known(0)?, "node" | "nodejs" | "npm"),
        "-V" => argv.known(0)?.starts_with("python"),
        _ => false,
    };
    (asks && argv.len() == 2).then(Known::harmless)
}

/// `docker`: what only shows something.
pub(super) fn docker(argv: &Words) -> Option<Known> {
    static SUBCOMMANDS: &[(&str, Judge)] = &[
        (
            "images",
            Judge::Shape(Shape::text("aqf:", &["all digests filter: format: no-trunc quiet"])),
        ),
        ("inspect", Judge::Shape(Shape::text("sf:", &["format: size type:"]))),
        (
            "logs",
            Judge::Shape(Shape::text("ftn:", &["follow timestamps tail: since: until: details"])),
        ),
        (
            "ps",
            Judge::Shape(Shape::bare(
                "aqlsn:f:",
                &["all quiet no-trunc format: filter: last: latest size"],
            )),
        ),
    ];
    lookup(SUBCOMMANDS, argv.known(1)?)?.judge(argv, 2)
}

/// `strings`: an operand `@FILE` is a file with more options.
pub(super) fn strings(argv: &Words) -> Option<Known> {
    const STRINGS: Shape = Shape::files("afown:t:e:s:#", &["all bytes: radix: encoding:"]);
    let names_options = |word| matches!(word, Word::Known(text) if text.starts_with('@'));
    (!argv.iter().any(names_options)).then(|| STRINGS.judge(argv, 1))?
}

/// `tput`: capabilities that only print; `init` and `reset` run what the terminal's description says.
pub(super) fn tput(argv: &Words) -> Option<Known> {
    const PRINTING: [&str; 20] = [
        "bel", "blink", "bold", "civis", "clear", "cnorm", "colors", "cols", "cup", "dim", "el",
        "lines", "op", "rev", "rmul", "setab", "setaf", "sgr0", "smso", "smul",
    ];
    let number = |word| matches!(word, Word::Known(text) if is_digits(text));
    (PRINTING.contains(&argv.known(1)?) && argv.iter().skip(2).all(number)).then(Known::harmless)
}

/// `xxd`: reads its first operand and writes its second. It looks at two letters of each option, whatever follows, so
/// only options of two letters are certain.
pub(super) fn xxd(argv: &Words) -> Option<Known> {
    let mut known = Known::harmless();
    let mut words = argv.iter().skip(1);
    let mut files = 0;
    while let Some(word) = words.next() {
        let Word::Known(text) = word else { return None };
        let number = match text {
            "-a" | "-b" | "-e" | "-u" | "-d" | "-p" | "-ps" | "-i" | "-E" | "-C" => continue,
            "-c" | "-g" | "-l" | "-s" | "-o" => words.next()?,
            _ if text.starts_with('-') && text != "-" => {
                let attached = ["-c", "-g", "-l", "-s", "-o"];
                Word::Known(attached.iter().find_map(|option| text.strip_prefix(option))?)
            }
            file => {
                files += 1;
                known.read(file);
                continue;
            }
        };
        let Word::Known(number) = number else { return None };
        is_offset(number).then_some(())?;
    }
    (files <= 1).then_some(known)
}

fn is_offset(number: &str) -> bool {
    let digits = number.trim_start_matches(['+', '-']);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'x')
}
