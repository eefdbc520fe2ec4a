//! Words that are not known before the command runs, and that could be options.
//!
//! A rule such as `Bash(rg *)` allows words that are not known. Where such a word could be `--pre=sh`, the rule does not cover the
//! command. This pass reads the options by the table and reports the most harmful option that each unknown word could be.

use openoxide_protocol::CommandClass;

use super::{
    Arg, Arguments, Effect, Meaning, Paths,
    items::{Candidate, CandidateKind, Item, items},
    level::{Does, Level, Operand, Operands, Opt, Takes},
    meaning::PossibleOption,
    table,
};

/// Adds to the meaning of a command the options that its unknown words could be.
pub(crate) fn add_possible_options(meaning: &mut Meaning, arguments: Arguments<'_>) {
    if arguments.words.is_known() {
        return;
    }
    let name = arguments.known(0).unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or(name);
    let Some(level) = table::program(name) else { return };
    let mut search = Search::new(arguments, carries(meaning));
    search.run(level);
    if search.shifts || takes_pattern_unlisted(level, arguments) {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell("has a pattern as the value of an option, and each further file that matches is another word");
    }
    for option in search.found {
        if option.pattern.is_none() {
            meaning.lower(CommandClass::Unknown);
        }
        meaning.effects.push(Effect::MayBeOption(option));
    }
}

/// Returns whether the command runs another one, whose words are checked separately.
fn carries(meaning: &Meaning) -> bool {
    meaning.effects.iter().any(Effect::is_command)
}

/// A command line while its unknown words are looked for.
struct Search<'a> {
    arguments: Arguments<'a>,
    carries: bool,
    /// The program and its subcommands so far.
    path: Vec<&'static Level>,
    /// The operands behind the last subcommand.
    operands: usize,
    /// Only words that could be subcommands themselves were found before.
    at_subcommand: bool,
    /// The words that are the values of options.
    values: Vec<usize>,
    /// The value of an option is a pattern, and what further files would be is more than a file that is read.
    shifts: bool,
    found: Vec<PossibleOption>,
}

impl<'a> Search<'a> {
    fn new(arguments: Arguments<'a>, carries: bool) -> Self {
        let (path, values, found) = (Vec::new(), Vec::new(), Vec::new());
        let (at_subcommand, shifts) = (true, false);
        Self { arguments, carries, path, operands: 0, at_subcommand, values, shifts, found }
    }

    fn run(&mut self, level: &'static Level) {
        self.path.push(level);
        let mut items = items(level, self.arguments, 1);
        let mut end = self.arguments.words.len();
        while let Some(item) = items.next() {
            if self.path.last().is_some_and(|level| level.traits.anything) {
                self.found.clear();
                return;
            }
            match item {
                Item::Number => {}
                Item::Unclear => {
                    let levels: Vec<_> = items.open_levels().collect();
                    if let Some(candidate) = items.take_candidate() {
                        self.candidate(candidate, &levels);
                    }
                }
                Item::Option { value, .. } => {
                    let index = items.consumed() - 1;
                    let levels: Vec<_> = items.open_levels().collect();
                    self.value(value, index, &levels);
                }
                Item::Operand(arg, at) => {
                    if let Some(sub) = self.sub(arg) {
                        self.path.push(sub);
                        self.operands = 0;
                        items.enter(sub);
                    } else if self.carries && self.starts_command() {
                        end = at;
                        break;
                    } else {
                        self.operands += 1;
                        self.at_subcommand &= !matches!(arg, Arg::Known(_));
                    }
                }
            }
        }
        self.opaque_words(end);
    }

    fn sub(&self, arg: Arg<'_>) -> Option<&'static Level> {
        match arg {
            Arg::Known(name) if self.at_subcommand => self.path.last()?.sub(name),
            _ => None,
        }
    }

    /// Returns whether the next operand begins a command.
    fn starts_command(&self) -> bool {
        let Some(level) = self.path.last() else { return false };
        let kinds = level.operands.operands();
        let kind = kinds.first.get(self.operands).copied().or(kinds.repeated);
        kind.is_some_and(Operand::starts_command)
    }

    /// A pattern as the value of an option can become several words.
    fn value(&mut self, value: Option<Arg<'a>>, index: usize, levels: &[&'static Level]) {
        match value {
            Some(word @ Arg::Paths(Paths::Pattern(_))) => {
                self.shifts |= !self.path.last().is_some_and(|level| only_reads_files(level));
                self.candidate(Candidate { word, index, kind: CandidateKind::Any }, levels);
            }
            Some(_) => self.values.push(index),
            None => {}
        }
    }

    fn candidate(&mut self, candidate: Candidate<'a>, levels: &[&'static Level]) {
        if matches!(candidate.word, Arg::Paths(Paths::Number | Paths::Tokens)) {
            return;
        }
        let worst = levels
            .iter()
            .filter(|level| !level.traits.inert)
            .filter_map(|level| worst_option(level, candidate.kind))
            .max_by_key(|(does, _)| rank(*does));
        let subcommand = || {
            let level = self.path.last().filter(|_| self.may_be_subcommand(candidate));
            level.and_then(|level| worst_subcommand(level))
        };
        // The files that match a pattern are looked at, and hardly ever is one named like an option.
        let pattern = matches!(candidate.word, Arg::Paths(Paths::Pattern(_)))
            && levels.iter().any(|level| !level.traits.inert);
        let unlisted = || pattern.then(|| "an option that is not known to be read-only".to_owned());
        let what = worst.map(|(_, what)| what).or_else(subcommand).or_else(unlisted);
        let Some(what) = what else { return };
        self.push(candidate.index, candidate.word, "-", what);
    }

    fn may_be_subcommand(&self, candidate: Candidate<'_>) -> bool {
        self.at_subcommand && candidate.kind == CandidateKind::Any
    }

    fn push(&mut self, index: usize, word: Arg<'_>, begins: &str, what: String) {
        let pattern = match word {
            Arg::Paths(Paths::Pattern(pattern)) => Some(pattern.clone()),
            _ => None,
        };
        let same = self.found.iter_mut().find(|found| found.index == index);
        match same {
            Some(found) if found.pattern.is_some() => {
                found.names.push(' ');
                found.names.push_str(begins);
            }
            Some(_) => {}
            None => {
                self.found.push(PossibleOption { index, pattern, names: begins.to_owned(), what });
            }
        }
    }

    /// Looks for words that could begin as one that makes the program run something else, wherever they are.
    fn opaque_words(&mut self, end: usize) {
        let starts: Vec<&str> = self.path.iter().flat_map(|level| level.opaque.iter()).collect();
        if starts.is_empty() {
            return;
        }
        let words: Vec<(usize, Arg<'a>)> = (1..end)
            .zip(self.arguments.iter(1))
            .filter(|(at, _)| !self.values.contains(at))
            .collect();
        for (index, word) in words {
            let beginning = match word {
                Arg::Begins(text) => text,
                Arg::Many | Arg::Paths(Paths::Pattern(_) | Paths::Input { .. }) => "",
                Arg::Paths(Paths::Below { bare: true, .. }) => "",
                Arg::Known(_) | Arg::Paths(_) => continue,
            };
            let pattern = match word {
                Arg::Paths(Paths::Pattern(pattern)) => plain_beginning(pattern),
                _ => beginning,
            };
            for start in starts.iter().filter(|start| may_begin(start, pattern, index)) {
                let shown = start.trim_start_matches('*');
                let what =
                    format!("`{shown}…`, which can run something that the words do not show");
                self.push(index, word, start, what);
            }
        }
    }
}

/// Returns whether a word with this beginning could be one that makes the program run something else.
fn may_begin(start: &str, beginning: &str, index: usize) -> bool {
    match start.strip_prefix('*') {
        // In an assignment of make it can be anywhere; otherwise it is part of an option.
        Some(held) => {
            beginning.is_empty() || beginning.starts_with('-') || held.starts_with(['!', ':'])
        }
        // A toolchain is the first word.
        None if start == "+/" => index == 1 && start.starts_with(beginning),
        None => start.starts_with(beginning),
    }
}

/// Returns whether a pattern follows an option of a program whose options are not listed: it may be the value.
fn takes_pattern_unlisted(level: &Level, arguments: Arguments<'_>) -> bool {
    let listed = level.options().any(|option| option.does != Does::Ends);
    let option = |arg: Arg<'_>| matches!(arg, Arg::Known(text) if text.starts_with('-') && text.len() > 1 && text != "--");
    let pattern = |arg: Arg<'_>| matches!(arg, Arg::Paths(Paths::Pattern(_)));
    let mut pairs = arguments.iter(1).zip(arguments.iter(2));
    let builtin = matches!(level.name(), "test" | "[");
    level.reader().is_some()
        && !listed
        && !builtin
        && pairs.any(|(before, arg)| option(before) && pattern(arg))
}

/// Returns whether the operands of a level are nothing but files that are read, however many there are.
fn only_reads_files(level: &Level) -> bool {
    let kinds = level.operands.operands();
    let mut all = kinds.first.iter().chain(&kinds.repeated).chain(kinds.last);
    let read = |kind: &Operand| matches!(kind, Operand::Text | Operand::Reads | Operand::Pathspec);
    kinds.repeated.is_some()
        && all.all(read)
        && level.reader().is_none()
        && level.subs().is_empty()
        && level.alone().is_none()
        && level.whens().iter().all(|when| when.operands.is_none())
}

/// Returns the part of a pattern before the first character with a special meaning.
fn plain_beginning(pattern: &str) -> &str {
    let end = pattern.find(['*', '?', '[', '\\']).unwrap_or(pattern.len());
    pattern.get(..end).unwrap_or_default()
}

/// Returns the most harmful option of a level that a word could be, and how a sentence calls it.
fn worst_option(level: &Level, kind: CandidateKind) -> Option<(Does, String)> {
    let fits = |option: &Opt| match kind {
        CandidateKind::Any | CandidateKind::Dashed => true,
        CandidateKind::Long => option.name.len() > 1,
        CandidateKind::Letters => option.name.chars().count() == 1,
    };
    let options = level.options().filter(fits);
    let harmful = options.filter_map(|option| Some((harm(level, option)?, option)));
    // Among equally harmful options, a long name is more informative.
    let (does, option) =
        harmful.max_by_key(|(does, option)| (rank(*does), option.name.len() > 1))?;
    let dashes = if option.name.len() > 1 && !level.traits.single_dash { "--" } else { "-" };
    Some((does, format!("the option `{dashes}{}`, which {}", option.name, consequence(does))))
}

/// Returns the harm that an option can do.
fn harm(level: &Level, option: Opt) -> Option<Does> {
    if option.does >= Does::Asks || option.does == Does::Moves {
        return Some(option.does);
    }
    let with = level.whens().iter().filter(|when| when.with.has(option.name));
    let other = with.filter_map(|when| {
        let kinds = when.operands.map(super::level::OperandsRow::operands);
        let kinds = kinds.and_then(harm_of_operands);
        let class = (when.class == Some(CommandClass::Unknown)).then_some(Does::Asks);
        kinds.max(class)
    });
    other.max().or_else(|| harm_of_value(level, option))
}

/// Returns the harm that the value of an option can do.
fn harm_of_value(level: &Level, option: Opt) -> Option<Does> {
    let values = level.values().filter(|_| option.takes != Takes::Nothing)?;
    let mut meaning = Meaning::of(CommandClass::Harmless);
    values(&mut meaning, option.name, Some(Arg::Begins("")));
    let hidden = meaning.effects.iter().any(|effect| matches!(effect, Effect::Unknown(_)));
    hidden.then_some(Does::Loads)
}

fn harm_of_operands(kinds: Operands) -> Option<Does> {
    let all = kinds.first.iter().chain(&kinds.repeated).chain(kinds.last);
    all.filter_map(|kind| match kind {
        Operand::Writes | Operand::Changes => Some(Does::Writes),
        Operand::Into => Some(Does::Into),
        Operand::Reaches => Some(Does::Reaches),
        Operand::Runs | Operand::Script | Operand::Tool | Operand::Plugin => Some(Does::Runs),
        Operand::Loads => Some(Does::Loads),
        Operand::Text
        | Operand::Reads
        | Operand::Revision
        | Operand::Pathspec
        | Operand::Peg
        | Operand::Remote
        | Operand::Guest
        | Operand::Package
        | Operand::Asks => None,
    })
    .max()
}

/// Returns the most harmful subcommand that a word could be, and how a sentence calls it.
fn worst_subcommand(level: &'static Level) -> Option<String> {
    let subs =
        level.subs().iter().filter_map(|sub| Some((harm_of_level(sub.level()?)?, sub.name())));
    let (does, name) = subs.max_by_key(|(does, _)| rank(*does))?;
    Some(format!("the subcommand `{name}`, which {}", consequence(does)))
}

fn harm_of_level(level: &'static Level) -> Option<Does> {
    if level.traits.anything {
        return None;
    }
    let options = level.options().filter_map(|option| harm(level, option)).max();
    let operands = harm_of_operands(level.operands.operands());
    let hidden = level.reader().map(|_| Does::Asks);
    let subs = level.subs().iter().filter_map(|sub| harm_of_level(sub.level()?)).max();
    options.max(operands).max(hidden).max(subs)
}

/// Returns how harmful the effect of an option is. Effects that run something rank highest, because
/// they are the most informative for a reviewer.
const fn rank(does: Does) -> u8 {
    match does {
        Does::Runs => 7,
        Does::Loads => 6,
        Does::ReadsMore => 5,
        Does::Writes | Does::Into => 4,
        Does::Mounts => 3,
        Does::Reaches | Does::Moves => 2,
        Does::Asks => 1,
        Does::Nothing | Does::Ends | Does::Reads => 0,
    }
}

/// Returns what an option does, as the end of a sentence.
const fn consequence(does: Does) -> &'static str {
    match does {
        Does::Runs => "runs a command",
        Does::Writes => "writes a file",
        Does::Into => "writes into a directory",
        Does::Reaches => "contacts a host",
        Does::Mounts => "mounts a directory of this machine",
        Does::Moves => "works in another directory",
        Does::ReadsMore => "reads options or file names from a file",
        Does::Loads => "can run something that the words do not show",
        Does::Nothing | Does::Ends | Does::Reads | Does::Asks => "is not read-only",
    }
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::CommandWords;

    use super::*;

    fn worst(program: &str, kind: CandidateKind) -> Option<String> {
        worst_option(table::program(program).unwrap(), kind).map(|(_, what)| what)
    }

    #[test]
    fn the_most_harmful_option_is_named() {
        let rg = worst("rg", CandidateKind::Any).unwrap();
        assert!(rg.ends_with("which runs a command"), "{rg}");
        assert_eq!(worst("rg", CandidateKind::Long).unwrap(), rg);
        // Of those with one letter only `-z` is harmful: it starts unpackers.
        assert!(worst("rg", CandidateKind::Letters).unwrap().starts_with("the option `-z`"));
        assert_eq!(worst("wc", CandidateKind::Letters), None);
    }

    #[test]
    fn only_words_that_could_be_options_are_reported() {
        let found = |build: fn(&mut CommandWords)| {
            let mut words = CommandWords::new();
            words.push("rg");
            build(&mut words);
            let mut meaning = super::super::meaning((&words).into());
            add_possible_options(&mut meaning, (&words).into());
            meaning.effects.iter().any(|effect| matches!(effect, Effect::MayBeOption(_)))
        };
        assert!(found(CommandWords::push_any_words));
        assert!(found(|words| {
            words.push("y");
            words.push_unknown();
        }));
        assert!(found(|words| {
            words.push("-A");
            words.push_any_words();
        }));
        assert!(found(|words| {
            words.push("--unlisted");
            words.push("--");
            words.push_unknown();
        }));
        assert!(!found(|words| {
            words.push("--");
            words.push_any_words();
        }));
        assert!(!found(|words| {
            words.push("-A");
            words.push_unknown();
        }));
        assert!(!found(|words| {
            words.push_known_text("src/");
            words.push_unknown_text();
            words.end_word();
        }));
    }

    /// Programs and subcommands that have an option which runs, writes or loads something, but for
    /// which `PROGRAM "$x"` is not restricted, with the reason.
    const EXEMPT: &[(&str, &str)] = &[];

    fn has_harmful_option(level: &Level) -> bool {
        let harms = [Does::Runs, Does::Writes, Does::Into, Does::Loads, Does::ReadsMore];
        !level.traits.inert && level.options().any(|option| harms.contains(&option.does))
    }

    /// Adds the names of the commands that have a harmful option. The flag is `true` if an unknown
    /// word of the command is restricted, and `false` if the word could be that option without a
    /// restriction.
    fn add_commands(names: &mut Vec<&'static str>, level: &Level, found: &mut Vec<(String, bool)>) {
        if has_harmful_option(level) {
            let mut words = CommandWords::new();
            names.iter().for_each(|name| words.push(name));
            words.push_unknown();
            let mut meaning = super::super::meaning((&words).into());
            add_possible_options(&mut meaning, (&words).into());
            let holds =
                |effect: &Effect| matches!(effect, Effect::MayBeOption(_) | Effect::Unknown(_));
            found.push((names.join(" "), meaning.effects.iter().any(holds)));
        }
        for sub in level.subs() {
            let Some(inner) = sub.level() else { continue };
            names.push(sub.name());
            add_commands(names, inner, found);
            names.pop();
        }
    }

    #[test]
    fn an_unknown_word_that_may_be_a_harmful_option_is_restricted() {
        let mut found = Vec::new();
        for (name, level) in table::all() {
            add_commands(&mut vec![name], level, &mut found);
        }
        assert!(found.len() > 1000, "{}", found.len());
        let silent = found.iter().filter(|(_, held)| !held).map(|(name, _)| name.as_str());
        let mut silent: Vec<&str> = silent.collect();
        silent.sort_unstable();
        let mut exempt: Vec<&str> = EXEMPT.iter().map(|(name, _)| *name).collect();
        exempt.sort_unstable();
        assert_eq!(silent, exempt);
    }
}
