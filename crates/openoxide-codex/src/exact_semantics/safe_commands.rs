//! Commands that Codex 0.145 treats as safe. Later versions have no such list.

use super::{dialect::CodexDialect, launch_context::program_name, script_commands};

const SAFE_PROGRAMS: &[&str] = &[
    "cat", "cd", "cut", "echo", "expr", "false", "grep", "head", "id", "ls", "nl", "paste", "pwd",
    "rev", "seq", "stat", "tail", "tr", "true", "uname", "uniq", "wc", "which", "whoami", "numfmt",
    "tac",
];
const UNSAFE_FIND_OPTIONS: &[&str] =
    &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf"];
const READ_ONLY_GIT_COMMANDS: &[&str] = &["status", "log", "diff", "show", "branch"];
const SAFE_BRANCH_OPTIONS: &[&str] =
    &["--list", "-l", "--show-current", "-a", "--all", "-r", "--remotes", "-v", "-vv", "--verbose"];

/// Returns whether the words of a command make it safe.
pub(super) fn is_safe_command(argv: &[String]) -> bool {
    match script_commands::extract_script(argv) {
        Some(script) => {
            let commands = script_commands::read_plain_commands(script, CodexDialect::V0145)
                .unwrap_or_default();
            !commands.is_empty() && commands.iter().all(|words| is_known_safe(words))
        }
        None => is_known_safe(argv),
    }
}

fn is_known_safe(argv: &[String]) -> bool {
    let Some((program, arguments)) = argv.split_first() else { return false };
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match program_name(program) {
        "base64" => !words.iter().any(|word| {
            word.starts_with("-o") || *word == "--output" || word.starts_with("--output=")
        }),
        "find" => !words.iter().any(|word| UNSAFE_FIND_OPTIONS.contains(word)),
        "rg" => !words.iter().any(|word| find_runs_commands(word)),
        "sed" => is_sed_print(&words),
        "git" => is_read_only_git(&words),
        name => SAFE_PROGRAMS.contains(&name),
    }
}

fn find_runs_commands(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    ["--search-zip", "-z"].contains(&word) || ["--pre", "--hostname-bin"].contains(&name)
}

/// Returns whether a command prints lines, as in `sed -n 3p` or `sed -n 1,80p file`.
fn is_sed_print(words: &[&str]) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let lines = |text: &str| {
        text.split_once(',').map_or_else(|| number(text), |(a, b)| number(a) && number(b))
    };
    match words {
        ["-n", script] | ["-n", script, _] => script.strip_suffix('p').is_some_and(lines),
        _ => false,
    }
}

fn is_read_only_git(words: &[&str]) -> bool {
    let Some(at) = words.iter().position(|word| !word.starts_with('-')) else { return false };
    let (global, rest) = words.split_at(at);
    let Some((verb, arguments)) = rest.split_first() else { return false };
    READ_ONLY_GIT_COMMANDS.contains(verb)
        && !global.iter().any(|word| has_unsafe_git_option(word))
        && !arguments.iter().any(|word| git_starts_programs(word))
        && (*verb != "branch" || arguments.iter().all(|word| is_branch_listing(word)))
}

fn has_unsafe_git_option(word: &str) -> bool {
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

fn git_starts_programs(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    ["--ext-diff", "--textconv"].contains(&word) || ["--output", "--exec"].contains(&name)
}

fn is_branch_listing(word: &str) -> bool {
    SAFE_BRANCH_OPTIONS.contains(&word) || word.starts_with("--format=")
}
