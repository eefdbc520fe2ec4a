//! Commands that Codex 0.145 takes for harmless; later versions know none.

use super::{dialect::Dialect, place::program_name, shell};

const ALWAYS: &[&str] = &[
    "cat", "cd", "cut", "echo", "expr", "false", "grep", "head", "id", "ls", "nl", "paste", "pwd",
    "rev", "seq", "stat", "tail", "tr", "true", "uname", "uniq", "wc", "which", "whoami", "numfmt",
    "tac",
];
const FIND: &[&str] =
    &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf"];
const READING: &[&str] = &["status", "log", "diff", "show", "branch"];
const BRANCHES: &[&str] =
    &["--list", "-l", "--show-current", "-a", "--all", "-r", "--remotes", "-v", "-vv", "--verbose"];

/// Says whether a command is harmless by its words.
pub(super) fn is_safe(argv: &[String]) -> bool {
    match shell::script(argv) {
        Some(script) => {
            let commands = shell::commands(script, Dialect::V0145).unwrap_or_default();
            !commands.is_empty() && commands.iter().all(|words| known(words))
        }
        None => known(argv),
    }
}

fn known(argv: &[String]) -> bool {
    let Some((program, arguments)) = argv.split_first() else { return false };
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match program_name(program) {
        "base64" => !words.iter().any(|word| {
            word.starts_with("-o") || *word == "--output" || word.starts_with("--output=")
        }),
        "find" => !words.iter().any(|word| FIND.contains(word)),
        "rg" => !words.iter().any(|word| runs_others(word)),
        "sed" => prints_lines(&words),
        "git" => reads_git(&words),
        name => ALWAYS.contains(&name),
    }
}

fn runs_others(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    ["--search-zip", "-z"].contains(&word) || ["--pre", "--hostname-bin"].contains(&name)
}

/// `sed -n 3p`, `sed -n 1,80p file`.
fn prints_lines(words: &[&str]) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let lines = |text: &str| {
        text.split_once(',').map_or_else(|| number(text), |(a, b)| number(a) && number(b))
    };
    match words {
        ["-n", script] | ["-n", script, _] => script.strip_suffix('p').is_some_and(lines),
        _ => false,
    }
}

fn reads_git(words: &[&str]) -> bool {
    let Some(at) = words.iter().position(|word| !word.starts_with('-')) else { return false };
    let (global, rest) = words.split_at(at);
    let Some((verb, arguments)) = rest.split_first() else { return false };
    READING.contains(verb)
        && !global.iter().any(|word| changes_git(word))
        && !arguments.iter().any(|word| starts_programs(word))
        && (*verb != "branch" || arguments.iter().all(|word| lists_branches(word)))
}

fn changes_git(word: &str) -> bool {
    const LONG: &[&str] = &[
        "--config-env",
        "--exec-path",
        "--git-dir",
        "--namespace",
        "--super-prefix",
        "--work-tree",
    ];
    let name = word.split('=').next().unwrap_or_default();
    word.starts_with("-C")
        || word.starts_with("-c")
        || ["-p", "--paginate"].contains(&word)
        || LONG.contains(&name)
}

fn starts_programs(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    ["--ext-diff", "--textconv"].contains(&word) || ["--output", "--exec"].contains(&name)
}

fn lists_branches(word: &str) -> bool {
    BRANCHES.contains(&word) || word.starts_with("--format=")
}
