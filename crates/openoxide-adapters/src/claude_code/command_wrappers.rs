//! Programs that start another program, and that Claude Code unwraps.

use super::command_words::ScriptCommand;

/// Variables that may be assigned before a command that a rule allows.
const SAFE_VARIABLES: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "BLOCK_SIZE",
    "CGO_ENABLED",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "FORCE_COLOR",
    "GO111MODULE",
    "GOARCH",
    "GOEXPERIMENT",
    "GOOS",
    "GREP_COLOR",
    "GREP_COLORS",
    "LANGUAGE",
    "LS_COLORS",
    "NODE_ENV",
    "NO_COLOR",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TIME_STYLE",
    "TZ",
];

/// Returns whether an assignment before a command is ignored when rules are matched.
pub(crate) fn is_safe_assignment((name, value): &(&str, &str)) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:,@%+-=".contains(c);
    let literal = !value.is_empty() && value.chars().all(plain);
    let locale = value.starts_with("C") || value.starts_with("POSIX") || value.contains('_');
    literal && (SAFE_VARIABLES.contains(name) || (matches!(*name, "LANG" | "LC_ALL") && locale))
}

/// The kind of rule for which a wrapper is unwrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnwrapMode {
    /// An allow rule.
    Allow,
    /// A rule that asks or denies, for which more wrappers are unwrapped.
    Restrict,
}

/// Returns the command that a wrapper starts. Returns `None` if the command is not a wrapper, or if
/// it is used in an unknown way.
pub(crate) fn inner_command<'a>(
    command: &ScriptCommand<'a>,
    look: UnwrapMode,
) -> Option<ScriptCommand<'a>> {
    let name = command.name();
    let base = name.rsplit('/').next().unwrap_or_default();
    let name = if look == UnwrapMode::Restrict { base } else { name.as_str() };
    let skip = count_standard_wrapper_words(name, command).or_else(|| match look {
        UnwrapMode::Allow => None,
        UnwrapMode::Restrict => count_extended_wrapper_words(name, command),
    })?;
    let inner = command.skip_words(skip);
    (!inner.words.is_empty()).then_some(inner)
}

/// Returns the number of words of a wrapper that is unwrapped for every rule.
fn count_standard_wrapper_words(name: &str, command: &ScriptCommand<'_>) -> Option<usize> {
    let second = command.word_at(1)?;
    match name {
        "timeout" => count_timeout_words(command),
        "time" | "nohup" | "builtin" | "noglob" => (!second.starts_with('-')).then_some(1),
        "command" if second == "-p" => Some(2),
        "command" | "xargs" => (!second.starts_with('-')).then_some(1),
        "nice" if second == "-n" => Some(3),
        "nice" if second.starts_with("--") => None,
        "nice" => Some(if second.starts_with('-') { 2 } else { 1 }),
        "stdbuf" => {
            let set = second.len() > 2 && ["-o", "-e", "-i"].iter().any(|o| second.starts_with(o));
            set.then_some(2)
        }
        _ => None,
    }
}

/// Returns the number of words of `timeout [flags] DURATION`, if the duration is valid.
fn count_timeout_words(command: &ScriptCommand<'_>) -> Option<usize> {
    let mut at = 1;
    loop {
        let word = command.word_at(at)?;
        match word.as_str() {
            "-k" | "-s" | "--kill-after" | "--signal" => at += 2,
            flag if flag.starts_with('-') => at += 1,
            time => {
                let number = time.trim_end_matches(['s', 'm', 'h', 'd']);
                return number.parse::<f64>().is_ok().then_some(at + 1);
            }
        }
    }
}

/// Returns the number of words of a wrapper that is unwrapped only for restrictive rules.
fn count_extended_wrapper_words(name: &str, command: &ScriptCommand<'_>) -> Option<usize> {
    const WITH_VALUE: &[(&str, &[&str])] = &[
        ("sudo", &["-u", "-g", "-h", "-p"]),
        ("doas", &["-u"]),
        ("pkexec", &["--user"]),
        ("watch", &["-n"]),
        ("ionice", &["-c", "-n"]),
        ("strace", &["-o", "-e"]),
        ("time", &[]),
        ("setsid", &[]),
        ("ltrace", &[]),
        ("unshare", &[]),
        ("nsenter", &["-t"]),
        ("exec", &[]),
        ("nocorrect", &[]),
        ("env", &[]),
        ("flock", &[]),
        ("chrt", &[]),
        ("taskset", &[]),
        ("script", &[]),
    ];
    let (_, values) = WITH_VALUE.iter().find(|(known, _)| *known == name)?;
    let mut at = 1;
    while let Some(word) = command.word_at(at) {
        let assignment = name == "env" && word.contains('=');
        match word.as_str() {
            flag if values.contains(&flag) => at += 2,
            flag if flag.starts_with('-') || assignment => at += 1,
            _ => break,
        }
    }
    // The locked file of `flock`, the priority of `chrt`, or the mask of `taskset`.
    Some(at + usize::from(matches!(name, "flock" | "chrt" | "taskset")))
}

/// Programs that a rule with a wildcard never allows, because the commands that they start are not
/// checked.
pub(crate) const NO_WILDCARD_COMMANDS: &[&str] = &[
    "alias",
    "chrt",
    "coproc",
    "enable",
    "eval",
    "exec",
    "flock",
    "hash",
    "ionice",
    "ltrace",
    "nocorrect",
    "nsenter",
    "repeat",
    "script",
    "setsid",
    "source",
    "strace",
    "taskset",
    "trap",
    "unshare",
    "watch",
    ".",
];
