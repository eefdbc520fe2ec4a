//! `git`: the subcommands that only show something.
//!
//! No global option is accepted but the one that turns off the pager; `-c`, `-C` and `--git-dir` choose what runs.

use openoxide_protocol::{Word, Words};

use super::{
    Judge::{self, Anything, Special},
    Known, lookup,
    read::Shape,
};

/// What all that shows differences understands. `--output` writes, `--ext-diff` and `--textconv` run programs,
/// `--no-index` leaves the repository, `-O` reads a file.
const DIFF: &str = "stat? numstat shortstat name-only name-status patch no-patch raw summary \
    patch-with-stat patch-with-raw compact-summary unified: minimal patience histogram \
    diff-algorithm: color? no-color color-words? color-moved? no-color-moved word-diff? \
    word-diff-regex: no-renames check full-index binary abbrev? no-abbrev find-renames? \
    find-copies? find-copies-harder diff-filter: pickaxe-regex pickaxe-all relative? no-relative \
    text ignore-space-at-eol ignore-cr-at-eol ignore-space-change ignore-all-space \
    ignore-blank-lines function-context exit-code quiet no-ext-diff no-textconv src-prefix: \
    dst-prefix: no-prefix inter-hunk-context: indent-heuristic no-indent-heuristic stat-width: \
    stat-count: stat-name-width: dirstat? cumulative anchored: line-prefix: ignore-submodules?";

/// What all that walks through revisions understands. `--show-signature` runs a program.
const WALK: &str = "oneline max-count: skip: since: after: until: before: author: committer: \
    grep: all-match invert-grep regexp-ignore-case basic-regexp extended-regexp fixed-strings \
    perl-regexp merges no-merges min-parents: max-parents: first-parent all branches? tags? \
    remotes? glob: exclude: not reflog cherry-pick cherry-mark cherry left-only right-only \
    merge boundary simplify-by-decoration simplify-merges full-history dense sparse ancestry-path? \
    topo-order date-order author-date-order reverse walk-reflogs parents children left-right \
    graph no-graph format: pretty? abbrev-commit no-abbrev-commit encoding: date: relative-date \
    notes? no-notes decorate? no-decorate decorate-refs: decorate-refs-exclude: source follow \
    use-mailmap no-mailmap full-diff log-size cc root show-pulls diff-merges: no-diff-merges \
    count objects no-walk? do-walk end-of-options";

const DIFF_SHORT: &str = "pusazwbRWqM?C?B?D?U:G:S:l:";
const WALK_SHORT: &str = "pusazwbRWqM?C?B?D?U:G:S:l:n:#giEFPtmc";

const LOG: Judge =
    Judge::Shape(Shape::revisions(WALK_SHORT, &[WALK, DIFF]).check(shows_no_signature));

const DIFFERENCE: Judge = Judge::Shape(
    Shape::revisions(DIFF_SHORT, &["cached staged merge-base", DIFF]).check(shows_no_signature),
);

/// The subcommands, sorted by name.
pub(super) static SUBCOMMANDS: &[(&str, Judge)] = &[
    ("--version", Judge::Shape(Shape::bare("", &["build-options"]))),
    (
        "blame",
        Judge::Shape(Shape::revisions(
            "lbfensptwcM?C?L:",
            &["porcelain line-porcelain incremental date: abbrev: color-lines color-by-age \
                show-name show-number show-email root minimal ignore-rev: ignore-revs-file< \
                score-debug show-stats first-parent since:"],
        )),
    ),
    ("branch", Special(branch)),
    (
        "cat-file",
        Judge::Shape(Shape::revisions("ptse", &["use-mailmap no-mailmap allow-unknown-type"])),
    ),
    (
        "check-ignore",
        Judge::Shape(Shape::files("qvnz", &["quiet verbose non-matching no-index"]).lists()),
    ),
    ("config", Special(config)),
    ("count-objects", Judge::Shape(Shape::bare("vH", &["verbose human-readable"]))),
    (
        "describe",
        Judge::Shape(Shape::text(
            "",
            &["tags all long always abbrev: contains dirty? match: exclude: candidates: \
                exact-match first-parent debug"],
        )),
    ),
    ("diff", DIFFERENCE),
    (
        "for-each-ref",
        Judge::Shape(
            Shape::text("", &["format: sort: count: points-at: color? ignore-case exclude:"])
                .check(shows_no_signature),
        ),
    ),
    (
        "grep",
        Judge::Shape(
            Shape::pattern_and_revisions(
                &["e", "f"],
                "aIivwhHEGFPnlLzocpWqrA:B:C:e:f<m:#",
                &["cached untracked exclude-standard no-exclude-standard text ignore-case \
                    word-regexp invert-match full-name extended-regexp basic-regexp \
                    perl-regexp fixed-strings line-number column files-with-matches name-only \
                    files-without-match null only-matching count color? no-color break heading \
                    show-function context: after-context: before-context: function-context \
                    threads: max-depth: max-count: recursive no-recursive and or not all-match \
                    quiet no-textconv"],
            )
            .here(),
        ),
    ),
    ("log", LOG),
    (
        "ls-files",
        Judge::Shape(
            Shape::files(
                "cdmosiktuvfzx:X<",
                &["cached deleted modified others ignored stage unmerged killed exclude: \
                    exclude-from< exclude-per-directory: exclude-standard error-unmatch \
                    full-name abbrev? debug eol format: deduplicate directory \
                    no-empty-directory with-tree:"],
            )
            .lists()
            .here(),
        ),
    ),
    (
        "ls-tree",
        Judge::Shape(
            Shape::revisions(
                "dlrtz",
                &["long name-only name-status object-only full-name full-tree abbrev? format:"],
            )
            .lists(),
        ),
    ),
    (
        "merge-base",
        Judge::Shape(Shape::text("a", &["all octopus independent is-ancestor fork-point"])),
    ),
    ("reflog", Special(reflog)),
    ("remote", Special(remote)),
    (
        "rev-list",
        Judge::Shape(Shape::revisions("n:#giEFPr", &[WALK]).lists().check(shows_no_signature)),
    ),
    ("rev-parse", Anything),
    (
        "shortlog",
        Judge::Shape(
            Shape::revisions("nsecn#", &["numbered summary email group:", WALK])
                .lists()
                .check(shows_no_signature),
        ),
    ),
    ("show", LOG),
    (
        "show-ref",
        Judge::Shape(Shape::text(
            "dsq",
            &["head heads tags branches dereference hash? verify abbrev? quiet"],
        )),
    ),
    ("stash", Special(stash)),
    (
        "status",
        Judge::Shape(
            Shape::files(
                "sbzu?",
                &["short branch porcelain? long show-stash untracked-files? ignored? \
                    ignore-submodules? column? no-column ahead-behind no-ahead-behind renames \
                    no-renames find-renames? null"],
            )
            .lists(),
        ),
    ),
    ("tag", Special(tag)),
    ("version", Judge::Shape(Shape::bare("", &["build-options"]))),
    ("worktree", Special(worktree)),
];

/// Judges a whole command.
pub(super) fn judge(argv: &Words) -> Option<Known> {
    let first = if argv.known(1) == Some("--no-pager") { 2 } else { 1 };
    let name = argv.known(first)?;
    let lists = ["branch", "tag", "for-each-ref", "stash", "remote", "worktree", "describe"];
    let mut operands = argv.iter().skip(first + 1).filter(|word| !is_option(*word));
    // The first operand of `grep` is what is looked for, unless an option says that.
    if name == "grep" && !argv.iter().any(gives_pattern) {
        operands.next();
    }
    if !lists.contains(&name) && operands.any(is_unclear) {
        return None;
    }
    match argv.known(1)? {
        // Without a pager there is one program less that runs.
        "--no-pager" => subcommand(&without(argv)),
        _ => subcommand(argv),
    }
}

fn subcommand(argv: &Words) -> Option<Known> {
    lookup(SUBCOMMANDS, argv.known(1)?)?.judge(argv, 2)
}

/// Returns the words without the second.
fn without(argv: &Words) -> Words {
    let mut words: Words = ["git"].into_iter().collect();
    for word in argv.iter().skip(2) {
        match word {
            Word::Known(text) => words.push(text),
            Word::Begins(text) => {
                words.push_piece(text);
                words.push_unknown_piece();
                words.end_word();
            }
            Word::Many => words.push_many(),
        }
    }
    words
}

/// Adds what an operand reads. Which operands are paths is for the repository to say, so each counts as one but for
/// the plainest revisions; of `REVISION:PATH` it is the path.
pub(super) fn read_operand(known: &mut Known, operand: &str) {
    let path = match operand.split_once(':') {
        None if is_plain_revision(operand) => return,
        None => operand,
        // `:(top)x`, `:!x`, `:^x` and `:/x` are patterns; all of them stay in the repository.
        Some(("", pattern)) if pattern.starts_with(['(', '!', '^', '/']) => ".",
        // `:1:PATH` is a stage of the index.
        Some(("", staged)) => staged.trim_start_matches(['0', '1', '2', '3', ':']),
        Some((_, path)) => path,
    };
    known.read(if path.is_empty() { "." } else { path });
}

fn is_plain_revision(operand: &str) -> bool {
    operand.strip_prefix("HEAD").or_else(|| operand.strip_prefix('@')).is_some_and(|rest| {
        rest.chars().all(|each| each.is_ascii_digit() || "~^@{}".contains(each))
    })
}

/// Formats can ask for a check of signatures, which runs a program.
fn shows_no_signature(name: &str, value: Option<Word<'_>>) -> bool {
    match (name, value) {
        ("format" | "pretty", Some(Word::Known(text))) => {
            let built_in = matches!(
                text,
                "oneline" | "short" | "medium" | "full" | "fuller" | "reference" | "email" | "raw"
            );
            built_in || text.contains(['%', ':']) && !checks_signatures(text)
        }
        ("format" | "pretty", Some(_)) => false,
        _ => true,
    }
}

/// Says whether a format can hold `%G` in one of its spellings: `%+G?`, `%-G?`, `% G?`.
fn checks_signatures(text: &str) -> bool {
    text.contains("signature")
        || text
            .split('%')
            .skip(1)
            .any(|after| after.trim_start_matches(['+', '-', ' ']).starts_with('G'))
}

/// Says whether it is told by its letters alone what an operand of git reads: `REVISION^{/:}:PATH` hides the path,
/// `:(top)x` and `s*` are patterns.
fn is_unclear(word: Word<'_>) -> bool {
    let Word::Known(text) = word else { return false };
    // `:1:PATH` is a stage of the index, `:PATH` the index itself.
    let magic = text.strip_prefix(':').is_some_and(|rest| rest.starts_with(['(', '!', '^', '/']));
    magic || text.contains(':') && text.contains('{') || text.contains(['*', '?', '['])
}

/// Says whether a word could be `-e PATTERN` or `-f FILE`, in a cluster or not.
fn gives_pattern(word: Word<'_>) -> bool {
    matches!(word, Word::Known(text) | Word::Begins(text) if text.starts_with('-') && text.contains(['e', 'f']))
}

fn is_option(word: Word<'_>) -> bool {
    matches!(word, Word::Known(text) | Word::Begins(text) if text.starts_with('-'))
}

/// `branch`: a name without an option that lists would make a branch.
fn branch(argv: &Words) -> Option<Known> {
    const SHAPE: Shape = Shape::text(
        "arvil",
        &["all remotes list show-current verbose contains~ no-contains~ merged~ no-merged~ \
            points-at: sort: format: color? no-color column? no-column ignore-case abbrev? \
            no-abbrev"],
    )
    .check(shows_no_signature);
    listing(argv, SHAPE)
}

/// `tag`: a name without an option that lists would make a tag.
fn tag(argv: &Words) -> Option<Known> {
    const SHAPE: Shape = Shape::text(
        "lin?",
        &["list contains~ no-contains~ merged~ no-merged~ points-at: sort: format: color? column? \
            no-column ignore-case"],
    )
    .check(shows_no_signature);
    listing(argv, SHAPE)
}

fn listing(argv: &Words, shape: Shape) -> Option<Known> {
    let known = shape.judge(argv, 2)?;
    let is_option =
        |word| matches!(word, Word::Known(text) | Word::Begins(text) if text.starts_with('-'));
    let lists = |word| matches!(word, Word::Known("-l" | "--list"));
    let valued = |word| {
        matches!(
            word,
            Word::Known(
                "--contains"
                    | "--no-contains"
                    | "--merged"
                    | "--no-merged"
                    | "--points-at"
                    | "--sort"
                    | "--format"
            )
        )
    };
    let mut words = argv.iter().skip(2);
    let mut names = 0;
    while let Some(word) = words.next() {
        match word {
            Word::Known("--") => return None,
            word if lists(word) => return Some(known),
            word if valued(word) => drop(words.next()),
            word if is_option(word) => {}
            _ => names += 1,
        }
    }
    (names == 0).then_some(known)
}

/// `config`: the value of one name, of the sections that hold no secrets.
fn config(argv: &Words) -> Option<Known> {
    const SECTIONS: [&str; 10] =
        ["alias", "branch", "color", "core", "fetch", "init", "merge", "pull", "remote", "user"];
    let mut words = argv.iter().skip(2).peekable();
    let scope = |word: &Word<'_>| {
        matches!(
            word,
            Word::Known("--get" | "--get-all" | "--local" | "--global" | "--system" | "--includes")
        )
    };
    while words.next_if(scope).is_some() {}
    let Word::Known(name) = words.next()? else { return None };
    let section = name.split_once('.')?.0.to_ascii_lowercase();
    (words.next().is_none() && SECTIONS.contains(&section.as_str())).then(Known::harmless)
}

/// `reflog` and `reflog show`; the other subcommands of it remove entries.
fn reflog(argv: &Words) -> Option<Known> {
    match argv.known(2) {
        Some("show") => LOG.judge(argv, 3),
        _ => {
            let options =
                |word| matches!(word, Word::Known(text) if text.starts_with('-') && text != "--");
            argv.iter().skip(2).all(options).then(|| LOG.judge(argv, 2))?
        }
    }
}

/// `remote`, `remote -v` and `remote get-url`: what does not reach the network.
fn remote(argv: &Words) -> Option<Known> {
    const GET_URL: Shape = Shape::text("", &["push all"]);
    const LIST: Shape = Shape::bare("v", &["verbose"]);
    match argv.known(2) {
        Some("get-url") => GET_URL.judge(argv, 3),
        _ => LIST.judge(argv, 2),
    }
}

/// `stash list` and `stash show`.
fn stash(argv: &Words) -> Option<Known> {
    match argv.known(2)? {
        "list" => LOG.judge(argv, 3),
        "show" => DIFFERENCE.judge(argv, 3),
        _ => None,
    }
}

/// `worktree list`.
fn worktree(argv: &Words) -> Option<Known> {
    const LIST: Shape = Shape::bare("vz", &["porcelain verbose"]);
    (argv.known(2)? == "list").then(|| LIST.judge(argv, 3))?
}
