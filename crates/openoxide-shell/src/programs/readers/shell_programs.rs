//! Readers for shells that run a script given with `-c`.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{ArgumentWord, ArgvRef, CommandMeaning, command_arguments::CommandArguments},
    InnerCommand, UNCLEAR_COMMAND, wrapper_meaning,
};

const RUNS_STANDARD_INPUT: InnerCommand =
    InnerCommand::Unknown("runs its standard input, or a script file that is not known");

/// The long options of bash. They may begin with one dash, and must come before all other options.
const BASH_FLAGS: [&str; 12] = [
    "debug",
    "debugger",
    "dump-po-strings",
    "dump-strings",
    "login",
    "noediting",
    "noprofile",
    "norc",
    "posix",
    "pretty-print",
    "restricted",
    "verbose",
];

/// Reads a `bash` command, or a `sh` command, because `sh` may be bash.
pub(in super::super) fn read_bash(arguments: CommandArguments<'_>) -> CommandMeaning {
    read_syntax_check(arguments.argv).unwrap_or_else(|| {
        wrapper_meaning(arguments.spec, bash_inner_command(arguments.argv.words))
    })
}

/// Reads a `-n FILE` command, which parses a script without running it. Other options can disable
/// `-n`.
fn read_syntax_check(arguments: ArgvRef<'_>) -> Option<CommandMeaning> {
    let file = arguments.known_word(2).filter(|file| !file.starts_with(['-', '+']))?;
    (arguments.known_word(1) == Some("-n") && arguments.words.len() == 3).then(|| {
        let mut meaning = CommandMeaning::new(CommandClass::Harmless);
        meaning.add_read(ArgumentWord::Known(file), false);
        meaning
    })
}

fn bash_inner_command(argv: &CommandWords) -> InnerCommand {
    let mut skip = 1;
    for word in argv.known_words(1) {
        let Some(option) = word.and_then(|word| word.strip_prefix('-')) else { break };
        let (name, long) = match option.strip_prefix('-') {
            Some(name) => (name, true),
            None => (option, false),
        };
        match name {
            _ if BASH_FLAGS.contains(&name) => skip += 1,
            "init-file" | "rcfile" => return InnerCommand::Unknown("runs a start-up file first"),
            "help" | "version" => return InnerCommand::PrintsHelp,
            "" => break,
            _ if long => return UNCLEAR_COMMAND,
            _ => break,
        }
    }
    skip_option_clusters(argv, skip, "abefhiklmnprtuvxBCEHPTo", "O")
}

/// Reads commands of `dash`, `ash`, `ksh` and similar shells.
pub(in super::super) fn read_posix_shell(arguments: CommandArguments<'_>) -> CommandMeaning {
    read_syntax_check(arguments.argv).unwrap_or_else(|| {
        wrapper_meaning(arguments.spec, posix_inner_command(arguments.argv.words))
    })
}

fn posix_inner_command(argv: &CommandWords) -> InnerCommand {
    skip_option_clusters(argv, 1, "abefhiklmnpuvxCEIVo", "")
}

/// Reads a `zsh` command.
pub(in super::super) fn read_zsh(arguments: CommandArguments<'_>) -> CommandMeaning {
    wrapper_meaning(arguments.spec, zsh_inner_command(arguments.argv.words))
}

fn zsh_inner_command(argv: &CommandWords) -> InnerCommand {
    match argv.known_word(1) {
        Some("--version" | "--help") => InnerCommand::PrintsHelp,
        _ => skip_option_clusters(argv, 1, "efilnuvxo", ""),
    }
}

/// Reads clusters of single-letter options, starting with the word at `skip`. `o` and the letters
/// of `named` take a name from the next words.
fn skip_option_clusters(
    argv: &CommandWords,
    skip: usize,
    letters: &str,
    named: &str,
) -> InnerCommand {
    let mut words = argv.iter().skip(skip).peekable();
    let (mut script, mut standard_input) = (false, false);
    loop {
        let cluster = match words.peek() {
            Some(CommandWord::Known("-" | "--")) => {
                words.next();
                break;
            }
            Some(CommandWord::Known(text)) if text.starts_with(['-', '+']) => *text,
            Some(CommandWord::Known(_)) | None => break,
            Some(CommandWord::KnownPrefix(text))
                if !text.is_empty() && !text.starts_with(['-', '+']) =>
            {
                break;
            }
            Some(_) => return UNCLEAR_COMMAND,
        };
        words.next();
        let mut rest = cluster.chars();
        let off = rest.next() == Some('+');
        while let Some(letter) = rest.next() {
            match letter {
                'c' if !off => script = true,
                's' => standard_input = true,
                'o' | 'O' if letter == 'o' || named.contains(letter) => {
                    // If more letters follow, the shells disagree about which text is the name.
                    let name = words.next_if(|word| matches!(word, CommandWord::Known(_)));
                    if !rest.as_str().is_empty() || name.is_none() {
                        return UNCLEAR_COMMAND;
                    }
                }
                _ if letters.contains(letter) => {}
                _ => return UNCLEAR_COMMAND,
            }
        }
    }
    match (script, words.next()) {
        (false, Some(CommandWord::Known(file))) if !standard_input && !is_descriptor(file) => {
            InnerCommand::ScriptFile(file.to_owned())
        }
        (false, _) => RUNS_STANDARD_INPUT,
        (true, None) => InnerCommand::Nothing,
        (true, Some(CommandWord::Known(script))) => InnerCommand::Script(script.to_owned()),
        (true, Some(_)) => InnerCommand::Unknown("runs a script that is not known"),
    }
}

/// Returns whether a path may name an open file descriptor of the shell.
fn is_descriptor(file: &str) -> bool {
    ["/dev/", "/proc/"].iter().any(|directory| file.starts_with(directory)) || file.contains("..")
}
