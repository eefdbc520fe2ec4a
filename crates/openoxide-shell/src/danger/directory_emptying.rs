//! Programs that empty or replace a directory that an option or an operand names.

use openoxide_protocol::{CommandWord, CommandWords};

use super::{danger_context::DangerContext, known_operands::known_operands};

/// A way in which a program empties a directory.
#[derive(Clone, Copy, Debug)]
struct EmptyingRule {
    programs: &'static [&'static str],
    /// The words of which one is required. A trailing `*` matches any suffix. If the list is empty,
    /// the rule always applies.
    required_words: &'static [&'static str],
    /// The options whose value is the directory.
    options: &'static [&'static str],
    operands: OperandSelection,
    /// Whether the program may empty the project, because that is its purpose.
    spares_system_only: bool,
}

/// The operands that name directories to empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperandSelection {
    None,
    Last,
    All,
}

const fn emptying_rule(
    programs: &'static [&'static str],
    with: &'static [&'static str],
    options: &'static [&'static str],
    operands: OperandSelection,
) -> EmptyingRule {
    EmptyingRule { programs, required_words: with, options, operands, spares_system_only: false }
}

const fn system_rule(row: EmptyingRule) -> EmptyingRule {
    EmptyingRule { spares_system_only: true, ..row }
}

const EMPTYING_RULES: [EmptyingRule; 20] = [
    // pytest --help: "base temporary directory for this test run (warning: this directory is
    // removed if it exists)".
    emptying_rule(&["pytest", "py.test"], &[], &["--basetemp"], OperandSelection::None),
    emptying_rule(&["venv", "virtualenv", "pyvenv"], &["--clear"], &[], OperandSelection::All),
    // rsync(1): files that the source does not have are deleted at the destination.
    emptying_rule(&["rsync"], &["--delete*", "--del"], &[], OperandSelection::Last),
    emptying_rule(&["rclone"], &["sync", "purge", "delete"], &[], OperandSelection::Last),
    emptying_rule(&["aws"], &["--delete"], &[], OperandSelection::Last),
    // vite.dev/config/build-options: `emptyOutDir`.
    emptying_rule(&["vite"], &["--emptyOutDir*"], &["--outDir"], OperandSelection::None),
    emptying_rule(
        &["tsup", "tsdown"],
        &["--clean"],
        &["--out-dir", "--outDir", "-d"],
        OperandSelection::None,
    ),
    emptying_rule(
        &["webpack"],
        &["--output-clean*"],
        &["--output-path", "-o"],
        OperandSelection::None,
    ),
    emptying_rule(
        &["hugo"],
        &["--cleanDestinationDir*"],
        &["--destination", "-d"],
        OperandSelection::None,
    ),
    // These programs empty the directory before they write to it, unless an option disables that.
    emptying_rule(
        &["mkdocs"],
        &["build", "gh-deploy"],
        &["--site-dir", "-d"],
        OperandSelection::None,
    ),
    emptying_rule(&["mdbook"], &["build", "clean"], &["--dest-dir", "-d"], OperandSelection::None),
    emptying_rule(
        &["jekyll"],
        &["build", "b", "clean"],
        &["--destination", "-d"],
        OperandSelection::None,
    ),
    emptying_rule(
        &["astro", "docusaurus"],
        &["build"],
        &["--outDir", "--out-dir"],
        OperandSelection::None,
    ),
    emptying_rule(&["typedoc"], &[], &["--out"], OperandSelection::None),
    emptying_rule(&["ng"], &["build", "b"], &["--output-path"], OperandSelection::None),
    // sphinx-build(1): `-M clean` removes the output directory.
    emptying_rule(&["sphinx-build"], &["clean"], &["-d"], OperandSelection::All),
    emptying_rule(&["rimraf", "del", "del-cli", "trash-put"], &[], &[], OperandSelection::All),
    // tar(1): `--recursive-unlink` empties directories before it extracts into them; unzip(1): `-o`
    // overwrites without a question.
    system_rule(emptying_rule(
        &["tar", "gtar", "bsdtar"],
        &["--recursive-unlink", "--unlink-first", "-U"],
        &["-C", "--directory"],
        OperandSelection::None,
    )),
    system_rule(emptying_rule(&["unzip"], &["-o*"], &["-d"], OperandSelection::None)),
    system_rule(emptying_rule(
        &["cmake"],
        &["--clean-first", "--fresh"],
        &["--build", "-B"],
        OperandSelection::None,
    )),
];

/// Returns whether a program of this name can empty a directory.
pub(super) fn can_empty_directory(name: &str) -> bool {
    name == "git" || EMPTYING_RULES.iter().any(|row| row.programs.contains(&name))
}

/// Returns the reason why a command is dangerous, if it empties a directory that must not be lost.
pub(super) fn describe_emptying(
    name: &str,
    argv: &CommandWords,
    place: &DangerContext<'_>,
) -> Option<&'static str> {
    let empties = match name {
        "git" => is_dangerous_git_clean(argv, place),
        _ => EMPTYING_RULES.iter().filter(|row| row.programs.contains(&name)).any(|row| {
            let is_held = |path: &str| match row.spares_system_only {
                true => place.is_system_path(path),
                false => place.is_critical_path(path),
            };
            row.has_required_words(argv)
                && row.find_emptied_directories(argv).into_iter().any(is_held)
        }),
    };
    empties.then_some("it would empty a system directory, a home or a project")
}

impl EmptyingRule {
    fn has_required_words(&self, argv: &CommandWords) -> bool {
        let fits = |word: &str| {
            self.required_words.iter().any(|with| match with.strip_suffix('*') {
                Some(beginning) => word.starts_with(beginning),
                None => word == *with,
            })
        };
        self.required_words.is_empty() || known_arguments(argv).any(fits)
    }

    fn find_emptied_directories<'a>(&self, argv: &'a CommandWords) -> Vec<&'a str> {
        let mut found: Vec<&str> = option_values(argv, self.options).collect();
        match self.operands {
            OperandSelection::None => {}
            OperandSelection::Last => found.extend(known_operands(argv).last()),
            OperandSelection::All => found.extend(known_operands(argv)),
        }
        found
    }
}

/// Returns whether this is `git clean` with `-f` in a directory that is not a project.
fn is_dangerous_git_clean(argv: &CommandWords, place: &DangerContext<'_>) -> bool {
    let forces = |word: &str| {
        word == "--force" || word.starts_with('-') && !word.starts_with("--") && word.contains('f')
    };
    let cleans =
        known_operands(argv).any(|word| word == "clean") && known_arguments(argv).any(forces);
    cleans
        && option_values(argv, &["-C", "--work-tree"])
            .chain(known_operands(argv).filter(|word| *word != "clean"))
            .any(|path| place.is_system_path(path))
}

fn known_arguments(argv: &CommandWords) -> impl Iterator<Item = &str> {
    argv.iter().skip(1).filter_map(|word| match word {
        CommandWord::Known(text) => Some(text),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => None,
    })
}

/// Returns the values of these options, attached or in the next word.
fn option_values<'a>(argv: &'a CommandWords, options: &[&str]) -> impl Iterator<Item = &'a str> {
    let mut words = argv.iter().skip(1).peekable();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let CommandWord::Known(word) = word else { continue };
        if options.contains(&word) {
            if let Some(CommandWord::Known(value)) = words.peek() {
                found.push(*value);
            }
        } else {
            found.extend(options.iter().filter_map(|option| parse_attached_value(word, option)));
        }
    }
    found.into_iter()
}

fn parse_attached_value<'a>(word: &'a str, option: &str) -> Option<&'a str> {
    let rest = word.strip_prefix(option)?;
    match option.starts_with("--") {
        true => rest.strip_prefix('='),
        false => Some(rest.strip_prefix('=').unwrap_or(rest)),
    }
}
