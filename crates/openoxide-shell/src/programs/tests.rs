//! The cases of `programs/cases/*.txt`, with the meaning of one command per line.
//!
//! `class | command | effects`. The last column may be omitted if there are no effects. A command
//! is read like a simple command of the shell. `$x` stands for unknown words, and an unquoted `*`
//! or `?` for names of files.

use std::{fs, path::Path};

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    Argv, CommandEffect, CommandMeaning, EffectTarget, WordSource, analyze_command, spec_table,
    table_entries::NameEntry,
};

/// Guards I08.
#[test]
fn every_case_has_its_expected_meaning() {
    let mut wrong = Vec::new();
    for file in files() {
        #[expect(clippy::disallowed_methods, reason = "the cases are files")]
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Err(difference) = check(line) {
                let name = file.file_name().unwrap().to_string_lossy();
                wrong.push(format!("{name}:{}: {line}\n    {difference}", number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn files() -> Vec<std::path::PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/cases");
    let mut files: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "txt"));
    files.sort();
    files
}

/// Compares one line with the table.
fn check(line: &str) -> Result<(), String> {
    let (class, rest) = line.split_once('|').ok_or("there is no command")?;
    // A command may contain a `|`.
    let (command, effects) = match rest.rsplit_once('|') {
        Some((command, effects)) if is_effects(effects.trim()) => (command, effects.trim()),
        _ => (rest, ""),
    };
    let argv = words(command.trim());
    let found = analyze_command(argv.as_argv_ref());
    let found = (show_class(found.class), show_effects(&found));
    if found == (class.trim(), effects.to_owned()) {
        Ok(())
    } else {
        Err(format!("it is: {} | {}", found.0, found.1))
    }
}

fn is_effects(text: &str) -> bool {
    const WORDS: [&str; 10] =
        ["reads", "lists", "writes", "reaches", "runs", "tool", "guest", "script", "unknown", "in"];
    text.is_empty() || WORDS.contains(&text.split([' ', ',']).next().unwrap_or_default())
}

fn show_class(class: CommandClass) -> &'static str {
    match class {
        CommandClass::Harmless => "harmless",
        CommandClass::Edits => "edits",
        CommandClass::Unknown => "asks",
    }
}

fn show_effects(meaning: &CommandMeaning) -> String {
    let place = meaning.working_directory.iter().map(|place| format!("in {place}"));
    // Other tests cover the scope of a search.
    let is_search = |effect: &&CommandEffect| {
        matches!(effect, CommandEffect::Searches(..) | CommandEffect::ChangesFound(..))
    };
    let all = meaning.effects.iter().filter(|effect| !is_search(effect));
    let effects = all.map(|effect| match effect {
        CommandEffect::Reads(target) => format!("reads {}", show_target(target)),
        CommandEffect::ReadsMetadata(target) => format!("lists {}", show_target(target)),
        CommandEffect::Searches(target, _) => format!("searches {}", show_target(target)),
        CommandEffect::ChangesFound(target, _) => format!("changes below {}", show_target(target)),
        CommandEffect::Writes(target) => format!("writes {}", show_target(target)),
        CommandEffect::WritesDescriptor(device) => format!("writes {device}"),
        CommandEffect::Reaches(address) => format!("reaches {address}"),
        CommandEffect::Runs(command) => format!("runs {}", show_command(command)),
        CommandEffect::Tool(command) => format!("tool {}", show_command(command)),
        CommandEffect::GuestCommand(command) => format!("guest {}", show_command(command)),
        CommandEffect::Script(script) => format!("script {script}"),
        CommandEffect::Unknown(_) => "unknown".to_owned(),
        CommandEffect::MayBeOption(option) => option.what.clone(),
    });
    place.chain(effects).collect::<Vec<_>>().join(", ")
}

fn show_target(target: &EffectTarget) -> &str {
    let (EffectTarget::File(text) | EffectTarget::Pattern(text) | EffectTarget::Printed(text)) =
        target;
    text
}

/// Formats a command. Words that are not known end in three dots.
fn show_command(command: &Argv) -> String {
    let show = |(index, word)| match word {
        CommandWord::Known(text) => text.to_owned(),
        CommandWord::KnownPrefix(text) => format!("{text}..."),
        CommandWord::AnyWords => {
            let paths = command.paths.iter().find(|(at, _)| *at == index);
            match paths {
                Some((_, WordSource::Pattern(pattern))) => pattern.clone(),
                _ => "...".to_owned(),
            }
        }
    };
    command.words.iter().enumerate().map(show).collect::<Vec<_>>().join(" ")
}

/// The known part of a word while it is read.
#[derive(Default)]
struct Piece {
    text: String,
    /// The position in `text` where the unknown part begins.
    unknown: Option<usize>,
    /// Whether it may expand to any number of words.
    splits: bool,
    pattern: bool,
    there: bool,
}

fn words(command: &str) -> Argv {
    let mut argv = Argv::default();
    let mut piece = Piece::default();
    let mut letters = command.chars().peekable();
    while let Some(letter) = letters.next() {
        piece.there |= letter != ' ';
        match letter {
            ' ' => end(&mut argv, std::mem::take(&mut piece)),
            '\'' => piece.text.extend(letters.by_ref().take_while(|letter| *letter != '\'')),
            '"' => {
                while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
                    match letter {
                        '\\' if letters.peek().is_some_and(|next| "\\\"$`".contains(*next)) => {
                            piece.text.extend(letters.next());
                        }
                        '$' if letters.next_if(char::is_ascii_lowercase).is_some() => {
                            piece.unknown.get_or_insert(piece.text.len());
                        }
                        _ => piece.text.push(letter),
                    }
                }
            }
            '\\' => piece.text.extend(letters.next()),
            '$' if letters.next_if_eq(&'\'').is_some() => {
                let text: String = letters.by_ref().take_while(|letter| *letter != '\'').collect();
                piece.text.push_str(&text.replace("\\n", "\n").replace("\\t", "\t"));
            }
            '$' if letters.next_if(char::is_ascii_lowercase).is_some() => piece.splits = true,
            '*' | '?' => {
                piece.pattern = true;
                piece.text.push(letter);
            }
            _ => piece.text.push(letter),
        }
    }
    end(&mut argv, piece);
    argv
}

fn end(argv: &mut Argv, piece: Piece) {
    match piece {
        Piece { there: false, .. } => {}
        Piece { splits: true, .. } => argv.words.push_any_words(),
        Piece { unknown: Some(at), text, .. } => {
            argv.words.push_known_text(text.get(..at).unwrap());
            argv.words.push_unknown_text();
            argv.words.end_word();
        }
        Piece { pattern: true, text, .. } => {
            let pattern = WordSource::Pattern(text);
            argv.paths.push((argv.words.len(), pattern));
            argv.words.push_any_words();
        }
        Piece { text, .. } => argv.words.push(&text),
    }
}

/// An option that a row mentions in another key is also defined. Otherwise the row has less effect
/// than it appears to have.
#[test]
fn every_option_that_a_row_names_twice_is_there() {
    let mut missing = Vec::new();
    for (name, top) in spec_table::all() {
        let mut levels = vec![(name.to_owned(), vec![top])];
        while let Some((name, path)) = levels.pop() {
            let level = *path.last().unwrap();
            let whens = level.option_overrides().iter().flat_map(|when| when.with.iter());
            let named = level.given.iter().chain(level.here_with.iter()).chain(whens);
            for option in named {
                if !path.iter().any(|level| level.find_option(option).is_some()) {
                    missing.push(format!("{name}: {option}"));
                }
            }
            for sub in level.subcommands() {
                let path = path.iter().copied().chain(sub.spec()).collect();
                levels.push((format!("{name} {}", sub.name()), path));
            }
        }
    }
    assert!(missing.is_empty(), "no such options: {missing:#?}");
}

/// The options are found by binary search.
#[test]
fn every_program_of_the_table_is_found_by_its_name() {
    let names: Vec<&str> = spec_table::all().map(|(name, _)| name).collect();
    assert!(names.len() >= 300, "{}", names.len());
    for name in names {
        assert!(spec_table::find_program(name).is_some(), "{name}");
    }
    assert!(spec_table::find_program("no-such-program").is_none());
}

#[test]
fn options_and_subcommands_are_sorted() {
    for (name, level) in spec_table::all() {
        let sorted = level
            .option_sets()
            .all(|set| set.is_sorted_by_key(|option| option.to_option_spec().name));
        assert!(sorted && level.subcommands().is_sorted_by_key(NameEntry::name), "{name}");
    }
}

/// The cases are parsed as they are written.
#[test]
fn words_are_read_as_a_shell_reads_them() {
    let argv = words(r#"a 'b c' "d$e" *.rs f\ g $x ''"#);
    assert_eq!(show_command(&argv), "a b c d... *.rs f g ... ");
    let words: CommandWords = argv.words;
    assert_eq!(words.len(), 7);
}

#[test]
fn a_program_is_unproved_if_the_list_has_it() {
    let list = include_str!("../../programs/unproved.txt");
    let listed: std::collections::BTreeSet<&str> = list.lines().collect();
    for (name, _) in spec_table::all() {
        assert_eq!(spec_table::is_unproved_program(name), listed.contains(name), "{name}");
        assert_eq!(
            analyze_command(words(name).as_argv_ref()).unproved,
            listed.contains(name),
            "{name}"
        );
    }
    assert!(!spec_table::is_unproved_program("ls") && !spec_table::is_unproved_program("git"));
    assert!(spec_table::is_unproved_program("a-program-that-is-not-in-the-table"));
}
