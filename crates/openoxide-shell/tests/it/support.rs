//! Helpers that the tests share.

use openoxide_protocol::{AbsPath, Access, CommandWord, CommandWords, OperationFacts};
use openoxide_shell::{AnalysisContext, analyze_script};

/// The scripts that chance starts from: every construct of the language, and commands hidden in all of them.
pub(crate) fn seeds() -> Vec<&'static str> {
    include_str!("seeds.txt").trim_end_matches('\n').split("\n%%\n").collect()
}

/// Returns the scripts that `cargo xtask referee` has found, and others that must always be checked
/// (`corpus/shell`).
#[expect(clippy::disallowed_methods, reason = "the corpus is read; the crate itself stays pure")]
pub(crate) fn corpus() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/shell");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<String> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == "sh"))
        .map(|file| std::fs::read_to_string(file).unwrap().trim_end_matches('\n').to_owned())
        .collect();
    scripts.sort_unstable();
    scripts
}

/// Returns the facts of `script` in a project of a user's home directory.
pub(crate) fn facts(script: &str) -> OperationFacts {
    let cwd = AbsPath::new("/home/me/project").unwrap();
    let home = AbsPath::new("/home/me").unwrap();
    analyze_script(script, &AnalysisContext { cwd: &cwd, home: Some(&home) })
}

pub(crate) fn is_opaque(facts: &OperationFacts) -> bool {
    facts.accesses.iter().any(|access| matches!(access, Access::Opaque { .. }))
}

/// Returns the names of the programs that would run.
pub(crate) fn programs(facts: &OperationFacts) -> Vec<&str> {
    facts
        .accesses
        .iter()
        .filter_map(|access| match access {
            Access::Exec(exec) => exec.argv.known_word(0),
            _ => None,
        })
        .collect()
}

/// Returns whether a program with exactly these words is among those that would run.
pub(crate) fn lists(facts: &OperationFacts, words: &[String]) -> bool {
    facts.accesses.iter().any(|access| match access {
        Access::Exec(exec) => matches(&exec.argv.iter().collect::<Vec<_>>(), words),
        _ => false,
    })
}

fn matches(expected: &[CommandWord<'_>], words: &[String]) -> bool {
    match (expected.split_first(), words.split_first()) {
        (None, None) => true,
        (Some((CommandWord::AnyWords, rest)), None) => matches(rest, words),
        (Some((CommandWord::AnyWords, rest)), Some((_, others))) => {
            matches(rest, words) || matches(expected, others)
        }
        (Some((CommandWord::Known(text), rest)), Some((word, others))) => {
            word == text && matches(rest, others)
        }
        (Some((CommandWord::KnownPrefix(text), rest)), Some((word, others))) => {
            word.starts_with(text) && matches(rest, others)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Returns one line for each access: its kind and what it touches.
pub(crate) fn lines(facts: &OperationFacts) -> Vec<String> {
    facts.accesses.iter().map(line).collect()
}

fn line(access: &Access) -> String {
    match access {
        Access::Exec(exec) => format!("exec {}", shown(&exec.argv)),
        Access::Read(path) => format!("read {}", path.path),
        Access::Edit(path) => format!("edit {}", path.path),
        Access::Fetch { host, .. } => format!("fetch {host}"),
        Access::ExternalDirectory(place) => format!("enter {}", place.path),
        Access::Opaque { text, .. } => format!("opaque {text}"),
        other => format!("{other:?}"),
    }
}

fn shown(words: &CommandWords) -> String {
    let words = words.iter().map(|word| match word {
        CommandWord::Known(text) => text.to_owned(),
        CommandWord::KnownPrefix(text) => format!("{text}<?>"),
        CommandWord::AnyWords => "<*>".to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

pub(crate) fn codes(facts: &OperationFacts) -> Vec<&str> {
    facts.findings.iter().map(|finding| finding.code.as_ref()).collect()
}
