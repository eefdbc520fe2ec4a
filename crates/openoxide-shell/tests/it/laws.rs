//! Properties that every script has, whatever its origin. The fuzzers and the tests share them.

use openoxide_protocol::{AbsPath, Access, CommandWord, CommandWords, OperationFacts};
use openoxide_shell::{AnalysisContext, MAX_SCRIPT_SIZE, analyze_script};

/// Analyses a script in a project of a user's home directory.
pub(crate) fn facts(script: &str) -> OperationFacts {
    let (cwd, home) = (AbsPath::new("/home/me/p").unwrap(), AbsPath::new("/home/me").unwrap());
    analyze_script(script, &AnalysisContext { cwd: &cwd, home: Some(&home) })
}

/// Checks that the analysis does not panic, that its result is not much longer than the script, and
/// that its spans are inside of the script.
pub(crate) fn it_answers(script: &str) {
    let facts = facts(script);
    // A word of three letters can be a command with a finding; `cd` multiplies directories by four at most.
    let most = 64 + 16 * script.len();
    assert!(facts.accesses.len() + facts.findings.len() <= most, "{script:?}");
    for finding in &facts.findings {
        let end = usize::try_from(finding.span.end).unwrap();
        assert!(finding.span.start <= finding.span.end, "{script:?}");
        assert!(end <= script.len(), "{script:?}");
    }
    if script.len() > MAX_SCRIPT_SIZE {
        assert!(is_opaque(&facts), "{script:?}");
    }
}

/// Words that are quoted come back as they were: one word each, all of them known.
pub(crate) fn quoted_words_come_back(text: &str) {
    let words: Vec<&str> = text.split('\0').collect();
    let quoted = words.iter().map(|word| format!(" '{}'", word.replace('\'', r"'\''")));
    let script = format!("evil{}", quoted.collect::<String>());
    let facts = facts(&script);
    // What deceives the eye is refused before it is read.
    if is_opaque(&facts) {
        assert!(deceives(text) || script.len() > MAX_SCRIPT_SIZE, "{script:?}");
        return;
    }
    let expected: CommandWords = std::iter::once("evil").chain(words.iter().copied()).collect();
    let commands: Vec<&CommandWords> = commands(&facts).collect();
    assert_eq!(commands, [&expected], "{script:?}");
}

/// Two scripts in subshells do what each of them does: neither hides what the other does.
pub(crate) fn neighbours_hide_nothing(one: &str, other: &str) {
    // What the first one assigns, or where it goes, may be seen by the second: then it knows less.
    if other.contains(['$', '`', '~', '*', '?', '[', '{']) || one.contains("<<") {
        return;
    }
    let wrapped = |script: &str| format!("(\n{script}\n)");
    let (first, second) = (facts(&wrapped(one)), facts(&wrapped(other)));
    let both = facts(&format!("{}\n{}", wrapped(one), wrapped(other)));
    // A script that ends in the middle of a word goes on in its neighbour.
    if [&first, &second, &both].into_iter().any(is_opaque) {
        return;
    }
    for command in commands(&first).chain(commands(&second)) {
        assert!(
            commands(&both).any(|listed| covers(listed, command)),
            "{command:?} of {one:?} and {other:?}"
        );
    }
}

/// Returns whether a listed command covers another one. The effects of one script on variables, the
/// directory or traps may make less known about the script next to it. Words that are unknown there
/// may be any words.
fn covers(listed: &CommandWords, command: &CommandWords) -> bool {
    let (listed, command): (Vec<_>, Vec<_>) = (listed.iter().collect(), command.iter().collect());
    // For each number of words of the command: whether the listed words so far match exactly these.
    let mut reached = vec![false; command.len() + 1];
    reached[0] = true;
    for one in listed {
        reached = match one {
            CommandWord::AnyWords => {
                let first = reached.iter().position(|reached| *reached);
                (0..reached.len()).map(|at| first.is_some_and(|first| first <= at)).collect()
            }
            one => {
                let word = |at: usize| reached[at] && stands_for(one, command[at]);
                std::iter::once(false).chain((0..command.len()).map(word)).collect()
            }
        };
    }
    reached[command.len()]
}

/// Returns whether a listed word matches another one.
fn stands_for(listed: CommandWord<'_>, word: CommandWord<'_>) -> bool {
    match (listed, word) {
        (
            CommandWord::KnownPrefix(start),
            CommandWord::Known(word) | CommandWord::KnownPrefix(word),
        ) => word.starts_with(start),
        (listed, word) => listed == word,
    }
}

fn commands(facts: &OperationFacts) -> impl Iterator<Item = &CommandWords> {
    facts.accesses.iter().filter_map(|access| match access {
        Access::Exec(exec) => Some(&exec.argv),
        _ => None,
    })
}

fn is_opaque(facts: &OperationFacts) -> bool {
    facts.accesses.iter().any(|access| matches!(access, Access::Opaque { .. }))
}

/// Returns whether a text contains characters that are invisible or look like others.
fn deceives(text: &str) -> bool {
    text.chars().any(|each| !each.is_ascii_graphic() && !" \n\t".contains(each))
}
