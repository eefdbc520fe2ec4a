//! The objects that `git grep` searches: files of commits and trees.
//!
//! The index shows which secrets git tracks now. An older revision can contain secrets that were
//! removed later, so a search of such a revision requires approval.

use std::fs;

use openoxide_permission::safety_floor::is_secret;
use openoxide_protocol::{AbsPath, Access, CauseCode, CommandWords};

/// Options that print only names of files or counts of lines, or nothing.
const SUMMARY_OPTIONS: [&str; 9] = [
    "-l",
    "-L",
    "-c",
    "-q",
    "--files-with-matches",
    "--files-without-match",
    "--name-only",
    "--count",
    "--quiet",
];

/// The short options that take a value.
const SHORT_WITH_VALUE: [char; 7] = ['e', 'f', 'A', 'B', 'C', 'm', 'O'];

/// The long options that take the next word as their value.
const LONG_WITH_VALUE: [&str; 6] =
    ["--after-context", "--before-context", "--context", "--max-count", "--max-depth", "--threads"];

/// The names of the revision on which the index is based.
const CURRENT_REVISIONS: [&str; 2] = ["HEAD", "@"];

/// Makes each `git grep` in another revision than the current one require approval.
pub(crate) fn check(accesses: &mut [Access], cwd: &AbsPath) {
    for access in accesses {
        let Access::Exec(exec) = access else { continue };
        let words = exec.normalized_argv.as_ref().unwrap_or(&exec.argv);
        let place = exec.cwd.as_ref().unwrap_or(cwd);
        if prints_old_files(words, place) {
            exec.distrust(CauseCode::ReadsSecret, "can print secrets that were removed since");
        }
    }
}

/// Returns whether a command is `git grep` and may print lines of an older revision.
fn prints_old_files(words: &CommandWords, place: &AbsPath) -> bool {
    let name = words.known_word(0).map(|name| name.rsplit('/').next().unwrap_or(name));
    if name != Some("git") || words.known_word(1) != Some("grep") {
        return false;
    }
    let parsed = GrepWords::parse(words);
    let is_old = |word: &&str| !CURRENT_REVISIONS.contains(word);
    parsed.objects(place).iter().any(|word| word.as_ref().is_none_or(is_old))
        && !parsed.prints_no_lines()
        && !is_limited_to_files(words, place)
}

/// Returns whether each word after `--` is a file that exists and is no secret.
fn is_limited_to_files(words: &CommandWords, place: &AbsPath) -> bool {
    let mut rest = words.known_words(2);
    if !rest.any(|word| word == Some("--")) {
        return false;
    }
    let is_file = |word: &str| {
        let path = place.join(word);
        let found = fs::symlink_metadata(path.as_str());
        found.is_ok_and(|found| found.is_file()) && !word.starts_with(':') && !is_secret(&path)
    };
    let mut limits = rest.peekable();
    limits.peek().is_some() && limits.all(|word| word.is_some_and(is_file))
}

/// Returns whether `git grep` may search an object instead of the files of the working tree.
pub(crate) fn names_object(words: &CommandWords, place: &AbsPath) -> bool {
    !GrepWords::parse(words).objects(place).is_empty()
}

/// The words of a `git grep` before `--`.
struct GrepWords<'a> {
    options: Vec<&'a str>,
    /// The operands after the pattern. An unknown word is `None`.
    operands: Vec<Option<&'a str>>,
}

impl<'a> GrepWords<'a> {
    fn parse(words: &'a CommandWords) -> Self {
        let (mut is_value, mut needs_pattern) = (false, true);
        let mut parsed = Self { options: Vec::new(), operands: Vec::new() };
        let all = words.known_words(2);
        for word in all.take_while(|word| *word != Some("--")) {
            if std::mem::take(&mut is_value) {
                continue;
            }
            match word.filter(|word| word.starts_with('-') && word.len() > 1) {
                Some(option) => {
                    let value = short_value(option);
                    needs_pattern &= !value.is_some_and(|value| value.starts_with(['e', 'f']));
                    is_value = value.is_some_and(|value| value.len() == 1 && value != "O")
                        || LONG_WITH_VALUE.contains(&option);
                    parsed.options.push(option);
                }
                None => parsed.operands.push(word),
            }
        }
        if needs_pattern && !parsed.operands.is_empty() {
            parsed.operands.remove(0);
        }
        parsed
    }

    /// Returns the operands that are no existing files.
    fn objects(&self, place: &AbsPath) -> Vec<Option<&'a str>> {
        let exists = |word: &&str| fs::symlink_metadata(place.join(word).as_str()).is_ok();
        let operands = self.operands.iter().copied();
        operands.filter(|word| !word.as_ref().is_some_and(exists)).collect()
    }

    fn prints_no_lines(&self) -> bool {
        self.options.iter().any(|option| SUMMARY_OPTIONS.contains(option))
            && !self.options.iter().any(|option| option.starts_with("--no-"))
    }
}

/// Returns the letter of a cluster of short options that takes a value, and the rest of the
/// cluster. If there is a rest, it is the value (`-eWORD`), otherwise the next word is.
fn short_value(option: &str) -> Option<&str> {
    let cluster = option.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    cluster.find(SHORT_WITH_VALUE).and_then(|at| cluster.get(at..))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use openoxide_protocol::{Action, CommandClass};

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    fn bash(place: &AbsPath, script: &str) -> String {
        let done = Command::new("bash").args(["-c", script]).current_dir(place.as_str()).output();
        String::from_utf8(done.unwrap().stdout).unwrap()
    }

    /// A repository whose secret was removed in the last commit.
    fn repository() -> (tempfile::TempDir, AbsPath) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let place = AbsPath::new(root.to_str().unwrap()).unwrap();
        bash(
            &place,
            "git init -q -b main . && git config user.email a@b.c && git config user.name a && \
             echo KEY=old-secret > .env && echo KEY > code && git add . && git commit -qm 1 && \
             git rm -q .env && git commit -qm 2",
        );
        (dir, place)
    }

    fn is_harmless(place: &AbsPath, script: &str) -> bool {
        let action = Action::Command { script: script.to_owned() };
        let facts = collect_action_facts(&action, "Bash", CallLocation { cwd: place, home: None });
        facts.accesses.iter().all(|access| {
            let harmless =
                !matches!(access, Access::Exec(exec) if exec.class != CommandClass::Harmless);
            harmless && !matches!(access, Access::Opaque { .. })
        })
    }

    #[test]
    fn a_search_that_prints_a_removed_secret_is_not_harmless() {
        let (_dir, project) = repository();
        for script in [
            "git grep KEY HEAD~1",
            "git grep -n KEY main^",
            "git grep -ne KEY HEAD~1",
            "git grep -e -l -e KEY HEAD~1",
            "git grep -l --no-name-only KEY HEAD~1",
            "git grep --max-depth 1 KEY HEAD~1",
            "git grep KEY HEAD~1 -- .",
            "git grep KEY HEAD~1 -- code ':(top).env'",
            "git grep KEY HEAD HEAD~1",
            "git grep KEY $(git rev-parse HEAD~1)",
            "git -C . grep KEY HEAD~1",
        ] {
            assert!(bash(&project, script).contains("old-secret"), "{script}");
            assert!(!is_harmless(&project, script), "{script}");
        }
    }

    #[test]
    fn other_searches_stay_harmless() {
        let (_dir, project) = repository();
        for script in [
            "git grep KEY",
            "git grep KEY HEAD",
            "git grep KEY @",
            "git grep -n KEY code",
            "git grep -n -C 3 KEY -- code",
            "git grep -l KEY HEAD~1",
            "git grep -c -i KEY HEAD~1",
            "git grep -n KEY HEAD~1 -- code",
        ] {
            let printed = bash(&project, script);
            assert!(printed.contains("code") && !printed.contains("old-secret"), "{script}");
            assert!(is_harmless(&project, script), "{script}");
        }
    }
}
