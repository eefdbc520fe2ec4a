//! Programs that a command names by a path.
//!
//! A rule such as `Bash(./build.sh *)` is about one file. After `cd vendor`, the same words run
//! another file, and a rule that allows must not match them. Such a command is therefore spelled
//! from the directory that rules count from: `./vendor/build.sh`. A rule that asks or denies also
//! matches the other spellings of the same file.

use std::fs;

use openoxide_protocol::{
    AbsPath, Access, CommandWord, CommandWords, ExecAccess, OperationFacts, PathAccess,
};

use crate::{path_resolution::resolve_path, step_budget::StepBudget};

/// Programs that run a file whose path is one of their words.
const INTERPRETERS: [&str; 17] = [
    ".", "source", "bash", "sh", "dash", "ksh", "zsh", "fish", "node", "deno", "bun", "perl",
    "php", "ruby", "lua", "python", "python3",
];

/// Spells the programs of a call from `base`, the directory that rules count from. `cwd` is the
/// working directory of the call.
pub(crate) fn spell_program_paths(
    facts: &mut OperationFacts,
    cwd: &AbsPath,
    base: &AbsPath,
    steps: &StepBudget,
) {
    let mut opaque = Vec::new();
    for access in &mut facts.accesses {
        let Access::Exec(exec) = access else { continue };
        let place = exec.cwd.clone().unwrap_or_else(|| cwd.clone());
        if spell_command(exec, &Place { place, base }, steps).is_none() {
            opaque.push(Access::Opaque { text: exec.text.clone(), span: exec.span });
        }
    }
    facts.accesses.append(&mut opaque);
}

/// The directory in which a command runs, and the one that rules count from.
struct Place<'a> {
    place: AbsPath,
    base: &'a AbsPath,
}

impl Place<'_> {
    fn is_moved(&self) -> bool {
        self.place != *self.base
    }

    /// Returns whether the directory is not known.
    fn is_unknown(&self) -> bool {
        self.is_moved() && self.place == AbsPath::root()
    }
}

/// Adds the spellings of one command. Returns `None` if the step budget was not sufficient.
fn spell_command(exec: &mut ExecAccess, at: &Place<'_>, steps: &StepBudget) -> Option<()> {
    let Some(program) = exec.argv.known_word(0).map(str::to_owned) else { return Some(()) };
    if program.contains('/') {
        let file = find_file(&program, at, steps)?;
        exec.carried_commands.extend(other_spellings(&exec.argv, &program, &file, at.base));
    }
    let moved = at.is_moved().then(|| move_words(&exec.argv, at, steps));
    if let Some(words) = moved
        && let words = words?
        && words != exec.argv
    {
        exec.carried_commands.push(std::mem::replace(&mut exec.argv, words));
    }
    Some(())
}

/// Returns the file that a word names in the directory of a command, with its real path.
fn find_file(word: &str, at: &Place<'_>, steps: &StepBudget) -> Option<PathAccess> {
    let mut file = PathAccess { raw_path: word.to_owned(), ..PathAccess::new(at.place.join(word)) };
    resolve_path(&mut file, &at.place, steps).then_some(file)
}

/// Returns a command with the other spellings of its program's file.
fn other_spellings(
    argv: &CommandWords,
    program: &str,
    file: &PathAccess,
    base: &AbsPath,
) -> Vec<CommandWords> {
    let below = file.paths().filter_map(|path| path.strip_prefix(base));
    let relative = below.flat_map(|below| [format!("./{below}"), below.to_owned()]);
    let absolute = file.paths().map(AbsPath::to_string);
    let spellings = absolute.chain(relative).filter(|spelling| spelling != program);
    let rest = argv.tail(1);
    spellings
        .map(|spelling| {
            let mut words: CommandWords = [spelling].into_iter().collect();
            words.append(&rest);
            words
        })
        .collect()
}

/// Returns a command whose paths are spelled from the directory that rules count from, or the
/// command itself if it contains no paths.
fn move_words(argv: &CommandWords, at: &Place<'_>, steps: &StepBudget) -> Option<CommandWords> {
    let program = argv.known_word(0).unwrap_or_default();
    let is_path = program.contains('/') && !program.starts_with('/');
    let runs_file = INTERPRETERS.contains(&program.rsplit('/').next().unwrap_or(program));
    if !is_path && !runs_file {
        return Some(argv.clone());
    }
    let mut words = CommandWords::new();
    for (index, word) in argv.iter().enumerate() {
        let is_candidate = |text: &str| match index {
            0 => is_path,
            _ => runs_file && !text.starts_with(['/', '-']) && may_name_file(text, at),
        };
        steps.take_steps(1).then_some(())?;
        match word {
            CommandWord::Known(text) if !is_candidate(text) => words.push(text),
            CommandWord::Known(text) if at.is_unknown() => {
                words.push_unknown_text();
                words.push_known_text("/");
                words.push_known_text(text.rsplit('/').next().unwrap_or(text));
                words.end_word();
            }
            CommandWord::Known(text) => {
                words.push(&spelling_from_base(&find_file(text, at, steps)?, text, at.base));
            }
            CommandWord::KnownPrefix(text) => {
                words.push_known_text(text);
                words.push_unknown_text();
                words.end_word();
            }
            CommandWord::AnyWords => words.push_any_words(),
        }
    }
    Some(words)
}

/// Returns whether a word is a path by its form, or the name of a file in the directory.
fn may_name_file(word: &str, at: &Place<'_>) -> bool {
    word.starts_with("./")
        || word.starts_with("../")
        || at.is_unknown() && word.contains(['/', '.'])
        || fs::symlink_metadata(at.place.join(word).as_str()).is_ok()
}

/// Returns the spelling of a file from `base`. Behind a symbolic link, `..` leads elsewhere, so the
/// real path counts.
fn spelling_from_base(file: &PathAccess, written: &str, base: &AbsPath) -> String {
    let leads_up = written.split('/').any(|part| part == "..");
    let path = file.resolved.as_ref().filter(|_| leads_up).unwrap_or(&file.path);
    match path.strip_prefix(base) {
        Some(below) => format!("./{below}"),
        None => path.to_string(),
    }
}
