//! Reader for the expression of `find`, which can run programs.

use openoxide_protocol::{CommandClass, CommandWord};

use super::{
    super::{
        ArgumentWord, Argv, CommandEffect, CommandMeaning, EffectTarget, OutputKind, WordSource,
        command_arguments::CommandArguments,
    },
    OPTIONS_NOT_UNDERSTOOD,
    find_names::{self, is_name_test, last_component_pattern, may_select_secrets},
    push_replaced, relocate_command,
};

/// The effect of one word of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FindPrimary {
    /// Tests or prints.
    Test,
    /// Tests or prints, and takes the next word as its argument.
    TestWithValue,
    /// Reads metadata of the file that the next word names.
    TestWithFile,
    /// Runs the words after it.
    Run,
    /// Removes files.
    Change,
    /// Writes to the file that the next word names. One more word may follow.
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

/// Returns the effect of this word in an expression, if it is known.
fn parse_primary(name: &str) -> Option<FindPrimary> {
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
        | "-noignore_readdir_race" => FindPrimary::Test,
        "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" | "-regex"
        | "-iregex" | "-regextype" | "-type" | "-xtype" | "-maxdepth" | "-mindepth" | "-size"
        | "-mtime" | "-mmin" | "-atime" | "-amin" | "-ctime" | "-cmin" | "-perm" | "-user"
        | "-group" | "-uid" | "-gid" | "-links" | "-inum" | "-lname" | "-ilname" | "-fstype"
        | "-used" | "-printf" | "-newermt" | "-newerat" | "-newerct" => FindPrimary::TestWithValue,
        "-newer" | "-anewer" | "-cnewer" | "-samefile" => FindPrimary::TestWithFile,
        "-exec" | "-execdir" | "-ok" | "-okdir" => FindPrimary::Run,
        "-delete" => FindPrimary::Change,
        "-fprint" | "-fprint0" | "-fls" | "-fprintf" => FindPrimary::Write,
        _ => return None,
    })
}

/// Reads a whole command.
pub(in super::super) fn read_find(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(CommandClass::Harmless);
    meaning.output = OutputKind::FileNames { bare: false };
    if read_expression(arguments, &mut meaning).is_none() {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect(OPTIONS_NOT_UNDERSTOOD);
    }
    meaning
}

fn read_expression(arguments: CommandArguments<'_>, meaning: &mut CommandMeaning) -> Option<()> {
    let mut words = arguments.command_words().peekable();
    while words.next_if(|word| matches!(word, CommandWord::Known("-H" | "-L" | "-P"))).is_some() {}
    let mut starts = Vec::new();
    while let Some(word) = words.next_if(|word| !starts_expression(*word)) {
        add_metadata_read(meaning, word);
        starts.push(if let CommandWord::Known(start) = word {
            start.to_owned()
        } else {
            "/".to_owned()
        });
    }
    if starts.is_empty() {
        add_metadata_read(meaning, CommandWord::Known("."));
        starts.push(".".to_owned());
    }
    let words: Vec<CommandWord<'_>> = words.collect();
    let search = Box::new(find_names::find_selected_files(words.iter().copied()));
    let mut words = words.into_iter();
    meaning.printed_files = Some(search.clone());
    let mut below = WordSource::DescendantsOf { roots: starts, bare: false, search: Some(search) };
    while let Some(word) = words.next() {
        let CommandWord::Known(name) = word else { return None };
        match parse_primary(name)? {
            FindPrimary::Test => {
                // The output contains permissions, owners and link targets in addition to the
                // names.
                if name == "-ls" {
                    meaning.output = OutputKind::Anything;
                }
            }
            // The format can print another directory or a dash before the name.
            FindPrimary::TestWithValue if name == "-printf" => {
                if !matches!(words.next()?, CommandWord::Known("%p\\n" | "%p\\0")) {
                    meaning.output = OutputKind::Anything;
                }
            }
            FindPrimary::TestWithValue if name == "-inum" || is_name_test(name) => {
                let pattern = words.next().filter(|word| *word != CommandWord::AnyWords)?;
                if name == "-inum" || may_select_secrets(last_component_pattern(name, pattern)) {
                    meaning.output = OutputKind::Anything;
                    below = WordSource::StandardInput { whole: false };
                }
            }
            FindPrimary::TestWithValue => take_word(&mut words)?,
            FindPrimary::TestWithFile => {
                add_metadata_read(meaning, words.next()?);
                // This is the same file under another name.
                if name == "-samefile" {
                    meaning.output = OutputKind::Anything;
                    below = WordSource::StandardInput { whole: false };
                }
            }
            FindPrimary::Change => {
                meaning.lower_class(CommandClass::Unknown);
                meaning.add_unknown_effect("removes files that are not known");
            }
            FindPrimary::Write => {
                meaning.lower_class(CommandClass::Unknown);
                let file = words.next()?;
                meaning.add_write(word_at(file));
                if name == "-fprintf" {
                    take_word(&mut words)?;
                }
            }
            FindPrimary::Run => {
                let command = read_exec_command(&mut words, &below)?;
                // A command that runs in another directory names other files.
                let command = if name.ends_with("dir") {
                    relocate_command(&command.words).into()
                } else {
                    command
                };
                // The files that it runs for are not known beforehand.
                meaning.lower_class(command.as_argv_ref().class_without_inner_command());
                // Each directory below can be a repository whose configuration runs something.
                if name.ends_with("dir") && command.as_argv_ref().starts_version_control() {
                    meaning.lower_class(CommandClass::Unknown);
                }
                meaning.effects.push(CommandEffect::Runs(command));
                meaning.output = OutputKind::Anything;
            }
        }
    }
    Some(())
}

fn word_at(word: CommandWord<'_>) -> ArgumentWord<'_> {
    match word {
        CommandWord::Known(text) => ArgumentWord::Known(text),
        CommandWord::KnownPrefix(text) => ArgumentWord::Prefix(text),
        CommandWord::AnyWords => ArgumentWord::Many,
    }
}

/// Adds a read of the metadata of a file or directory, such as names and sizes.
fn add_metadata_read(meaning: &mut CommandMeaning, word: CommandWord<'_>) {
    match word {
        CommandWord::Known(file) => {
            meaning.effects.push(CommandEffect::ReadsMetadata(EffectTarget::File(file.to_owned())));
        }
        _ => meaning.lower_class(CommandClass::Unknown),
    }
}

/// Skips the argument of the previous word. Returns `None` if it could be several words.
fn take_word<'a>(words: &mut impl Iterator<Item = CommandWord<'a>>) -> Option<()> {
    words.next().filter(|word| *word != CommandWord::AnyWords).map(|_| ())
}

/// Reads the words up to `;` or `{} +`. `{}` stands for files below the starting points.
fn read_exec_command<'a>(
    words: &mut impl Iterator<Item = CommandWord<'a>>,
    starts: &WordSource,
) -> Option<Argv> {
    let mut command = Argv::default();
    let mut braces = false; // A `+` after `{}` ends the command.
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
            // These words could end the command.
            CommandWord::KnownPrefix("" | ";" | "+" | "{" | "{}") | CommandWord::AnyWords => {
                return None;
            }
            word => push_replaced(&mut command.words, word, "{}"),
        }
    }
    None
}
