//! Comparison of the analysis of a script with its actions.

use std::fmt;

use openoxide_protocol::{
    AbsPath, Access, CommandClass, CommandWord, CommandWords, ExecAccess, OperationFacts,
};
use openoxide_shell::{AnalysisContext, analyze_script};

use super::{
    deeds::{By, Deeds, Started, Written, base_name},
    stage::{HOME, WORK},
    work::Case,
};

/// An action that the analysis did not report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// A program was started that is not in the analysis.
    Program(Vec<String>),
    /// A shell opened a file for writing that is not in the analysis.
    File(String),
    /// All commands are harmless according to the analysis, but something was changed.
    Change(String),
}

impl Miss {
    /// Returns whether two misses are of the same kind. A shortened script must miss in the same
    /// way.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(words) => write!(out, "program {words:?}"),
            Self::File(path) => write!(out, "file {path:?}"),
            Self::Change(path) => write!(out, "change of {path:?} by harmless commands"),
        }
    }
}

/// Returns the result of the analysis of a case.
pub(crate) fn facts(case: &Case) -> OperationFacts {
    let path = |text: &str| AbsPath::new(text).ok();
    let (Some(cwd), Some(home)) = (path(WORK), path(HOME)) else {
        return OperationFacts::default();
    };
    analyze_script(&case.for_bash(), &AnalysisContext { cwd: &cwd, home: Some(&home) })
}

/// Compares the reported facts with the recorded actions.
pub(crate) fn judge(facts: &OperationFacts, deeds: &Deeds) -> Option<Miss> {
    if is_opaque(facts) {
        return None;
    }
    if let Some(started) = deeds.started.iter().find(|started| !is_listed(facts, started)) {
        let name = started.names.last().cloned();
        return Some(Miss::Program(name.into_iter().chain(started.arguments.clone()).collect()));
    }
    let shells = deeds.written.iter().filter(|written| written.by_shell);
    let mut unsaid = shells.filter(|written| !is_edit(facts, written, deeds.linked));
    if let Some(written) = unsaid.next() {
        return Some(Miss::File(written.path.clone()));
    }
    let change = deeds.written.iter().find(|written| written.done);
    change.filter(|_| is_harmless(facts)).map(|written| Miss::Change(written.path.clone()))
}

/// Returns whether the analysis did not understand a part of the script.
pub(crate) fn is_opaque(facts: &OperationFacts) -> bool {
    facts.accesses.iter().any(|access| matches!(access, Access::Opaque { .. }))
}

/// Returns true if the script changes nothing according to the analysis.
pub(crate) fn is_harmless(facts: &OperationFacts) -> bool {
    facts.accesses.iter().all(|access| match access {
        Access::Exec(exec) => exec.class == CommandClass::Harmless,
        Access::Read(_) | Access::ExternalDirectory(_) => true,
        _ => false,
    })
}

/// Returns the reported programs.
pub(crate) fn programs(facts: &OperationFacts) -> impl Iterator<Item = &ExecAccess> {
    facts.accesses.iter().filter_map(|access| match access {
        Access::Exec(exec) => Some(exec),
        _ => None,
    })
}

fn is_listed(facts: &OperationFacts, started: &Started) -> bool {
    if programs(facts).any(|exec| can_be(exec, started)) {
        return true;
    }
    // The analysis states only of harmless programs that they start no other programs.
    match &started.by {
        By::Shell => false,
        By::Program(words) => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            programs(facts)
                .any(|exec| exec.class != CommandClass::Harmless && fits(&exec.argv, &words))
        }
    }
}

/// Returns whether a reported program can be the one that was started.
pub(crate) fn can_be(exec: &ExecAccess, started: &Started) -> bool {
    started.names.iter().any(|name| {
        let words: Vec<&str> =
            std::iter::once(name).chain(&started.arguments).map(String::as_str).collect();
        fits(&exec.argv, &words)
    })
}

/// Returns whether `expected` matches these words. Works row by row, so that a pattern with many
/// gaps does not take too long.
fn fits(expected: &CommandWords, words: &[&str]) -> bool {
    let mut reached = vec![false; words.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for word in expected.iter() {
        reached = step(word, &reached, words);
    }
    reached.last() == Some(&true)
}

fn step(expected: CommandWord<'_>, reached: &[bool], words: &[&str]) -> Vec<bool> {
    let mut next = Vec::with_capacity(reached.len());
    let mut any = false;
    for (at, here) in reached.iter().enumerate() {
        any |= here;
        let before =
            at.checked_sub(1).and_then(|before| Some((reached.get(before)?, words.get(before)?)));
        next.push(match (expected, before) {
            (CommandWord::AnyWords, _) => any,
            (CommandWord::Known(text), Some((true, word))) => *word == text,
            (CommandWord::KnownPrefix(text), Some((true, word))) => word.starts_with(text),
            _ => false,
        });
    }
    next
}

fn is_edit(facts: &OperationFacts, written: &Written, linked: bool) -> bool {
    let Some(path) = AbsPath::new(WORK).ok().map(|work| work.join(&written.path)) else {
        return false;
    };
    facts.accesses.iter().any(|access| match access {
        // After a link that the script has created, the text of a path does not determine its
        // target.
        Access::Edit(edit) if linked => base_name(edit.path.as_str()) == base_name(path.as_str()),
        Access::Edit(edit) => edit.path == path,
        _ => false,
    })
}

/// Returns one line for each access.
pub(crate) fn lines(facts: &OperationFacts) -> Vec<String> {
    facts.accesses.iter().map(line).collect()
}

fn line(access: &Access) -> String {
    match access {
        Access::Exec(exec) => format!("exec {:?} {:?}", exec.class, exec.argv),
        Access::Read(path) => format!("read {}", path.path),
        Access::Edit(path) => format!("edit {}", path.path),
        other => format!("{} {}", other.permission_name(), other.summary()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::referee::options::Shell;

    fn case(script: &str) -> OperationFacts {
        facts(&Case { script: script.to_owned(), shell: Shell::Bash, luck: 0 })
    }

    fn started(words: &[&str], by: By) -> Deeds {
        let names = words.first().map(ToString::to_string).into_iter().collect();
        let arguments = words.iter().skip(1).map(ToString::to_string).collect();
        Deeds { started: vec![Started { names, arguments, by }], ..Deeds::default() }
    }

    #[test]
    fn gaps_become_any_number_of_words() {
        let mut expected: CommandWords = ["a"].into_iter().collect();
        expected.push_any_words();
        expected.push_unknown();
        expected.push_any_words();
        assert!(fits(&expected, &["a", "b"]));
        assert!(fits(&expected, &["a", "b", "c", "d"]));
        assert!(!fits(&expected, &["a"]));
        assert!(!fits(&expected, &["b", "b"]));
    }

    #[test]
    fn programs_started_by_a_harmless_program_must_be_reported() {
        let by = |words: &[&str]| By::Program(words.iter().map(ToString::to_string).collect());
        let unknown = started(&["evil1"], by(&["python3", "x"]));
        assert_eq!(judge(&case("python3 x"), &unknown), None);
        let harmless = started(&["evil1"], by(&["cat", "x"]));
        assert!(matches!(judge(&case("cat x"), &harmless), Some(Miss::Program(_))));
        assert!(judge(&case("python3 x"), &started(&["evil1"], By::Shell)).is_some());
    }

    #[test]
    fn harmless_commands_change_nothing() {
        let written = Written { path: format!("{WORK}/x"), by_shell: false, done: true };
        let deeds = Deeds { written: vec![written], ..Deeds::default() };
        assert!(matches!(judge(&case("cat x"), &deeds), Some(Miss::Change(_))));
        assert_eq!(judge(&case("tee x"), &deeds), None);
    }
}
