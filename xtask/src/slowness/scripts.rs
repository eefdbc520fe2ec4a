//! Scripts that are made to take long. Each function gets a size and makes many of one element.

use super::repositories;
use crate::crash::chance::Chance;

/// Pieces of scripts.
const PIECES: [&str; 24] = [
    "*", "a", "?", "[", "]", "{", "}", ",", "..", "/", "$(", ")", "`", "'", "\"", "|", ";", "&&",
    "<<E\n", " many/", " links/1", " $X", "\n", "\\",
];

/// A size for elements of which each costs much.
const fn few(size: usize) -> usize {
    1 + size / 40
}

pub(super) fn stars(size: usize, _: &mut Chance) -> String {
    format!("cat many/{}b", "*".repeat(size * 2))
}

pub(super) fn words_with_stars(size: usize, chance: &mut Chance) -> String {
    let word = pick(chance, &["*a*b7", "*a*a*a*a*a*b", "*", "many/*a*b", "*/*/*/*"]);
    format!("cd many; cat{}", format!(" {word}").repeat(size / 2))
}

pub(super) fn brackets(size: usize, chance: &mut Chance) -> String {
    format!("cat many/{}", pick(chance, &["[]", "[a", "[a-z]*", "[!]]"]).repeat(few(size)))
}

pub(super) fn question_marks(size: usize, _: &mut Chance) -> String {
    format!("cat many/{}*{}b", "?".repeat(few(size)), "*?".repeat(size / 4))
}

pub(super) fn braces(size: usize, chance: &mut Chance) -> String {
    let brace = pick(chance, &["{a,b}", "{1..10000}", "{a,{b,{c,d}}}", "{,}{,}"]);
    format!("cat {}", brace.repeat(few(size)))
}

pub(super) fn pipelines(size: usize, chance: &mut Chance) -> String {
    let part = pick(chance, &[" | sort", " && ls", "; git status", " | xargs cat", "; cargo -V"]);
    format!("cat many/*{}", part.repeat(size / 2))
}

/// Parts that all differ.
pub(super) fn parts(size: usize, chance: &mut Chance) -> String {
    let start =
        pick(chance, &["cat src/x", "touch src/x", "git -C wide/", "npm run x", "ls $(cat x"]);
    let end = if start.contains('(') { ")" } else { "" };
    (0..size).map(|at| format!("{start}{at}{end}; ")).collect()
}

/// Commands that many rules could be about.
pub(super) fn rules(size: usize, chance: &mut Chance) -> String {
    let word = pick(chance, &["--flag ", "x", "--flag x --flag y ", "$X "]);
    let first = number(chance, 3_000);
    (0..few(size))
        .map(|at| format!("tool{} a {}--flag; ", first + at, word.repeat(size / 10)))
        .collect()
}

pub(super) fn nesting(size: usize, chance: &mut Chance) -> String {
    let pairs =
        [("(", ")"), ("{ ", "; }"), ("if ", "; then :; fi"), ("$(", ")"), ("[[ ( ", " ) ]]")];
    let (open, close) = pick(chance, &pairs);
    format!("{}ls{}", open.repeat(size), close.repeat(size))
}

pub(super) fn substitutions(size: usize, chance: &mut Chance) -> String {
    let word = pick(chance, &[" $(cat x)", " `ls`", " <(ls)", " ${X:-$Y}", " $((1+1))"]);
    format!("ls{}", word.repeat(size / 2))
}

pub(super) fn here_documents(size: usize, chance: &mut Chance) -> String {
    let line = pick(chance, &["$(cat x)\n", "${X}\n", "E \n", "\\\n", "x\n"]);
    let count = few(size);
    let starts: String = (0..count).map(|at| format!(" <<E{at}")).collect();
    let bodies: String =
        (0..count).map(|at| format!("{}E{at}\n", line.repeat(size / 20))).collect();
    format!("cat{starts}\n{bodies}")
}

/// Loops in loops: the body runs a number of times that no one can count.
pub(super) fn loops(size: usize, chance: &mut Chance) -> String {
    let depth = 1 + few(size) / 4;
    let words = pick(chance, &["{1..9}", "a b c", "$X", "many/*", "$(cat x)"]);
    let opened: String = (0..depth).map(|at| format!("for i{at} in {words}; do ")).collect();
    format!("{opened}cat $i0$i1; x=$x$i0; {}", "done; ".repeat(depth))
}

/// Functions that each call the next one twice.
pub(super) fn functions(size: usize, chance: &mut Chance) -> String {
    let calls = pick(chance, &["N; N", "N | N", "$(N) N", "cd many; N; cd ..; N"]);
    let count = few(size);
    let defined: String = (0..count)
        .map(|at| format!("f{at}() {{ {}; }}; ", calls.replace('N', &format!("f{}", at + 1))))
        .collect();
    format!("{defined}f{count}() {{ cat x; }}; f0")
}

/// Values that double with each assignment.
pub(super) fn doubled_values(size: usize, chance: &mut Chance) -> String {
    let double = pick(chance, &["x=$x$x; ", "x+=$x; ", "x=\"$x/$x\"; ", "a+=(\"${a[@]}\"); "]);
    format!("x=ab; a=(a b); {}cat $x ${{a[@]}}", double.repeat(few(size)))
}

/// Branches of which each may or may not run.
pub(super) fn cases(size: usize, chance: &mut Chance) -> String {
    let branch = pick(
        chance,
        &[
            "if test $X; then cd many; x=N; else cd wide; x=M; fi; ",
            "case $X in a*) x=N;; *) cd N;; esac; ",
            "test $X && x=N || x=M; ",
            "while read l; do x=$l; cd N; done < f; ",
        ],
    );
    let count = few(size);
    let all: String = (0..count).map(|at| branch.replace('N', &at.to_string())).collect();
    format!("{all}cat $x")
}

/// Programs of other languages in the arguments.
pub(super) fn languages(size: usize, chance: &mut Chance) -> String {
    let (start, piece, end) = pick(
        chance,
        &[
            ("awk '{ print ", "$1 + ", "$2 }' x"),
            ("awk 'BEGIN { x = ", "(", "1 }'"),
            ("jq '", ".a | ", ".b' x"),
            ("jq '", "[", "' x"),
            ("sed -n '", "s/a*b/c/;", "p' x"),
            ("sqlite3 x 'select ", "a, ", "b from c'"),
            ("find . ", "-name '*a*' -o ", "-print"),
            ("python3 -c '", "import x; ", "'"),
        ],
    );
    format!("{start}{}{end}", piece.repeat(size * 4))
}

pub(super) fn deep_paths(size: usize, _: &mut Chance) -> String {
    let count = few(size);
    format!("cat{}", format!(" deep/{}x", "d/".repeat(count * 4)).repeat(count))
}

/// Searches and copies of deep and of wide trees.
pub(super) fn deep_trees(size: usize, chance: &mut Chance) -> String {
    let part = pick(
        chance,
        &[
            "grep -r x deep; ",
            "find deep | xargs cat; ",
            "cp -r deep e; cat e/x; ",
            "rg x deep wide; ",
            "tar cf src/x.tar deep; ",
        ],
    );
    part.repeat(few(size))
}

pub(super) fn links(size: usize, _: &mut Chance) -> String {
    format!("cat{}", (0..few(size)).map(|at| format!(" links/{at}/../{at}")).collect::<String>())
}

pub(super) fn printed_names(size: usize, _: &mut Chance) -> String {
    format!("ls many | xargs cat{}", "; find wide | xargs cat".repeat(few(size)))
}

pub(super) fn moved_trees(size: usize, _: &mut Chance) -> String {
    format!("{}cat e/x", "cp -r wide e; mv links f; ".repeat(few(size)))
}

pub(super) fn repositories(size: usize, _: &mut Chance) -> String {
    (0..size).map(|at| format!("git -C wide/{at} status; ")).collect()
}

/// Commands of git in repositories whose files are made to take long.
pub(super) fn hostile_repositories(size: usize, chance: &mut Chance) -> String {
    let name = pick(chance, &repositories::NAMES);
    let command = pick(chance, &["status", "log -p", "diff", "grep x", "show HEAD", "push r7"]);
    let below = "/sub".repeat(number(chance, 40));
    let part = pick(chance, &["git -C git/N C; ", "cd git/N; git C; cd -; ", "cd git/NS; git C; "]);
    part.replace('S', &below).replace('N', name).replace('C', command).repeat(few(size))
}

/// Edits that later commands depend on.
pub(super) fn edits(size: usize, chance: &mut Chance) -> String {
    let part = pick(
        chance,
        &[
            "touch src/N; git status; ",
            "echo x > src/N; cargo --version; ",
            "mkdir -p src/N/.git; git -C src/N log; ",
            "cp x src/N; npm ls; ",
        ],
    );
    (0..few(size) * 4).map(|at| part.replace('N', &at.to_string())).collect()
}

/// Files of a file system that takes long to answer.
pub(super) fn slow_files(size: usize, chance: &mut Chance) -> String {
    let part = pick(
        chance,
        &[
            "cat slow/d1/d2/fN.txt; ",
            "cat slow/*/*N*; ",
            "git -C slow/dN status; ",
            "grep -r x slow/dN; ",
            "cp -r slow/dN e; cat e/x; ",
            "cd slow/dN; cargo --version; cd -; ",
        ],
    );
    // One in a thousand waits for an answer that never comes.
    if number(chance, 1_000) == 0 {
        return part.replace("slow/", "slow/never/");
    }
    (0..1 + size / 400).map(|at| part.replace('N', &(at % 5).to_string())).collect()
}

pub(super) fn long_words(size: usize, chance: &mut Chance) -> String {
    let piece = pick(chance, &["a", "../", "./", "\\a", "''", "\"\""]);
    format!("cat {}", piece.repeat(size * 20))
}

pub(super) fn words_by_chance(size: usize, chance: &mut Chance) -> String {
    (0..size).map(|_| pick(chance, &PIECES)).collect()
}

/// Returns a number below `bound`.
pub(super) fn number(chance: &mut Chance, bound: usize) -> usize {
    let bound = u64::try_from(bound.max(1)).unwrap_or(1);
    usize::try_from(chance.below(bound)).unwrap_or_default()
}

/// Returns one of the choices.
pub(super) fn pick<T: Copy + Default>(chance: &mut Chance, choices: &[T]) -> T {
    choices.get(number(chance, choices.len())).copied().unwrap_or_default()
}
