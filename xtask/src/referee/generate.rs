//! Random scripts: from a grammar, and from fragments of the corpus.

mod grammar;

use std::{collections::BTreeSet, sync::LazyLock};

use self::grammar::Grammar;
use super::{chance::Chance, options::Shell};

/// Texts that must not run even in a namespace: they could end the driver, or read its files.
const NEVER: &[&str] = &["kill", "/proc", "/sys", "/marker", "/ox", "\0"];
const LONGEST: usize = 3000;
/// The rarest construct is in one script of a few hundred.
const MOST_TRIES: usize = 3000;

static GRAMMAR: LazyLock<Grammar> =
    LazyLock::new(|| Grammar::read(include_str!("generate/grammar.txt")));

/// The constructs that the grammar shows: each must be run.
pub(crate) static CONSTRUCTS: LazyLock<BTreeSet<&'static str>> =
    LazyLock::new(|| GRAMMAR.constructs());

/// The commands that the shell runs without a program.
pub(crate) const BUILTINS: &[&str] = &[
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
    "f",
    "g",
];

/// The source of scripts.
#[derive(Debug)]
pub(crate) struct Generator {
    seeds: Vec<String>,
}

impl Generator {
    /// Creates a source of scripts from the grammar and from `seeds`.
    pub(crate) const fn new(seeds: Vec<String>) -> Self {
        Self { seeds }
    }

    /// Returns the script `number`, and the constructs that the grammar has put into it. The seeds themselves come first.
    pub(crate) fn script(
        &self,
        number: u64,
        shell: Shell,
        chance: &mut Chance,
    ) -> (String, Vec<&'static str>) {
        let seed = usize::try_from(number).ok().and_then(|number| self.seeds.get(number));
        match seed {
            Some(seed) if shell == Shell::Bash => (seed.clone(), Vec::new()),
            _ if number.is_multiple_of(4) => aimed(number / 4, chance),
            _ if number.is_multiple_of(2) => GRAMMAR.script(chance),
            _ => (self.mutant(chance), Vec::new()),
        }
    }

    fn mutant(&self, chance: &mut Chance) -> String {
        let seeds: Vec<&str> = self.seeds.iter().map(String::as_str).collect();
        chance.script(&seeds)
    }

    /// Returns whether a script may be run.
    pub(crate) fn accepts(&self, script: &str) -> bool {
        script.len() < LONGEST && !NEVER.iter().any(|word| script.contains(word))
    }
}

/// Returns a script with a given construct. The constructs alternate, so that rare ones do not
/// depend on chance.
fn aimed(turn: u64, chance: &mut Chance) -> (String, Vec<&'static str>) {
    let turn = usize::try_from(turn).unwrap_or_default() % CONSTRUCTS.len().max(1);
    let mut script = GRAMMAR.script(chance);
    if let Some(construct) = CONSTRUCTS.iter().nth(turn) {
        for _ in 0..MOST_TRIES {
            if script.1.contains(construct) {
                break;
            }
            script = GRAMMAR.script(chance);
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ways in which the shell can hide a command. A grammar without one of them proves less.
    const REQUIRED: &str = "list pipeline pipe-stderr background group subshell for for-arithmetic while until case \
        case-through case-on select if condition arithmetic-command let function function-word coproc time not heredoc \
        heredoc-quoted heredoc-tabs heredoc-substitution here-string process-in process-out substitution backquote \
        assigned-substitution write-substitution arithmetic-substitution element-substitution default trim-front \
        trim-back replace slice length indirect-operator condition-variable prompt-operator array associative \
        ansi-quoted locale-quoted brace brace-expansion tilde \
        glob-program alias export declare readonly local typeset read mapfile \
        printf-variable getopts path-before preload-before git-before bash-env-before env-before pager-before \
        ifs-before set shopt ifs hash enable trap-exit trap-debug trap-err eval source exec command builtin \
        continuation carriage-return tab vertical-tab no-break-space comment history constants wait jobs pushd cd \
        unset ulimit umask exit return break continue read-redirection write append-redirection read-write clobber \
        both both-append duplicate descriptor-variable bash-c sh-c dash-c env xargs find-exec nice timeout nohup \
        stdbuf setsid time-program ionice chrt taskset flock script tool-watch";

    #[test]
    fn every_construct_is_generated() {
        let absent: Vec<_> =
            REQUIRED.split_whitespace().filter(|name| !CONSTRUCTS.contains(name)).collect();
        assert!(absent.is_empty(), "{absent:?}");
    }

    #[test]
    fn the_grammar_reaches_every_construct() {
        let generator = Generator::new(Vec::new());
        let mut seen = BTreeSet::new();
        for number in 0..60_000 {
            let mut chance = Chance::new(number);
            let (script, tags) = generator.script(number * 4 + 2, Shell::Bash, &mut chance);
            assert!(!script.contains(['‹', '›', '␤']), "{script}");
            seen.extend(tags);
        }
        let absent: Vec<_> = CONSTRUCTS.difference(&seen).collect();
        assert!(absent.is_empty(), "{absent:?}");
        assert!(CONSTRUCTS.len() > 150);
    }

    #[test]
    fn the_same_seed_gives_the_same_script() {
        let generator = Generator::new(vec!["a; b".to_owned()]);
        for number in 1..100 {
            let script = |_| generator.script(number, Shell::Bash, &mut Chance::new(number));
            assert_eq!(script(0), script(1));
        }
    }
}
