//! The expression of `find`, which can run programs.

use openoxide_protocol::{CommandClass, CommandWord};

use super::{
    super::{
        Arg, Arguments, Argv, Effect, Meaning, Paths, Prints, Target, class_alone, level::Level,
        starts_version_control,
    },
    NOT_UNDERSTOOD, find_names, moved, push_replaced,
};

/// The effect of one word of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Primary {
    /// Tests or prints.
    Test,
    /// Tests or prints with the word after it.
    TestOf,
    /// Looks at the file that the word after it names.
    TestOfFile,
    /// Runs the words after it.
    Run,
    /// Removes files.
    Change,
    /// Writes to the file that the word after it names; one more word may follow.
    Write,
}

/// Returns whether this word ends the list of starting points.
fn starts_expression(word: CommandWord<'_>) -> bool {
    match word {
        CommandWord::Known(text) => matches!(text, "(" | "!" | ")" | ",") || text.starts_with('-'),
        CommandWord::KnownPrefix(text) => {
            text.is_empty() || text.starts_with(['-', '(', '!', ')', ','])
        }
        CommandWord::AnyWords => true,
    }
}

/// Returns what this word does in an expression, if that is known.
fn primary(name: &str) -> Option<Primary> {
    Some(match name {
        "("
        | ")"
        | "!"
        | ","
        | "-a"
        | "-and"
        | "-o"
        | "-or"
        | "-not"
        | "-true"
        | "-false"
        | "-print"
        | "-print0"
        | "-ls"
        | "-prune"
        | "-quit"
        | "-depth"
        | "-d"
        | "-help"
        | "--help"
        | "-version"
        | "--version"
        | "-xdev"
        | "-mount"
        | "-empty"
        | "-readable"
        | "-writable"
        | "-executable"
        | "-nouser"
        | "-nogroup"
        | "-daystart"
        | "-noleaf"
        | "-warn"
        | "-nowarn"
        | "-follow"
        | "-ignore_readdir_race"
        | "-noignore_readdir_race" => Primary::Test,
        "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" | "-regex"
        | "-iregex" | "-regextype" | "-type" | "-xtype" | "-maxdepth" | "-mindepth" | "-size"
        | "-mtime" | "-mmin" | "-atime" | "-amin" | "-ctime" | "-cmin" | "-perm" | "-user"
        | "-group" | "-uid" | "-gid" | "-links" | "-inum" | "-lname" | "-ilname" | "-fstype"
        | "-used" | "-printf" | "-newermt" | "-newerat" | "-newerct" => Primary::TestOf,
        "-newer" | "-anewer" | "-cnewer" | "-samefile" => Primary::TestOfFile,
        "-exec" | "-execdir" | "-ok" | "-okdir" => Primary::Run,
        "-delete" => Primary::Change,
        "-fprint" | "-fprint0" | "-fls" | "-fprintf" => Primary::Write,
        _ => return None,
    })
}

/// Reads a whole command.
pub(in super::super) fn find(_: &Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    let mut meaning = Meaning::of(CommandClass::Harmless);
    meaning.prints = Prints::Paths { bare: false };
    if walk(arguments, from, &mut meaning).is_none() {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell(NOT_UNDERSTOOD);
    }
    meaning
}

fn walk(arguments: Arguments<'_>, from: usize, meaning: &mut Meaning) -> Option<()> {
    let mut words = arguments.words.iter().skip(from).peekable();
    while words.next_if(|word| matches!(word, CommandWord::Known("-H" | "-L" | "-P"))).is_some() {}
    let mut starts = Vec::new();
    while let Some(word) = words.next_if(|word| !starts_expression(*word)) {
        look(meaning, word);
        starts.push(if let CommandWord::Known(start) = word {
            start.to_owned()
        } else {
            "/".to_owned()
        });
    }
    if starts.is_empty() {
        look(meaning, CommandWord::Known("."));
        starts.push(".".to_owned());
    }
    let words: Vec<CommandWord<'_>> = words.collect();
    let search = Box::new(find_names::narrowed(words.iter().copied()));
    let mut words = words.into_iter();
    meaning.printed = Some(search.clone());
    let mut below = Paths::Below { roots: starts, bare: false, search: Some(search) };
    while let Some(word) = words.next() {
        let CommandWord::Known(name) = word else { return None };
        match primary(name)? {
            Primary::Test => {
                // The output contains permissions, owners and link targets in addition to the
                // names.
                if name == "-ls" {
                    meaning.prints = Prints::Anything;
                }
            }
            // The format can put another directory or a dash before the name.
            Primary::TestOf if name == "-printf" => {
                if !matches!(words.next()?, CommandWord::Known("%p\\n" | "%p\\0")) {
                    meaning.prints = Prints::Anything;
                }
            }
            Primary::TestOf if name == "-inum" || chooses_names(name) => {
                let pattern = words.next().filter(|word| *word != CommandWord::AnyWords)?;
                if name == "-inum" || may_choose_secrets(last_of(name, pattern)) {
                    meaning.prints = Prints::Anything;
                    below = Paths::Input { whole: false };
                }
            }
            Primary::TestOf => one(&mut words)?,
            Primary::TestOfFile => {
                look(meaning, words.next()?);
                // It is this file by another name.
                if name == "-samefile" {
                    meaning.prints = Prints::Anything;
                    below = Paths::Input { whole: false };
                }
            }
            Primary::Change => {
                meaning.lower(CommandClass::Unknown);
                meaning.cannot_tell("removes files that are not known");
            }
            Primary::Write => {
                meaning.lower(CommandClass::Unknown);
                let file = words.next()?;
                meaning.write(arg(file));
                if name == "-fprintf" {
                    one(&mut words)?;
                }
            }
            Primary::Run => {
                let command = command(&mut words, &below)?;
                // What runs elsewhere names other files.
                let command =
                    if name.ends_with("dir") { moved(&command.words).into() } else { command };
                // Which files it is run for, is not known beforehand.
                meaning.lower(class_alone(command.as_arguments()));
                // Each directory below can be a repository that makes it run something.
                if name.ends_with("dir") && starts_version_control(command.as_arguments()) {
                    meaning.lower(CommandClass::Unknown);
                }
                meaning.effects.push(Effect::Runs(command));
                meaning.prints = Prints::Anything;
            }
        }
    }
    Some(())
}

/// Returns whether a test compares names with a pattern.
pub(super) fn chooses_names(test: &str) -> bool {
    test.ends_with("name") || matches!(test, "-path" | "-ipath" | "-regex" | "-iregex")
}

/// Returns the part of a pattern that the last part of a path has to match; nothing of one in which that can be anything.
pub(super) fn last_of<'a>(test: &str, pattern: CommandWord<'a>) -> CommandWord<'a> {
    let CommandWord::Known(text) = pattern else { return pattern };
    if test.ends_with("regex") {
        return CommandWord::Known(text.strip_prefix(".*").unwrap_or(text));
    }
    match text.rsplit_once('/') {
        // The pattern matches everything below a directory.
        Some((_, "*" | "**")) if !test.ends_with("lname") => CommandWord::Known("*.any"),
        Some((_, last)) => CommandWord::Known(last),
        None => pattern,
    }
}

/// Returns whether a pattern may match names of secret files: it names one file, or hides the
/// beginning and the end of the name. Such files must not be treated like arbitrary files below a
/// directory.
pub(super) fn may_choose_secrets(pattern: CommandWord<'_>) -> bool {
    let CommandWord::Known(pattern) = pattern else { return true };
    let ending = pattern.rsplit_once('.').map_or("", |(_, ending)| ending);
    let secret = matches!(
        ending.to_ascii_lowercase().as_str(),
        "env"
            | "pem"
            | "key"
            | "p12"
            | "pfx"
            | "jks"
            | "keystore"
            | "kdbx"
            | "ppk"
            | "keychain"
            | "tfstate"
            | "gpg"
            | "asc"
    );
    let plain =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    pattern.starts_with('.') || secret || !plain(ending)
}

fn arg(word: CommandWord<'_>) -> Arg<'_> {
    match word {
        CommandWord::Known(text) => Arg::Known(text),
        CommandWord::KnownPrefix(text) => Arg::Begins(text),
        CommandWord::AnyWords => Arg::Many,
    }
}

/// Notes that names, sizes and the like of a file or directory are looked at.
fn look(meaning: &mut Meaning, word: CommandWord<'_>) {
    match word {
        CommandWord::Known(file) => {
            meaning.effects.push(Effect::Lists(Target::File(file.to_owned())));
        }
        _ => meaning.lower(CommandClass::Unknown),
    }
}

/// Takes the word that belongs to the one before; nothing if it could be several.
fn one<'a>(words: &mut impl Iterator<Item = CommandWord<'a>>) -> Option<()> {
    words.next().filter(|word| *word != CommandWord::AnyWords).map(|_| ())
}

/// Reads the words up to `;` or `{} +`. `{}` stands for files below the starting points.
fn command<'a>(words: &mut impl Iterator<Item = CommandWord<'a>>, starts: &Paths) -> Option<Argv> {
    let mut command = Argv::default();
    let mut braces = false; // After `{}` a `+` ends the command.
    for (count, word) in words.enumerate() {
        if word == CommandWord::Known("+") && braces {
            return Some(command);
        }
        braces = word == CommandWord::Known("{}");
        match word {
            CommandWord::Known("{}") => {
                command.paths.push((count, starts.clone()));
                command.words.push_any_words();
            }
            CommandWord::Known(";") => return (count > 0).then_some(command),
            // These could end the command.
            CommandWord::KnownPrefix("" | ";" | "+" | "{" | "{}") | CommandWord::AnyWords => {
                return None;
            }
            word => push_replaced(&mut command.words, word, "{}"),
        }
    }
    None
}
