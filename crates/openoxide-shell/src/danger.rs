//! The circuit breakers: commands that cannot be undone and are hardly ever meant.

mod emptying;

use openoxide_protocol::{AbsPath, CommandWord, CommandWords, Finding, FindingKind, Span};

/// The directories that a command runs in.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The directories that relative paths can start from and that must not get lost.
    pub bases: &'a [AbsPath],
    /// The home of the person, if it is known.
    pub home: Option<&'a AbsPath>,
}

/// Returns whether a program of this name can be dangerous.
#[must_use]
pub fn concerns(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    NAMES.contains(&name) || name.starts_with("mkfs.") || emptying::concerns(name)
}

/// The programs that `message` knows.
const NAMES: [&str; 26] = [
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
pub fn findings(argv: &CommandWords, place: &Place<'_>) -> Vec<Finding> {
    message(argv, place).map(|message| vec![breaker(message)]).unwrap_or_default()
}

fn breaker(message: &'static str) -> Finding {
    Finding {
        code: "OX201".into(),
        kind: FindingKind::CircuitBreaker,
        message: message.into(),
        span: Span::default(),
    }
}

fn message(argv: &CommandWords, place: &Place<'_>) -> Option<&'static str> {
    let program = argv.known_word(0)?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if let Some(message) = emptying::message(name, argv, place) {
        return Some(message);
    }
    match name {
        "rm" | "srm" => removal(argv, place),
        "rmdir" | "unlink" | "trash" => lost(operands(argv), place, false),
        "shred" | "truncate" => {
            lost(operands(argv), place, false).or_else(|| device(operands(argv)))
        }
        "mv" => moved(argv, place),
        "find" => find(argv, place),
        "chmod" | "chown" | "chgrp" if is_recursive(argv) => {
            let whole = operands(argv).any(|operand| place.holds(operand));
            whole.then_some("it changes the rights of a whole system, home or project")
        }
        "fdisk" | "sfdisk" | "parted" if lists(argv) => None,
        "dd" | "wipefs" | "fdisk" | "sfdisk" | "gdisk" | "sgdisk" | "parted" | "mkswap"
        | "blkdiscard" | "tee" => device(operands(argv)),
        "cp" => device(operands(argv).last().into_iter()),
        "git" => forced_push(argv),
        name if matches!(name, "mkfs" | "mke2fs") || name.starts_with("mkfs.") => {
            device(operands(argv))
        }
        _ => None,
    }
}

fn removal(argv: &CommandWords, place: &Place<'_>) -> Option<&'static str> {
    let recursive = is_recursive(argv);
    if let Some(message) = lost(operands(argv), place, recursive) {
        return Some(message);
    }
    // Where no directory is known, a relative path is not known either.
    let unplaced = place.bases.is_empty();
    let unknown = |word| match word {
        CommandWord::Known(text) => unplaced && !text.starts_with(['/', '-', '~']),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => true,
    };
    let any = recursive && argv.iter().skip(1).any(unknown);
    any.then_some("what it would remove is not known")
}

fn lost<'a>(
    mut paths: impl Iterator<Item = &'a str>,
    place: &Place<'_>,
    recursive: bool,
) -> Option<&'static str> {
    paths.find_map(|path| {
        if place.holds(path) {
            return Some("it would remove a system directory, a home or a project");
        }
        is_git(path, recursive).then_some("it would remove the history of a repository")
    })
}

/// `mv`: what it moves is gone from where it was. Where it goes to is the last operand, or behind `-t`.
fn moved(argv: &CommandWords, place: &Place<'_>) -> Option<&'static str> {
    let target = |word: &CommandWord<'_>| matches!(word, CommandWord::Known(text) if text.starts_with("-t") || text.starts_with("--t"));
    let paths: Vec<&str> = operands(argv).collect();
    match argv.iter().skip(1).any(|word| target(&word)) {
        true => None,
        false => lost(paths.split_last()?.1.iter().copied(), place, false),
    }
}

/// Returns the operands that are wholly known. What looks like an option is one up to `--`.
fn operands(argv: &CommandWords) -> impl Iterator<Item = &str> {
    let mut ended = false;
    argv.iter().skip(1).filter_map(move |word| match word {
        CommandWord::Known("--") if !ended => {
            ended = true;
            None
        }
        CommandWord::Known(text) if ended || !text.starts_with('-') => Some(text),
        _ => None,
    })
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

/// Returns whether a path is the directory `.git` or, if `recursive` is set, is inside of one.
fn is_git(path: &str, recursive: bool) -> bool {
    let mut names = path.split('/').filter(|name| !matches!(*name, "" | ".")).rev();
    let is = |name: &str| name.eq_ignore_ascii_case(".git");
    names.next().is_some_and(is) || (recursive && names.any(is))
}

impl Place<'_> {
    /// Returns whether a path is the root, a directory directly in it, or a home or base directory
    /// or one of their parents.
    fn holds(&self, path: &str) -> bool {
        let absolute = match (path.strip_prefix('~'), self.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                return self.is_held(&home.join(rest.trim_start_matches('/')));
            }
            _ => path.starts_with('/'),
        };
        match AbsPath::new(path) {
            Ok(path) if absolute => self.is_held(&path),
            _ => self.bases.iter().any(|base| self.is_held(&base.join(path))),
        }
    }

    /// Like [`Self::holds`], without the base directories and those of their parents that do not
    /// contain the home directory.
    fn holds_system(&self, path: &str) -> bool {
        Place { bases: &[], home: self.home }.holds(path)
            || (!path.starts_with(['/', '~'])
                && self
                    .bases
                    .iter()
                    .any(|base| Place { bases: &[], home: self.home }.is_held(&base.join(path))))
    }

    fn is_held(&self, path: &AbsPath) -> bool {
        let top = path.parent().is_none_or(|parent| parent.parent().is_none());
        // `/x/*` is all that `/x` holds.
        let whole = path.parent().filter(|_| path.file_name() == Some("*"));
        let holds = |held: &AbsPath| {
            held.strip_prefix(path).is_some()
                || whole.as_ref().is_some_and(|all| held.strip_prefix(all).is_some())
        };
        top || self.bases.iter().any(holds) || self.home.is_some_and(holds)
    }
}

/// `find … -delete`: of a place that must not get lost, or of all of the project.
fn find(argv: &CommandWords, place: &Place<'_>) -> Option<&'static str> {
    let named = |name: &str| argv.iter().any(|word| word == CommandWord::Known(name));
    if !named("-delete") {
        return None;
    }
    let starts = || operands(argv).take_while(|word| !matches!(*word, "(" | "!"));
    let narrowed = argv
        .iter()
        .any(|word| matches!(word, CommandWord::Known(text) if NARROWING.contains(&text)));
    let nowhere = starts().next().is_none();
    let of_base = |start: &str| place.bases.iter().any(|base| base.join(start) == *base);
    let dangerous = |start: &str| place.holds(start) && !(narrowed && of_base(start));
    let lost = starts().any(dangerous) || (nowhere && !narrowed);
    lost.then_some("it would remove a system directory, a home or a project")
}

/// The tests of `find` that choose some files among many.
const NARROWING: [&str; 14] = [
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
fn device<'a>(mut paths: impl Iterator<Item = &'a str>) -> Option<&'static str> {
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

fn lists(argv: &CommandWords) -> bool {
    argv.iter().any(|word| matches!(word, CommandWord::Known("-l" | "--list")))
}

/// `git push` that overwrites what others have.
fn forced_push(argv: &CommandWords) -> Option<&'static str> {
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
