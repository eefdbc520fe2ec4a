//! The expression of `find`, which can run programs.

use openoxide_protocol::{Word, Words};

use super::{Inside, UNCLEAR, moved, push_replaced};

/// What one word of an expression does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Primary {
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

/// Says whether this word ends the list of starting points.
pub(crate) fn starts_expression(word: Word<'_>) -> bool {
    match word {
        Word::Known(text) => matches!(text, "(" | "!" | ")" | ",") || text.starts_with('-'),
        Word::Begins(text) => text.is_empty() || text.starts_with(['-', '(', '!', ')', ',']),
        Word::Many => true,
    }
}

/// Returns what this word does in an expression, if that is known.
pub(crate) fn primary(name: &str) -> Option<Primary> {
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

/// Returns the commands that the expression runs.
pub(super) fn unfold(argv: &Words) -> Inside {
    commands(argv).unwrap_or(UNCLEAR)
}

fn commands(argv: &Words) -> Option<Inside> {
    let mut words = argv.iter().skip(1).peekable();
    let start = |word: &Word<'_>| {
        matches!(word, Word::Known("-H" | "-L" | "-P")) || !starts_expression(*word)
    };
    while words.next_if(start).is_some() {}
    let mut commands = Vec::new();
    while let Some(word) = words.next() {
        let Word::Known(name) = word else { return None };
        match primary(name)? {
            Primary::Test | Primary::Change => {}
            Primary::Write if name == "-fprintf" => {
                one(&mut words)?;
                one(&mut words)?;
            }
            Primary::TestOf | Primary::TestOfFile | Primary::Write => one(&mut words)?,
            Primary::Run => {
                let command = command(&mut words)?;
                // What runs elsewhere names other files.
                commands.push(if name.ends_with("dir") { moved(&command) } else { command });
            }
        }
    }
    Some(if commands.is_empty() { Inside::Nothing } else { Inside::Commands(commands) })
}

/// Takes the word that belongs to the one before; nothing if it could be several.
fn one<'a>(words: &mut impl Iterator<Item = Word<'a>>) -> Option<()> {
    words.next().filter(|word| *word != Word::Many).map(|_| ())
}

/// Reads the words up to `;` or `{} +`.
fn command<'a>(words: &mut impl Iterator<Item = Word<'a>>) -> Option<Words> {
    let mut command = Words::new();
    let mut braces = false; // A `{}` waits until it is known whether a `+` makes many of it.
    for word in words {
        if word == Word::Known("+") && braces {
            command.push_many();
            return Some(command);
        }
        if braces {
            command.push_unknown();
        }
        braces = word == Word::Known("{}");
        match word {
            Word::Known("{}") => {}
            Word::Known(";") => return (!command.is_empty()).then_some(command),
            // These could end the command.
            Word::Begins("" | ";" | "+" | "{" | "{}") | Word::Many => return None,
            word => push_replaced(&mut command, word, "{}"),
        }
    }
    None
}
