//! Secrets that git tracks and that a command may print in its diffs.
//!
//! `git show` names no file. Each secret in the index that it may print is added as a separate read
//! with its own name.

use openoxide_permission::safety_floor::is_secret;
use openoxide_protocol::{
    AbsPath, Access, AccessRoute, CommandWord, CommandWords, ExecAccess, PathAccess,
};

use crate::{
    git_grep_objects::names_object,
    git_repository::{Index, IndexEntry, UnreadableIndex, borrows_objects, index_above},
    step_budget::StepBudget,
};

/// The maximum number of secrets that are listed.
const MOST_FOUND: usize = 16;

/// Options that print names or numbers of changes in the place of their text.
const SUMMARIES: [&str; 11] = [
    "--stat",
    "--shortstat",
    "--numstat",
    "--name-only",
    "--name-status",
    "--summary",
    "--raw",
    "--dirstat",
    "--no-patch",
    "-s",
    "--quiet",
];

/// Adds the tracked secrets that the commands of git among these accesses may print.
pub(crate) fn check(accesses: &mut Vec<Access>, cwd: &AbsPath, steps: &StepBudget) {
    let mut last: Option<(AbsPath, Result<Option<Index>, UnreadableIndex>)> = None;
    let mut added: Vec<Access> = Vec::new();
    for access in accesses.iter() {
        let Access::Exec(exec) = access else { continue };
        let words = exec.normalized_argv.as_ref().unwrap_or(&exec.argv);
        let place = exec.cwd.as_ref().unwrap_or(cwd);
        let Some(prints) = printed_files(words, place) else { continue };
        if prints == PrintedFiles::Any && borrows_objects(place) {
            let text = format!("{}: it can print objects of another repository", exec.text);
            added.push(Access::Opaque { text, span: exec.span });
            continue;
        }
        if last.as_ref().is_none_or(|(known, _)| known != place) {
            last = Some((place.clone(), index_above(place)));
        }
        let index = match &last {
            Some((_, Ok(Some(index)))) => index,
            Some((_, Err(UnreadableIndex))) => {
                let text = format!("{}: the files that git tracks are not known", exec.text);
                added.push(Access::Opaque { text, span: exec.span });
                continue;
            }
            _ => continue,
        };
        if !steps.take_steps(index.len() / 64) {
            let text = format!("{}: which secrets it prints was not examined", exec.text);
            added.push(Access::Opaque { text, span: exec.span });
            continue;
        }
        let named = named_objects(index, words);
        for path in secrets(index, prints, words, place).into_iter().chain(named) {
            let read = Access::Read(read(path, exec));
            if !added.contains(&read) && !accesses.contains(&read) {
                added.push(read);
            }
        }
    }
    accesses.append(&mut added);
}

fn read(path: AbsPath, exec: &ExecAccess) -> PathAccess {
    PathAccess { route: AccessRoute::Program, span: exec.span, ..PathAccess::new(path) }
}

/// The files whose content a command prints.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PrintedFiles {
    /// Files that differ from the index.
    Changed,
    /// Files of which git prints the tracked content, without a look at the working tree.
    Assumed,
    /// Any tracked file.
    Any,
}

/// Returns the files whose content a git command prints, or `None` if it prints only files that its words name.
fn printed_files(words: &CommandWords, place: &AbsPath) -> Option<PrintedFiles> {
    let name = words.known_word(0).map(|name| name.rsplit('/').next().unwrap_or(name));
    (name == Some("git")).then_some(())?;
    let options = || words.known_words(2).map_while(|word| word.filter(|word| *word != "--"));
    let shows_patch = options().any(is_patch_option);
    let begins = |start: &str| options().any(|word| word.starts_with(start));
    let summarizes = || {
        let plain = |word: &str| word.split('=').next().is_some_and(|w| SUMMARIES.contains(&w));
        !shows_patch && options().any(plain)
    };
    match (words.known_word(1)?, words.known_word(2)) {
        ("diff", _) if summarizes() => None,
        ("diff", _) => {
            let plain = options().all(|word| {
                word.starts_with('-') && !matches!(word, "--cached" | "--staged" | "--merge-base")
            });
            let known = words.known_words(1).all(|word| word.is_some());
            Some(if plain && known { PrintedFiles::Changed } else { PrintedFiles::Any })
        }
        ("show", _) if summarizes() && !may_name_file_object(words) => None,
        ("show", _) if names_only_paths(words) => None,
        ("show" | "range-diff", _) => Some(PrintedFiles::Any),
        ("archive", _) => {
            (!options().any(|word| word == "-l" || word == "--list")).then_some(PrintedFiles::Any)
        }
        ("format-patch", _) => {
            options().any(|word| word == "--stdout").then_some(PrintedFiles::Any)
        }
        // Each option of the diff that is no summary takes the place of the default summary, and so
        // does `--`.
        ("stash", Some("show")) => {
            let shows = |word: &str| word.starts_with('-') && !SUMMARIES.contains(&word);
            let has_dashes = words.known_words(3).any(|word| word == Some("--"));
            (shows_patch || has_dashes || options().any(shows)).then_some(PrintedFiles::Any)
        }
        (
            "log" | "whatchanged" | "reflog" | "stash" | "diff-tree" | "diff-index" | "diff-files",
            _,
        ) => shows_patch.then_some(PrintedFiles::Any),
        // The object can be any file of any revision.
        ("cat-file", _) => {
            let prints = |word: &str| {
                is_short_option(word, "p") || word.starts_with("--batch") || word == "blob"
            };
            (options().any(prints) || words.known_word(2) == Some("blob"))
                .then_some(PrintedFiles::Any)
                .filter(|_| !names_commit_or_path(words))
        }
        // `%(raw)` and `%(*raw)` print the object of a reference, which can be a file.
        ("for-each-ref" | "tag" | "branch", _) => {
            options().any(|word| word.contains("raw)")).then_some(PrintedFiles::Any)
        }
        ("fast-export", _) => (!begins("--no-d")).then_some(PrintedFiles::Any),
        ("merge-tree", _) => {
            let operands = options().filter(|word| !word.starts_with('-')).count();
            (operands > 2 || begins("--t")).then_some(PrintedFiles::Any)
        }
        ("merge-file", _) => begins("--ob").then_some(PrintedFiles::Any),
        ("grep", _) if begins("--ca") || names_object(words, place) => Some(PrintedFiles::Any),
        ("grep", _) => Some(PrintedFiles::Assumed),
        // With this option it prints the changes.
        ("status", _) => {
            let verbose = |word: &str| is_short_option(word, "v") || word.starts_with("--v");
            options().any(verbose).then_some(PrintedFiles::Any)
        }
        _ => None,
    }
}

/// Returns whether a word after `git show` can name the object of a file, by its id or by a tag. Git
/// prints its text regardless of the options (git 2.47).
fn may_name_file_object(words: &CommandWords) -> bool {
    // A rule about paths sees a path of a revision (`HEAD:src/a.rs`).
    let is_seen = |word: CommandWord<'_>| match word {
        CommandWord::Known(word) => {
            word.starts_with('-') && !selects_references(word)
                || word.contains(':')
                || word.split("..").all(names_commit)
        }
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => false,
    };
    let before_paths = words.iter().skip(2).take_while(|word| *word != CommandWord::Known("--"));
    !before_paths.into_iter().all(is_seen)
}

/// Returns whether an option selects references, one of which can be a file. Long options may be
/// abbreviated.
fn selects_references(word: &str) -> bool {
    const OPTIONS: [&str; 10] = [
        "--all",
        "--alternate-refs",
        "--bisect",
        "--branches",
        "--glob",
        "--indexed-objects",
        "--reflog",
        "--remotes",
        "--stdin",
        "--tags",
    ];
    let name = word.split('=').next().unwrap_or(word);
    name.len() > 3 && OPTIONS.iter().any(|option| option.starts_with(name))
}

/// Returns whether the paths behind `--` do not limit what a command prints: with `--full-diff`, git
/// prints all changes of the commits, and an object that is a file is printed whole.
fn ignores_pathspecs(words: &CommandWords) -> bool {
    let shows = words.known_word(1) == Some("show");
    let options = words.iter().skip(2).take_while(|word| *word != CommandWord::Known("--"));
    options.into_iter().any(|word| match word {
        CommandWord::Known(word) => {
            word.len() > 3 && "--full-diff".starts_with(word) || shows && selects_references(word)
        }
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => false,
    })
}

/// References that always are commits.
const COMMIT_NAMES: [&str; 9] =
    ["", "@", "FETCH_HEAD", "HEAD", "MERGE_HEAD", "ORIG_HEAD", "main", "master", "stash"];

/// Returns whether a revision certainly is a commit, or is a number, which is the value of an option.
fn names_commit(revision: &str) -> bool {
    let name = revision.split(['^', '~', '@']).next().unwrap_or_default();
    let is_number =
        revision.len() < MIN_ID_DIGITS && revision.bytes().all(|byte| byte.is_ascii_digit());
    is_number || COMMIT_NAMES.contains(&name) && !revision.contains("^{")
}

/// The minimum number of digits of an abbreviated id.
const MIN_ID_DIGITS: usize = 4;

/// Returns whether a text has the form of an id.
fn is_id(text: &str) -> bool {
    text.len() >= MIN_ID_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether each word after `git show` is a path of a revision (`HEAD:src/a.rs`), which a
/// rule about paths sees. Git prints such a file whole, and of a directory only the names.
fn names_only_paths(words: &CommandWords) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-~^@".contains(&byte);
    let is_path = |word: &str| {
        word.split_once(':').is_some_and(|(revision, path)| {
            let is_revision = revision.bytes().all(is_letter) && !revision.starts_with(['-', '^']);
            is_revision && !revision.is_empty() && !path.is_empty() && !word.contains("..")
        })
    };
    words.len() > 2 && words.known_words(2).all(|word| word.is_some_and(is_path))
}

/// Returns whether an option makes git print the text of changes. Long options may be abbreviated,
/// and letters may be put together.
fn is_patch_option(word: &str) -> bool {
    const LONG: [&str; 12] = [
        "--patch",
        "--patch-with-raw",
        "--patch-with-stat",
        "--unified",
        "--cc",
        "--dd",
        "--remerge-diff",
        "--binary",
        "--check",
        "--word-diff",
        "--word-diff-regex",
        "--function-context",
    ];
    if word == "--diff-merges=off" || word == "--diff-merges=none" {
        return false;
    }
    let name = word.split('=').next().unwrap_or(word);
    let is_long = name.len() > 3 && LONG.iter().any(|long| long.starts_with(name));
    is_long
        || matches!(name, "--cc" | "--dd")
        || name.len() > 6 && "--diff-merges".starts_with(name)
        || is_short_option(word, "puUcmW")
}

/// Returns whether a word is a cluster of short options with one of these letters. The rest of a
/// word behind some letters is a value.
fn is_short_option(word: &str, letters: &str) -> bool {
    let Some(cluster) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return false;
    };
    cluster
        .chars()
        .take_while(|letter| !"SGLOnlIMCBX".contains(*letter))
        .any(|letter| letters.contains(letter))
}

/// Returns whether each object that `git cat-file` gets is one that a rule about paths sees
/// (`HEAD:src/a.rs`), or no file: a commit, or a tree.
fn names_commit_or_path(words: &CommandWords) -> bool {
    let is_seen = |word: &str| {
        word.contains(':')
            || word.ends_with("^{tree}")
            || word.ends_with("^{commit}")
            || matches!(word, "HEAD" | "@" | "commit" | "tree" | "tag")
    };
    let mut operands = words.known_words(2);
    operands.all(|word| word.is_some_and(|word| word.starts_with('-') || is_seen(word)))
        && !words.known_words(2).flatten().any(|word| word.starts_with("--batch"))
}

/// Returns the secrets in the index that a command with these words may print.
fn secrets(
    index: &Index,
    prints: PrintedFiles,
    words: &CommandWords,
    place: &AbsPath,
) -> Vec<AbsPath> {
    let within = pathspecs(words, place);
    let tree = index.tree();
    let paths = index.entries().iter().filter_map(|entry| {
        let path = tree.join(&entry.name);
        let named = is_secret(&path) && (within.is_empty() || is_within(&path, &within));
        let is_printed = || match prints {
            PrintedFiles::Any => true,
            PrintedFiles::Assumed => entry.is_assumed,
            PrintedFiles::Changed => index.may_differ(entry),
        };
        (named && is_printed()).then_some(path)
    });
    paths.take(MOST_FOUND).collect()
}

/// Returns the tracked files whose objects the words name by their ids, so that rules about paths
/// apply to them. An older version of a file is not found in the index.
fn named_objects(index: &Index, words: &CommandWords) -> Vec<AbsPath> {
    let starts: Vec<String> = words
        .known_words(2)
        .filter_map(|word| word?.split(['^', '~', '@']).next().filter(|word| is_id(word)))
        .map(|id| id.get(..8).unwrap_or(id).to_ascii_lowercase())
        .collect();
    if starts.is_empty() {
        return Vec::new();
    }
    let is_named = |entry: &IndexEntry| {
        let id = format!("{:08x}", entry.id_start);
        starts.iter().any(|start| id.starts_with(start.as_str()))
    };
    let found = index.entries().iter().filter(|entry| is_named(entry));
    found.map(|entry| index.tree().join(&entry.name)).take(MOST_FOUND).collect()
}

/// Returns the paths behind `--` that limit a command; none if one of them is a pattern or not known.
fn pathspecs(words: &CommandWords, place: &AbsPath) -> Vec<AbsPath> {
    let start = words.known_words(0).position(|word| word == Some("--"));
    let Some(start) = start.filter(|_| !ignores_pathspecs(words)) else { return Vec::new() };
    let paths = words.known_words(start + 1).map(|word| {
        let plain = |text: &&str| !text.contains(['*', '?', '[', ':', '\\']);
        word.filter(plain).map(|text| place.join(text))
    });
    paths.collect::<Option<Vec<_>>>().unwrap_or_default()
}

fn is_within(path: &AbsPath, places: &[AbsPath]) -> bool {
    places.iter().any(|place| path.strip_prefix(place).is_some())
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use openoxide_protocol::{Action, OperationFacts};

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    fn read_by(project: &AbsPath, script: &str) -> Vec<String> {
        let action = Action::Command { script: script.to_owned() };
        let facts: OperationFacts =
            collect_action_facts(&action, "Bash", CallLocation { cwd: project, home: None });
        let mut read: Vec<String> = facts
            .accesses
            .iter()
            .filter_map(|access| {
                let Access::Read(path) = access else { return None };
                is_secret(&path.path).then(|| path.path.strip_prefix(project).unwrap().to_owned())
            })
            .collect();
        read.sort();
        read
    }

    /// Each line was run with git 2.47.3: those that name a secret print its text.
    #[test]
    fn a_tracked_secret_that_is_printed_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (file, text) in [(".env", "S=a\n"), ("keys/x.pem", "K\n"), ("src/a.rs", "1\n")] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), text).unwrap();
        }
        let git = |words: &str| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words.split(' '));
            assert!(git.current_dir(&root).output().unwrap().status.success(), "{words}");
        };
        git("init -q .");
        git("add -A");
        git("commit -q -m a");
        let project = AbsPath::new(root.to_str().unwrap()).unwrap();
        let all = vec![".env".to_owned(), "keys/x.pem".to_owned()];
        for (script, expected) in [
            ("git show", all.clone()),
            ("git show HEAD~1", all.clone()),
            ("git log -p", all.clone()),
            ("git log --stat -p", all.clone()),
            ("git -C src log -U0", all.clone()),
            ("git stash show -p", all.clone()),
            ("git diff HEAD~1", all.clone()),
            ("git diff --cached", all.clone()),
            ("git archive HEAD", all.clone()),
            ("git diff HEAD -- keys", all[1..].to_vec()),
            ("git show HEAD -- src", vec![]),
            ("git show HEAD:src/a.rs", vec![]),
            ("git show HEAD:src", vec![]),
            ("diff <(git show HEAD:src/a.rs) src/a.rs", vec![]),
            ("git show HEAD:.env", all[..1].to_vec()),
            ("git show HEAD:src/a.rs HEAD", all.clone()),
            ("git show HEAD: HEAD:src/a.rs", all.clone()),
            ("git show HEAD:src/a.rs HEAD:.env", all[..1].to_vec()),
            ("git show ':/a'", all.clone()),
            ("git show 'HEAD^{/a:b}'", all.clone()),
            ("git show HEAD:src/a.rs..HEAD", all.clone()),
            ("git grep -ne . 1234567", all.clone()),
            ("git grep -n --context 3 S src", vec![]),
            ("git show HEAD:src/a.rs $(cat x)", all.clone()),
            ("git show -m HEAD:src/a.rs", all.clone()),
            ("git diff", vec![]),
            ("git log", vec![]),
            ("git log --oneline", vec![]),
            ("git show --stat", vec![]),
            ("git show --stat HEAD~1", vec![]),
            ("git show -s 78eebd4", all.clone()),
            ("git show --name-only $(git rev-parse HEAD:.env)", all.clone()),
            ("git show --stat HEAD -- abcd", vec![]),
            ("git log -p -- src", vec![]),
            ("git log -p --full-diff -- src", all.clone()),
            ("git show --full-diff HEAD -- src", all.clone()),
            ("git show -s --all", all.clone()),
            ("git show --stat --tags", all.clone()),
            ("git show --tags -- src", all.clone()),
            ("git show --stat --glob=refs/tags", all.clone()),
            ("git log -p --all -- src", vec![]),
            ("git show --stat -n 3 HEAD~2..HEAD", vec![]),
            ("git show --stat '@{u}' main~1", vec![]),
            ("git show -s '78eebd4^{}'", all.clone()),
            ("git show -s 'HEAD^{object}'", all.clone()),
            ("git show -s x-1-g78eebd4", all.clone()),
            ("git show -s mytag", all.clone()),
            ("git stash show", vec![]),
            ("git stash show --", all.clone()),
            ("git stash show 'stash@{0}' --", all.clone()),
            ("git stash list", vec![]),
            ("git diff --name-only HEAD~1", vec![]),
            ("git status", vec![]),
            ("git log --binary", all.clone()),
            ("git log --bin", all.clone()),
            ("git log --dd", all.clone()),
            ("git log -pu", all.clone()),
            ("git log --check", all.clone()),
            ("git log --diff-merges=on", all.clone()),
            ("git diff-tree --binary HEAD", all.clone()),
            ("git fast-export HEAD", all.clone()),
            ("git cat-file blob 1234567", all.clone()),
            ("git cat-file -p 1234567", all.clone()),
            ("git cat-file --batch <<< HEAD:x", all.clone()),
            ("git merge-tree HEAD~1 HEAD~1 HEAD", all.clone()),
            ("git merge-file --object-id -p 1 2 3", all.clone()),
            ("git grep S 'HEAD^{tree}'", all.clone()),
            ("git grep -e . 1234567", all.clone()),
            ("git grep -e. 1234567", all.clone()),
            ("git grep -ee 1234567", all.clone()),
            ("git grep -Oe . 1234567", all.clone()),
            ("git grep -nA3 S 1234567", all.clone()),
            ("git grep -n -A 3 S src", vec![]),
            ("git grep S src", vec![]),
            ("git grep -n -e S -- src", vec![]),
            ("git for-each-ref --format='%(raw)'", all.clone()),
            ("git tag -l --format='%(refname) %(*raw)'", all.clone()),
            ("git branch --format '%(raw)'", all.clone()),
            ("git for-each-ref --format='%(refname) %(raw:size) %(contents)'", vec![]),
            ("git tag -l -n3", vec![]),
            ("git cat-file -p HEAD", vec![]),
            ("git cat-file -p 'HEAD^{tree}'", vec![]),
            ("git cat-file -t 1234567", vec![]),
            ("git fast-export --no-data HEAD", vec![]),
            ("git merge-tree HEAD~1 HEAD", vec![]),
            ("git log -n5 --since=1.week --pretty=short --cherry-pick", vec![]),
            ("git log -Supcm --diff-merges=off", vec![]),
        ] {
            assert_eq!(read_by(&project, script), expected, "{script}");
        }
        let is_opaque = |script: &str| {
            let action = Action::Command { script: script.to_owned() };
            let place = CallLocation { cwd: &project, home: None };
            let facts = collect_action_facts(&action, "Bash", place);
            facts.accesses.iter().any(|access| matches!(access, Access::Opaque { .. }))
        };
        let alternates = root.join(".git/objects/info/alternates");
        assert!(!is_opaque("git show 1234567"));
        fs::write(&alternates, "/srv/other/.git/objects\n").unwrap();
        assert!(is_opaque("git show 1234567") && is_opaque("git cat-file -p 1234567"));
        assert!(!is_opaque("git status") && !is_opaque("git log") && !is_opaque("git diff"));
        fs::remove_file(&alternates).unwrap();
        // `git hash-object .env` prints it.
        let id = Command::new("git").args(["hash-object", ".env"]).current_dir(&root).output();
        let id = String::from_utf8(id.unwrap().stdout).unwrap();
        let named = |words: &[&str]| {
            let mut argv = CommandWords::new();
            words.iter().for_each(|word| argv.push(word));
            named_objects(&index_above(&project).unwrap().unwrap(), &argv)
        };
        assert_eq!(named(&["git", "show", id.trim()]), [project.join(".env")]);
        let peeled = format!("{}^{{blob}}", id.trim());
        assert_eq!(named(&["git", "show", &peeled]), [project.join(".env")]);
        assert_eq!(named(&["git", "show", "HEAD"]), Vec::<AbsPath>::new());
        fs::write(root.join(".env"), "S=longer\n").unwrap();
        assert_eq!(read_by(&project, "git diff"), all[..1]);
        assert_eq!(read_by(&project, "git diff -- src"), [""; 0]);
    }

    /// Each index was written by git 2.47.3, and each command printed the secret.
    #[test]
    fn secrets_in_every_kind_of_index_are_found() {
        for (setup, script) in [
            (&["update-index --index-version 4"][..], "git show"),
            (&["update-index --index-version 4"], "git diff"),
            (&["update-index --index-version 3"], "git diff"),
            (&["update-index --split-index"], "git diff"),
            (&["sparse-checkout set --cone --sparse-index a"], "git show"),
            (&["update-index --skip-worktree b/.env"], "git grep S"),
            (&["update-index --assume-unchanged b/.env"], "git grep S"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            let git = |words: &str| {
                let mut git = Command::new("git");
                git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words.split(' '));
                assert!(git.current_dir(&root).output().unwrap().status.success(), "{words}");
            };
            for (file, text) in [("a/a.rs", "1\n"), ("b/.env", "S=a\n"), ("b/zz", "1\n")] {
                fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
                fs::write(root.join(file), text).unwrap();
            }
            git("init -q .");
            git("add -A");
            git("commit -q -m a");
            setup.iter().for_each(|words| git(words));
            if script == "git diff" {
                fs::write(root.join("b/.env"), "S=b\n").unwrap();
            }
            if script == "git grep S" {
                fs::remove_file(root.join("b/.env")).unwrap();
            }
            let project = AbsPath::new(root.to_str().unwrap()).unwrap();
            let action = Action::Command { script: script.to_owned() };
            let facts =
                collect_action_facts(&action, "Bash", CallLocation { cwd: &project, home: None });
            let is_found = facts.accesses.iter().any(|access| {
                matches!(access, Access::Opaque { .. })
                    || matches!(access, Access::Read(path) if is_secret(&path.path))
            });
            assert!(is_found, "{setup:?} {script}: {:?}", facts.accesses);
        }
    }
}
