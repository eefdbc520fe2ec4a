//! The circuit breakers: checks for commands that cannot be undone and are rarely intended.

mod danger_context;
mod directory_emptying;
mod known_operands;

use openoxide_protocol::{AbsPath, CommandWord, CommandWords, Finding, FindingKind, Span};

pub use self::danger_context::DangerContext;
use self::known_operands::known_operands;

/// Returns whether a program of this name can be dangerous.
#[must_use]
pub fn is_dangerous_program(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    DANGEROUS_PROGRAMS.contains(&name)
        || name.starts_with("mkfs.")
        || directory_emptying::can_empty_directory(name)
}

/// The programs that `message` knows.
const DANGEROUS_PROGRAMS: [&str; 26] = [
    "blkdiscard",
    "chgrp",
    "chmod",
    "chown",
    "cp",
    "dd",
    "fdisk",
    "find",
    "gdisk",
    "git",
    "mkfs",
    "mkswap",
    "mv",
    "parted",
    "rm",
    "rmdir",
    "sfdisk",
    "sgdisk",
    "shred",
    "srm",
    "tee",
    "trash",
    "truncate",
    "unlink",
    "wipefs",
    "mke2fs",
];

/// Returns the dangerous properties of a command. A program is identified by its name, whatever its
/// directory.
#[must_use]
pub fn find_dangers(argv: &CommandWords, place: &DangerContext<'_>) -> Vec<Finding> {
    describe_danger(argv, place)
        .map(|message| vec![circuit_breaker_finding(message)])
        .unwrap_or_default()
}

fn circuit_breaker_finding(message: &'static str) -> Finding {
    Finding {
        code: "OX201".into(),
        kind: FindingKind::CircuitBreaker,
        message: message.into(),
        span: Span::default(),
    }
}

fn describe_danger(argv: &CommandWords, place: &DangerContext<'_>) -> Option<&'static str> {
    let program = argv.known_word(0)?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if let Some(message) = directory_emptying::describe_emptying(name, argv, place) {
        return Some(message);
    }
    match name {
        "rm" | "srm" => check_rm(argv, place),
        "rmdir" | "unlink" | "trash" => check_removed_paths(known_operands(argv), place, false),
        "shred" | "truncate" => check_removed_paths(known_operands(argv), place, false)
            .or_else(|| check_device_write(known_operands(argv))),
        "mv" => check_mv(argv, place),
        "find" => check_find(argv, place),
        "chmod" | "chown" | "chgrp" if is_recursive(argv) => {
            let whole = known_operands(argv).any(|operand| place.is_critical_path(operand));
            whole.then_some(
                "it changes the permissions of an entire system, home or project directory",
            )
        }
        "fdisk" | "sfdisk" | "parted" if is_list_only(argv) => None,
        "dd" | "wipefs" | "fdisk" | "sfdisk" | "gdisk" | "sgdisk" | "parted" | "mkswap"
        | "blkdiscard" | "tee" => check_device_write(known_operands(argv)),
        "cp" => check_device_write(known_operands(argv).last().into_iter()),
        "git" => check_forced_push(argv),
        name if matches!(name, "mkfs" | "mke2fs") || name.starts_with("mkfs.") => {
            check_device_write(known_operands(argv))
        }
        _ => None,
    }
}

fn check_rm(argv: &CommandWords, place: &DangerContext<'_>) -> Option<&'static str> {
    let recursive = is_recursive(argv);
    if let Some(message) = check_removed_paths(known_operands(argv), place, recursive) {
        return Some(message);
    }
    // If no base directory is known, a relative path is unknown as well.
    let unplaced = place.bases.is_empty();
    let unknown = |word| match word {
        CommandWord::Known(text) => unplaced && !text.starts_with(['/', '-', '~']),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => true,
    };
    let any = recursive && argv.iter().skip(1).any(unknown);
    any.then_some("the files that it would remove are not known")
}

fn check_removed_paths<'a>(
    mut paths: impl Iterator<Item = &'a str>,
    place: &DangerContext<'_>,
    recursive: bool,
) -> Option<&'static str> {
    paths.find_map(|path| {
        if place.is_critical_path(path) {
            return Some("it would remove a system directory, a home or a project");
        }
        is_git_directory(path, recursive).then_some("it would remove the history of a repository")
    })
}

/// Checks `mv`: it removes its sources from their location. The destination is the last operand or
/// the value of `-t`.
fn check_mv(argv: &CommandWords, place: &DangerContext<'_>) -> Option<&'static str> {
    let target = |word: &CommandWord<'_>| matches!(word, CommandWord::Known(text) if text.starts_with("-t") || text.starts_with("--t"));
    let paths: Vec<&str> = known_operands(argv).collect();
    match argv.iter().skip(1).any(|word| target(&word)) {
        true => None,
        false => check_removed_paths(paths.split_last()?.1.iter().copied(), place, false),
    }
}

/// Returns whether a path is the directory `.git` or, if `recursive` is set, is inside one.
fn is_git_directory(path: &str, recursive: bool) -> bool {
    let mut names = path.split('/').filter(|name| !matches!(*name, "" | ".")).rev();
    let is = |name: &str| name.eq_ignore_ascii_case(".git");
    names.next().is_some_and(is) || (recursive && names.any(is))
}

/// Returns whether there is an `-r` or `-R`, in a cluster or as an abbreviation of `--recursive`.
fn is_recursive(argv: &CommandWords) -> bool {
    argv.iter().skip(1).any(|word| match word {
        CommandWord::Known(text) | CommandWord::KnownPrefix(text) => {
            match text.strip_prefix("--") {
                Some(long) => !long.is_empty() && "recursive".starts_with(long),
                None => text.starts_with('-') && text.contains(['r', 'R']),
            }
        }
        CommandWord::AnyWords => false,
    })
}

/// Checks `find … -delete` on a critical path or on the whole project.
fn check_find(argv: &CommandWords, place: &DangerContext<'_>) -> Option<&'static str> {
    let named = |name: &str| argv.iter().any(|word| word == CommandWord::Known(name));
    if !named("-delete") {
        return None;
    }
    let starts = || known_operands(argv).take_while(|word| !matches!(*word, "(" | "!"));
    let narrowed = argv
        .iter()
        .any(|word| matches!(word, CommandWord::Known(text) if NARROWING_TESTS.contains(&text)));
    let nowhere = starts().next().is_none();
    let of_base = |start: &str| place.bases.iter().any(|base| base.join(start) == *base);
    let dangerous = |start: &str| place.is_critical_path(start) && !(narrowed && of_base(start));
    let lost = starts().any(dangerous) || (nowhere && !narrowed);
    lost.then_some("it would remove a system directory, a home or a project")
}

/// The tests with which `find` selects some of many files.
const NARROWING_TESTS: [&str; 14] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-empty",
    "-newer",
    "-mtime",
    "-mmin",
    "-size",
    "-lname",
    "-samefile",
];

/// Returns the reason why a command is dangerous, if it would overwrite a disk.
fn check_device_write<'a>(mut paths: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    const HARMLESS: [&str; 12] = [
        "null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "shm",
        "fd", "pts",
    ];
    let is_disk = |path: &str| {
        let path = path.strip_prefix("of=").unwrap_or(path);
        let path = AbsPath::new(path).ok();
        let name = path.as_ref().and_then(|path| path.as_str().strip_prefix("/dev/"));
        name.and_then(|name| name.split('/').next()).is_some_and(|name| !HARMLESS.contains(&name))
    };
    paths.any(is_disk).then_some("it would overwrite a device")
}

fn is_list_only(argv: &CommandWords) -> bool {
    argv.iter().any(|word| matches!(word, CommandWord::Known("-l" | "--list")))
}

/// Checks for a `git push` that overwrites the commits of other people.
fn check_forced_push(argv: &CommandWords) -> Option<&'static str> {
    if argv.iter().all(|word| word != CommandWord::Known("push")) {
        return None;
    }
    let forces = |word| match word {
        CommandWord::Known("--force") => true,
        CommandWord::Known(text) if text.starts_with("--m") => "--mirror".starts_with(text),
        CommandWord::Known(text) if text.starts_with("--") => false,
        CommandWord::Known(text) => {
            text.starts_with('+') || (text.starts_with('-') && text.contains('f'))
        }
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => false,
    };
    argv.iter()
        .skip(1)
        .any(forces)
        .then_some("it would overwrite the history of a remote repository")
}

#[cfg(test)]
mod tests;
