//! The commands that Claude Code runs without a rule (2.1.330, observed).

use super::command_words::ScriptCommand;

/// Commands that are read-only with any arguments, except for the flags in `FORBIDDEN_FLAGS`.
const READ_ONLY_COMMANDS: &str = "ls cat head tail grep egrep wc which type diff stat du df pwd echo uname whoami id groups uptime ps \
pgrep lsof free nproc cal locale tput netstat ss ifconfig help strings hexdump od base64 md5sum sha1sum sha256sum basename \
dirname realpath readlink seq expr test [ true false cut tr paste column comm cmp fold fmt nl tac rev expand unexpand tsort \
numfmt pr printf sort rg fd find date tree man file jq";

/// Flags with which a command does more than read.
const FORBIDDEN_FLAGS: &[(&str, &[&str])] = &[
    ("printf", &["-v"]),
    ("sort", &["-o", "--output", "--compress-program", "-T", "--temporary-directory"]),
    ("rg", &["--pre", "-z", "--search-zip", "--hostname-bin", "-f", "--file"]),
    // `-v` expands a subscript, including any commands in it.
    ("test", &["-v"]),
    ("[", &["-v"]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    (
        "find",
        &[
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf",
            "-fls",
        ],
    ),
    ("date", &["-s", "--set", "-f", "--file"]),
    ("tree", &["-o", "--output"]),
    ("man", &["-P", "--pager", "-H", "--html", "-M"]),
    ("file", &["-m", "-f", "-C", "--magic-file", "--files-from", "--compile"]),
    ("jq", &["-f", "--from-file", "-L", "env", "$ENV"]),
];

/// The read-only subcommands of git.
const READ_ONLY_GIT_COMMANDS: &str = "status log diff show blame ls-files rev-parse describe reflog shortlog grep cat-file rev-list \
for-each-ref merge-base";

const FORBIDDEN_GIT_FLAGS: &[&str] =
    &["--output", "--ext-diff", "--textconv", "-O", "--open-files-in-pager"];

/// Programs for which unquoted patterns require approval.
const COMMANDS_WITHOUT_GLOBS: &[&str] = &["find", "sort", "sed", "git"];

/// Returns whether a command is read-only. Its paths are checked elsewhere.
pub(crate) fn is_read_only(command: &ScriptCommand<'_>) -> bool {
    let (name, arguments) = (command.name(), command.arguments());
    let wild = command.words.iter().skip(1).any(|word| is_glob(word.text));
    if wild && COMMANDS_WITHOUT_GLOBS.contains(&name.as_str()) {
        return false;
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match (name.as_str(), arguments.as_slice()) {
        ("arch" | "xargs" | "hostname" | "history", []) => true,
        ("sleep", [time]) => time.parse::<f64>().is_ok_and(|seconds| seconds <= 2.0),
        ("uniq", flags) => flags.iter().all(|flag| flag.starts_with('-')),
        ("ip", ["addr" | "a" | "link" | "route", rest @ ..]) => {
            rest.is_empty() || *rest == ["show"]
        }
        ("sed", ["-n", script, ..]) => is_sed_print(script),
        ("node" | "python" | "python3", ["--version"]) | ("node", ["-v"]) => true,
        ("docker", ["ps" | "images" | "logs" | "inspect", ..]) => true,
        ("git", [subcommand, rest @ ..]) => is_read_only_git(subcommand, rest),
        (name, arguments) if READ_ONLY_COMMANDS.split(' ').any(|free| free == name) => {
            is_read_only_sed(name, arguments)
        }
        _ => false,
    }
}

fn is_read_only_sed(name: &str, arguments: &[&str]) -> bool {
    let not_with =
        FORBIDDEN_FLAGS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, f)| f);
    !arguments.iter().any(|argument| matches_flag(argument, not_with))
}

/// Returns whether an argument is one of these flags: alone, with `=value`, or a short flag that is
/// combined with its value or with other flags.
fn matches_flag(argument: &str, flags: &[&str]) -> bool {
    let head = argument.split('=').next().unwrap_or_default();
    flags.iter().any(|flag| {
        let short = flag.len() == 2 && argument.starts_with(flag);
        // Programs accept a long option by a prefix of its name.
        let shortened = head.len() > 2 && head.starts_with("--") && flag.starts_with(head);
        head == *flag || short || shortened
    })
}

/// Returns whether a sed script prints lines, as `Np` and `N,Mp` do.
fn is_sed_print(script: &str) -> bool {
    let lines = script.strip_suffix('p').unwrap_or_default();
    script.ends_with('p') && lines.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '$')
}

fn is_read_only_git(subcommand: &str, rest: &[&str]) -> bool {
    let flags_only = || rest.iter().all(|word| word.starts_with('-'));
    match subcommand {
        "branch" => {
            flags_only() && !rest.iter().any(|flag| matches_flag(flag, &["-d", "-D", "-m", "-M"]))
        }
        "tag" => flags_only() || matches!(rest, ["-l" | "--list", ..]),
        "remote" => matches!(rest, [] | ["-v"]),
        "ls-remote" => rest.is_empty(),
        "stash" | "worktree" => matches!(rest, ["list", ..]),
        "config" => matches!(rest, ["--get", ..]),
        known => {
            READ_ONLY_GIT_COMMANDS.split(' ').any(|free| free == known)
                && !rest.iter().any(|flag| matches_flag(flag, FORBIDDEN_GIT_FLAGS))
        }
    }
}

/// Returns whether a word contains a pattern of the shell.
pub(crate) fn is_glob(raw: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    raw.chars().any(|found| {
        let wild = quote.is_none() && before != '\\' && matches!(found, '*' | '?' | '[');
        match (quote, found) {
            (None, '\'' | '"') => quote = Some(found),
            (Some(open), _) if open == found => quote = None,
            _ => {}
        }
        before = found;
        wild
    })
}

/// Returns the arguments of a file command that are paths.
pub(crate) fn path_arguments(command: &ScriptCommand<'_>) -> Vec<String> {
    const ALL: &str = "ls cat head tail wc diff stat du cp mv rm rmdir touch mkdir tee base64 file strings sort cut tac nl od \
md5sum sha256sum fmt paste comm cmp expand column hexdump rev fold pr tree uniq readlink realpath";
    let (name, arguments) = (command.name(), command.arguments());
    let mut words = arguments.iter().filter(|word| !word.starts_with('-'));
    match name.as_str() {
        "grep" | "egrep" | "rg" | "sed" | "awk" | "jq" => _ = words.next(),
        "find" => {
            return arguments
                .iter()
                .take_while(|word| !word.starts_with(['-', '(']))
                .cloned()
                .collect();
        }
        "git" if arguments.iter().any(|word| word == "--no-index") => {}
        name if ALL.split_whitespace().any(|known| known == name) => {}
        _ => return Vec::new(),
    }
    words.cloned().collect()
}
