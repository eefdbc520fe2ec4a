//! What bash and a plain shell read alike, and then do in two ways.

use openoxide_protocol::{Word, Words};

/// Builtins of bash that are programs to a plain shell, or nothing.
const ONLY_BASH: &[&str] = &[
    "bind",
    "builtin",
    "caller",
    "compgen",
    "complete",
    "compopt",
    "declare",
    "dirs",
    "disown",
    "enable",
    "help",
    "history",
    "let",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "readarray",
    "shopt",
    "source",
    "suspend",
    "typeset",
];

/// The special builtins: in a plain shell, variables that are assigned before them stay.
const SPECIAL: &[&str] = &[
    ".", ":", "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set",
    "shift", "times", "trap", "unset",
];

/// Says whether a plain shell runs something else with these words, or does not know the builtin.
pub(super) fn differs(argv: &Words) -> bool {
    let Some(name) = argv.known(0) else { return false };
    // `eval -- x` and `exec -a x y` run programs of the names `--` and `-a` there.
    let option = matches!(name, "eval" | "exec")
        && matches!(argv.iter().nth(1), Some(Word::Known(word)) if word.starts_with('-'));
    option || ONLY_BASH.contains(&name)
}

/// Says whether variables that are assigned before these words outlast them in a plain shell.
pub(super) fn keeps_variables(argv: &Words) -> bool {
    argv.known(0).is_some_and(|name| SPECIAL.contains(&name))
}
