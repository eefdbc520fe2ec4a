//! The wrappers with ways of their own.

use openoxide_protocol::{Word, Words};

use super::{
    ELSEWHERE, Inside, STARTS_SHELL, UNCLEAR, Wrapper, base_name, is_assignment, moved, push,
    push_replaced,
};
use crate::options::{Grammar, Item, options};

/// `busybox APPLET …`, and toybox.
pub(super) fn busybox(argv: &Words) -> Inside {
    match argv.known(1) {
        Some("--list" | "--list-full" | "--help") => Inside::Nothing,
        Some(applet) if !applet.starts_with('-') => Inside::Command(argv.tail(1)),
        _ if argv.len() <= 1 => Inside::Nothing,
        _ => UNCLEAR,
    }
}

/// `chroot`: every path is another one there, and it begins at the new root.
pub(super) fn chroot(argv: &Words) -> Inside {
    const CHROOT: Wrapper = Wrapper {
        before: 1,
        alone: Some(STARTS_SHELL),
        ..Wrapper::new("", &["groups: userspec: skip-chdir help version"])
    };
    move_command(CHROOT.unfold(argv))
}

/// `pkexec`: begins in the other user's home.
pub(super) fn pkexec(argv: &Words) -> Inside {
    const PKEXEC: Wrapper = Wrapper {
        alone: Some(STARTS_SHELL),
        ..Wrapper::new("", &["user: disable-internal-agent keep-cwd help version"])
    };
    move_command(PKEXEC.unfold(argv))
}

fn move_command(inside: Inside) -> Inside {
    match inside {
        Inside::Command(command) => Inside::Command(moved(&command)),
        other => other,
    }
}

/// `chrt`: newer versions run the command without a priority before it.
pub(super) fn chrt(argv: &Words) -> Inside {
    const CHRT: Wrapper = Wrapper {
        nothing: &["m", "max", "p", "pid", "h", "help", "V", "version"],
        ..Wrapper::new(
            "abdefimorRvpVhT:P:D:",
            &["all-tasks batch deadline ext fifo idle max other pid rr reset-on-fork \
                sched-runtime: sched-period: sched-deadline: verbose help version"],
        )
    };
    let rest = match CHRT.unfold(argv) {
        Inside::Command(rest) => rest,
        other => return other,
    };
    match rest.known(0) {
        Some(priority) if priority.parse::<i32>().is_ok() => match rest.tail(1) {
            command if command.is_empty() => Inside::Nothing,
            command => Inside::Command(command),
        },
        Some(_) => Inside::Command(rest),
        None => UNCLEAR,
    }
}

/// `env`.
pub(super) fn env(argv: &Words) -> Inside {
    env_of(argv, true)
}

fn env_of(argv: &Words, may_split: bool) -> Inside {
    const ENV: Grammar = Grammar::leading(
        "iv0u:C:S:",
        &["ignore-environment null unset: chdir: split-string: block-signal? default-signal? \
            ignore-signal? list-signal-handling argv0: debug help version"],
    );
    let mut items = options(argv, 1, ENV);
    let mut first = true;
    while let Some(item) = items.next() {
        match item {
            Item::Unclear => return UNCLEAR,
            Item::Option { name: "help" | "version", .. } => return Inside::Nothing,
            Item::Option { name: "C" | "chdir", .. } => return Inside::Unknown(ELSEWHERE),
            Item::Option { name: "S" | "split-string", value, .. } => {
                let rest = argv.tail(items.consumed());
                return match split(value, &rest).filter(|_| may_split) {
                    Some(argv) => env_of(&argv, false),
                    None => Inside::Unknown("splits a text into a command"),
                };
            }
            Item::Option { .. } => {}
            Item::Operand(Word::Known("-")) if first => first = false,
            Item::Operand(word) if is_assignment(word) => first = false,
            Item::Operand(Word::Begins("") | Word::Many) => return UNCLEAR,
            Item::Operand(_) => return Inside::Command(argv.tail(items.consumed() - 1)),
        }
    }
    Inside::Nothing
}

/// Splits the text of `env -S`, if it holds nothing that `env` would replace, and puts the rest behind it.
fn split(value: Option<Word<'_>>, rest: &Words) -> Option<Words> {
    let Some(Word::Known(text)) = value else { return None };
    let plain = |each: char| each.is_ascii_alphanumeric() || " _-+./:=,@%".contains(each);
    text.chars().all(plain).then_some(())?;
    let mut words: Words =
        ["env"].into_iter().chain(text.split(' ').filter(|word| !word.is_empty())).collect();
    rest.iter().for_each(|word| push(&mut words, word));
    Some(words)
}

/// `fd`: `-x` runs what follows for each file, `-X` for all of them.
pub(super) fn fd(argv: &Words) -> Inside {
    const FD: Grammar = Grammar::exact(
        "aFgHhiILlpqsu01Vc:d:e:E:j:o:S:t:x?X?",
        &["absolute-path and: base-directory: batch-size: case-sensitive changed-before: \
            changed-within: changed-after: color: exact-depth: exclude: exec? exec-batch? \
            extension: fixed-strings follow full-path glob gen-completions help hidden \
            hyperlink? ignore-case ignore-file: list-details max-depth: max-results: min-depth: \
            newer: no-follow no-hidden no-ignore no-ignore-parent no-ignore-vcs \
            no-require-git older: one-file-system owner: path-separator: print0 prune quiet \
            regex search-path: show-errors size: strip-cwd-prefix? threads: type: unrestricted \
            version"],
    );
    let mut items = options(argv, 1, FD);
    while let Some(item) = items.next() {
        match item {
            Item::Option { name: "x" | "X" | "exec" | "exec-batch", value: None, .. } => {
                return fd_command(argv.tail(items.consumed()).iter()).unwrap_or(UNCLEAR);
            }
            Item::Option { name: "x" | "X" | "exec" | "exec-batch" | "base-directory", .. }
            | Item::Unclear => return UNCLEAR,
            Item::Option { .. } | Item::Operand(_) => {}
        }
    }
    Inside::Nothing
}

fn fd_command<'a>(mut words: impl Iterator<Item = Word<'a>>) -> Option<Inside> {
    let mut command = Words::new();
    for word in words.by_ref() {
        match word {
            Word::Known(";") => break,
            Word::Begins("" | ";") | Word::Many => return None,
            word => push_replaced(&mut command, word, "{"),
        }
    }
    // After the `;` another command could follow.
    if command.is_empty() || words.next().is_some() {
        return None;
    }
    command.push_many();
    Some(Inside::Command(command))
}

/// `flock FILE COMMAND …` and `flock FILE -c SCRIPT`.
pub(super) fn flock(argv: &Words) -> Inside {
    const FLOCK: Wrapper = Wrapper {
        before: 1,
        nothing: &["h", "help", "V", "version"],
        opaque: &[
            ("c", "its options were not understood"),
            ("command", "its options were not understood"),
        ],
        ..Wrapper::new(
            "sexnoFuhVw:E:c:",
            &["shared exclusive unlock nonblocking nonblock wait: timeout: close no-fork \
                conflict-exit-code: command: verbose fcntl help version"],
        )
    };
    let rest = match FLOCK.unfold(argv) {
        Inside::Command(rest) => rest,
        other => return other,
    };
    match (rest.known(0), rest.len()) {
        (Some("-c" | "--command"), 2) => {
            rest.known(1).map_or(UNCLEAR, |script| Inside::Script(script.to_owned()))
        }
        (Some(program), _) if !program.starts_with('-') => Inside::Command(rest),
        _ => UNCLEAR,
    }
}

/// `runuser -u USER COMMAND …`, and otherwise as `su`.
pub(super) fn runuser(argv: &Words) -> Inside {
    const RUNUSER: Wrapper = Wrapper {
        nothing: &["h", "help", "V", "version"],
        moves: &["l", "login"],
        ..Wrapper::new(SU_SHORT, &[SU_LONG])
    };
    let with_user = options(argv, 1, RUNUSER.grammar)
        .any(|item| matches!(item, Item::Option { name: "u" | "user", .. }));
    if with_user { RUNUSER.unfold(argv) } else { su(argv) }
}

const SU_SHORT: &str = "mplfPTwhVg:G:c:s:u:";
const SU_LONG: &str = "preserve-environment whitelist-environment: group: supp-group: login \
    command: session-command: fast shell: pty no-pty user: help version";

/// `su [-] [USER] -c SCRIPT`; its options may follow the user.
pub(super) fn su(argv: &Words) -> Inside {
    const SU: Grammar = Grammar {
        short: "mplfPThVw:g:G:c:s:",
        long: &[SU_LONG],
        leading: false,
        abbreviations: true,
    };
    let mut script = None;
    let mut operands = 0;
    for item in options(argv, 1, SU) {
        match item {
            Item::Option { name: "help" | "version" | "h" | "V", .. } => return Inside::Nothing,
            Item::Option { name: "c" | "command" | "session-command", value, .. } => {
                if script.is_some() {
                    return UNCLEAR;
                }
                script = value;
            }
            Item::Option { name: "s" | "shell", value, .. } if !is_shell(value) => {
                return Inside::Unknown("runs a script of another shell");
            }
            Item::Option { name: "l" | "login", .. } | Item::Operand(Word::Known("-")) => {
                return Inside::Unknown(ELSEWHERE);
            }
            Item::Option { name: "user" | "u", .. } | Item::Unclear => return UNCLEAR,
            Item::Option { .. } => {}
            Item::Operand(_) => operands += 1,
        }
    }
    match script {
        None => Inside::Unknown(STARTS_SHELL),
        Some(Word::Known(script)) if operands <= 1 => Inside::Script(script.to_owned()),
        Some(Word::Known(_)) => UNCLEAR,
        Some(_) => Inside::Unknown("runs a script that is not known"),
    }
}

fn is_shell(value: Option<Word<'_>>) -> bool {
    matches!(value, Some(Word::Known(shell))
        if matches!(base_name(shell), "sh" | "bash" | "dash" | "ksh" | "zsh"))
}

/// `script -c SCRIPT`; what it records goes to a file.
pub(super) fn script(argv: &Words) -> Inside {
    const SCRIPT: Grammar = Grammar {
        short: "aefqhVt?I:O:B:T:m:c:E:o:",
        long: &["log-in: log-out: log-io: log-timing: timing? logging-format: append command: \
            return flush force echo: output-limit: quiet help version"],
        leading: false,
        abbreviations: true,
    };
    let mut script = None;
    let mut operands = 0;
    for item in options(argv, 1, SCRIPT) {
        match item {
            Item::Option { name: "help" | "version" | "h" | "V", .. } => return Inside::Nothing,
            Item::Option { name: "c" | "command", value, .. } if script.is_none() => script = value,
            Item::Option { name: "c" | "command", .. } | Item::Unclear => return UNCLEAR,
            Item::Option { .. } => {}
            Item::Operand(_) => operands += 1,
        }
    }
    match script {
        None => Inside::Unknown(STARTS_SHELL),
        Some(Word::Known(script)) if operands <= 1 => Inside::Script(script.to_owned()),
        Some(_) => UNCLEAR,
    }
}

/// `watch`: gives its words, with blanks between them, to a shell.
pub(super) fn watch(argv: &Words) -> Inside {
    const WATCH: Grammar = Grammar::leading(
        "bcCegprtwxfhvd?q:n:s:",
        &[
            "beep color no-color differences? errexit follow chgexit equexit: interval: no-linewrap \
            precise no-rerun no-title no-wrap exec shotsdir: help version",
        ],
    );
    let mut items = options(argv, 1, WATCH);
    let mut direct = false;
    while let Some(item) = items.next() {
        match item {
            Item::Unclear => return UNCLEAR,
            Item::Option { name: "help" | "version" | "h" | "v", .. } => return Inside::Nothing,
            Item::Option { name, .. } => direct |= matches!(name, "x" | "exec"),
            Item::Operand(_) => {
                let command = argv.tail(items.consumed() - 1);
                return if direct { Inside::Command(command) } else { joined(&command) };
            }
        }
    }
    Inside::Nothing
}

fn joined(command: &Words) -> Inside {
    let mut script = String::new();
    for word in command.iter() {
        let Word::Known(text) = word else {
            return Inside::Unknown("runs a script that is not known");
        };
        if !script.is_empty() {
            script.push(' ');
        }
        script.push_str(text);
    }
    Inside::Script(script)
}

/// `xargs`: the words that it reads come behind the command, or in place of a text in it.
pub(super) fn xargs(argv: &Words) -> Inside {
    const XARGS: Grammar = Grammar::leading(
        "0oprtxa:d:E:e?I:i?L:l?n:P:s:",
        &["null arg-file: delimiter: eof? replace? max-lines? interactive no-run-if-empty \
            max-chars: verbose exit max-args: max-procs: open-tty process-slot-var: show-limits \
            help version"],
    );
    let mut items = options(argv, 1, XARGS);
    let (mut placeholder, mut counted, mut start) = (None, false, None);
    while let Some(item) = items.next() {
        match item {
            Item::Unclear => return UNCLEAR,
            Item::Option { name: "help" | "version", .. } => return Inside::Nothing,
            Item::Option { name: "I" | "i" | "replace", value, .. } => {
                let Word::Known(text) = value.unwrap_or(Word::Known("{}")) else { return UNCLEAR };
                if text.is_empty() || placeholder.is_some_and(|other| other != text) {
                    return UNCLEAR;
                }
                placeholder = Some(text);
            }
            // These undo a placeholder before them.
            Item::Option { name: "n" | "L" | "l" | "max-args" | "max-lines", .. } => counted = true,
            Item::Option { .. } => {}
            Item::Operand(_) => {
                start = Some(items.consumed() - 1);
                break;
            }
        }
    }
    let mut command = Words::new();
    match start {
        None => command.push("echo"),
        Some(start) => argv.iter().skip(start).for_each(|word| match placeholder {
            Some(text) => push_replaced(&mut command, word, text),
            None => push(&mut command, word),
        }),
    }
    if counted || placeholder.is_none() {
        command.push_many();
    }
    Inside::Command(command)
}
