//! Programs that empty or replace a directory which an option or an operand names.

use openoxide_protocol::{CommandWord, CommandWords};

use super::{Place, operands};

/// A way in which a program empties a directory.
#[derive(Clone, Copy, Debug)]
struct Emptying {
    programs: &'static [&'static str],
    /// With one of these words, or words that begin with one that ends with `*`; without any, always.
    with: &'static [&'static str],
    /// The options whose value is the directory.
    options: &'static [&'static str],
    operands: Operands,
    /// The project may be emptied: it is what the program is for.
    spares_system_only: bool,
}

/// The operands that are such directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operands {
    None,
    Last,
    All,
}

const fn row(
    programs: &'static [&'static str],
    with: &'static [&'static str],
    options: &'static [&'static str],
    operands: Operands,
) -> Emptying {
    Emptying { programs, with, options, operands, spares_system_only: false }
}

const fn system(row: Emptying) -> Emptying {
    Emptying { spares_system_only: true, ..row }
}

const ROWS: [Emptying; 20] = [
    // pytest --help: "base temporary directory for this test run (warning: this directory is removed if it exists)".
    row(&["pytest", "py.test"], &[], &["--basetemp"], Operands::None),
    row(&["venv", "virtualenv", "pyvenv"], &["--clear"], &[], Operands::All),
    // rsync(1): what the source does not have is deleted at the destination.
    row(&["rsync"], &["--delete*", "--del"], &[], Operands::Last),
    row(&["rclone"], &["sync", "purge", "delete"], &[], Operands::Last),
    row(&["aws"], &["--delete"], &[], Operands::Last),
    // vite.dev/config/build-options: `emptyOutDir`.
    row(&["vite"], &["--emptyOutDir*"], &["--outDir"], Operands::None),
    row(&["tsup", "tsdown"], &["--clean"], &["--out-dir", "--outDir", "-d"], Operands::None),
    row(&["webpack"], &["--output-clean*"], &["--output-path", "-o"], Operands::None),
    row(&["hugo"], &["--cleanDestinationDir*"], &["--destination", "-d"], Operands::None),
    // These programs empty the directory before they write to it, unless an option disables that.
    row(&["mkdocs"], &["build", "gh-deploy"], &["--site-dir", "-d"], Operands::None),
    row(&["mdbook"], &["build", "clean"], &["--dest-dir", "-d"], Operands::None),
    row(&["jekyll"], &["build", "b", "clean"], &["--destination", "-d"], Operands::None),
    row(&["astro", "docusaurus"], &["build"], &["--outDir", "--out-dir"], Operands::None),
    row(&["typedoc"], &[], &["--out"], Operands::None),
    row(&["ng"], &["build", "b"], &["--output-path"], Operands::None),
    // sphinx-build(1): `-M clean` removes the output directory.
    row(&["sphinx-build"], &["clean"], &["-d"], Operands::All),
    row(&["rimraf", "del", "del-cli", "trash-put"], &[], &[], Operands::All),
    // tar(1): `--recursive-unlink` empties directories before it extracts into them; unzip(1): `-o` overwrites without a question.
    system(row(
        &["tar", "gtar", "bsdtar"],
        &["--recursive-unlink", "--unlink-first", "-U"],
        &["-C", "--directory"],
        Operands::None,
    )),
    system(row(&["unzip"], &["-o*"], &["-d"], Operands::None)),
    system(row(&["cmake"], &["--clean-first", "--fresh"], &["--build", "-B"], Operands::None)),
];

/// Returns whether a program of this name can empty a directory.
pub(super) fn concerns(name: &str) -> bool {
    name == "git" || ROWS.iter().any(|row| row.programs.contains(&name))
}

/// Returns the reason why a command is dangerous, if it empties a directory that must not be lost.
pub(super) fn message(name: &str, argv: &CommandWords, place: &Place<'_>) -> Option<&'static str> {
    let empties = match name {
        "git" => cleans(argv, place),
        _ => ROWS.iter().filter(|row| row.programs.contains(&name)).any(|row| {
            let is_held = |path: &str| match row.spares_system_only {
                true => place.holds_system(path),
                false => place.holds(path),
            };
            row.with_holds(argv) && row.directories(argv).into_iter().any(is_held)
        }),
    };
    empties.then_some("it would empty a system directory, a home or a project")
}

impl Emptying {
    fn with_holds(&self, argv: &CommandWords) -> bool {
        let fits = |word: &str| {
            self.with.iter().any(|with| match with.strip_suffix('*') {
                Some(beginning) => word.starts_with(beginning),
                None => word == *with,
            })
        };
        self.with.is_empty() || known(argv).any(fits)
    }

    fn directories<'a>(&self, argv: &'a CommandWords) -> Vec<&'a str> {
        let mut found: Vec<&str> = values(argv, self.options).collect();
        match self.operands {
            Operands::None => {}
            Operands::Last => found.extend(operands(argv).last()),
            Operands::All => found.extend(operands(argv)),
        }
        found
    }
}

/// Returns whether this is `git clean` with `-f` in a directory that is not a project.
fn cleans(argv: &CommandWords, place: &Place<'_>) -> bool {
    let forces = |word: &str| {
        word == "--force" || word.starts_with('-') && !word.starts_with("--") && word.contains('f')
    };
    let cleans = operands(argv).any(|word| word == "clean") && known(argv).any(forces);
    cleans
        && values(argv, &["-C", "--work-tree"])
            .chain(operands(argv).filter(|word| *word != "clean"))
            .any(|path| place.holds_system(path))
}

fn known(argv: &CommandWords) -> impl Iterator<Item = &str> {
    argv.iter().skip(1).filter_map(|word| match word {
        CommandWord::Known(text) => Some(text),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => None,
    })
}

/// Returns the values of these options, attached or in the next word.
fn values<'a>(argv: &'a CommandWords, options: &[&str]) -> impl Iterator<Item = &'a str> {
    let mut words = argv.iter().skip(1).peekable();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let CommandWord::Known(word) = word else { continue };
        if options.contains(&word) {
            if let Some(CommandWord::Known(value)) = words.peek() {
                found.push(*value);
            }
        } else {
            found.extend(options.iter().filter_map(|option| attached(word, option)));
        }
    }
    found.into_iter()
}

fn attached<'a>(word: &'a str, option: &str) -> Option<&'a str> {
    let rest = word.strip_prefix(option)?;
    match option.starts_with("--") {
        true => rest.strip_prefix('='),
        false => Some(rest.strip_prefix('=').unwrap_or(rest)),
    }
}
