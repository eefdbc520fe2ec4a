//! Words of commands.

use crate::crash::chance::Chance;

const WORDS: &[&str] = &[
    "git",
    "git",
    "git",
    "status",
    "push",
    "ls",
    "ls",
    "-l",
    "-rf",
    "rm",
    "npm",
    "install",
    "GIT",
    "Git",
    "a",
    "b",
    "c",
    "",
    " ",
    "a b",
    "'",
    "\"",
    "\\",
    "$x",
    "*",
    "#",
    "--",
    "-r",
    "--pretty",
    "\n",
    "\t",
    "é",
    "e\u{301}",
    "ß",
    "SS",
    "ss",
    "İ",
    "i̇",
    "ﬁ",
    "FI",
    "Å",
    "日本語",
    "😀",
    "/",
    ".",
    "..",
    "~",
    "/bin/ls",
    "./ls",
    "=",
    "a=b",
    "x;y",
    "{}",
    "ſ",
    "K",
    "ΐ",
    "ΐ",
    "Ꭰ",
    "ǰ",
    "Σ",
    "ς",
];

/// Returns a random element.
pub(crate) fn one<T: Clone + Default>(chance: &mut Chance, all: &[T]) -> T {
    let at = usize::try_from(chance.below(all.len().max(1) as u64)).unwrap_or_default();
    all.get(at).cloned().unwrap_or_default()
}

/// Returns the first elements, which are valid, or sometimes all elements.
pub(super) fn mostly<'a, T>(
    chance: &mut Chance,
    percent: u64,
    right: usize,
    all: &'a [T],
) -> &'a [T] {
    let right = if chance.percent(percent) { all.get(..right) } else { None };
    right.unwrap_or(all)
}

pub(super) fn word(chance: &mut Chance) -> String {
    one(chance, WORDS).to_owned()
}

/// Returns another spelling of a word.
pub(super) fn spelled(chance: &mut Chance, word: &str) -> String {
    if chance.percent(50) { word.to_uppercase() } else { word.to_lowercase() }
}

/// Returns a possible path of a program.
pub(super) fn path(chance: &mut Chance, name: &str) -> String {
    let before =
        ["/bin/", "/usr/bin/", "./", "~/", "../", "/a/../bin/", "//bin/./", "sub/", "~x/", "~/../"];
    format!("{}{name}", one(chance, &before))
}
