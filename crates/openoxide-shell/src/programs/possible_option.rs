//! Detection of unknown words that could be options.
//!
//! A rule such as `Bash(rg *)` allows words that are not known before the command runs. If such a
//! word could be `--pre=sh`, the rule does not cover the command. This pass reads the options by
//! the table and reports the most harmful option that each unknown word could be.

use openoxide_protocol::CommandClass;

use super::{
    ArgumentWord, ArgvRef, CommandEffect, CommandMeaning, WordSource,
    command_arguments::CommandArguments,
    command_items::{CandidateKind, CommandItem, OptionCandidate},
    command_meaning::PossibleOption,
    command_spec::{
        CommandSpec, OperandKind, OperandSpec, OptionEffect, OptionSpec, OptionValueKind,
    },
    option_signs::possible_signs,
    spec_table,
};

/// Adds to the meaning of a command the options that its unknown words could be.
pub(crate) fn add_possible_options(meaning: &mut CommandMeaning, arguments: ArgvRef<'_>) {
    if arguments.words.is_known() {
        return;
    }
    let name = arguments.known_word(0).unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or(name);
    let Some(level) = spec_table::find_program(name) else { return };
    let mut search = OptionSearch::new(arguments, runs_inner_command(meaning));
    search.collect_options(level);
    if search.value_may_shift || takes_pattern_unlisted(level, arguments) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("has a pattern as the value of an option, and each further file that matches is another word");
    }
    for option in search.found {
        if option.pattern.is_none() {
            meaning.lower_class(CommandClass::Unknown);
        }
        meaning.effects.push(CommandEffect::MayBeOption(option));
    }
}

/// Returns whether the command runs another command whose words are checked separately.
fn runs_inner_command(meaning: &CommandMeaning) -> bool {
    meaning.effects.iter().any(CommandEffect::is_command)
}

/// A command line that is searched for unknown words.
struct OptionSearch<'a> {
    arguments: ArgvRef<'a>,
    runs_inner_command: bool,
    /// The program and the subcommands that have been read so far.
    path: Vec<&'static CommandSpec>,
    /// The operands after the last subcommand.
    operands: usize,
    /// Whether all operands so far could be names of subcommands.
    at_subcommand: bool,
    /// The words that are the values of options.
    values: Vec<usize>,
    /// Whether the value of an option is a pattern that can match more files, and a further file
    /// would be more than a file that is read.
    value_may_shift: bool,
    found: Vec<PossibleOption>,
}

impl<'a> OptionSearch<'a> {
    fn new(arguments: ArgvRef<'a>, runs_inner_command: bool) -> Self {
        let (path, values, found) = (Vec::new(), Vec::new(), Vec::new());
        let (at_subcommand, value_may_shift) = (true, false);
        Self {
            arguments,
            runs_inner_command,
            path,
            operands: 0,
            at_subcommand,
            values,
            value_may_shift,
            found,
        }
    }

    fn collect_options(&mut self, level: &'static CommandSpec) {
        self.path.push(level);
        let mut items = CommandArguments::new(level, self.arguments, 1).items();
        let mut end = self.arguments.words.len();
        while let Some(item) = items.next() {
            if self.path.last().is_some_and(|level| level.traits.anything) {
                self.found.clear();
                return;
            }
            match item {
                CommandItem::Number => {}
                CommandItem::Unclear => {
                    let levels: Vec<_> = items.active_specs().collect();
                    if let Some(candidate) = items.take_candidate() {
                        self.check_candidate(candidate, &levels);
                    }
                }
                CommandItem::Option { value, .. } => {
                    let index = items.count_consumed_words() - 1;
                    let levels: Vec<_> = items.active_specs().collect();
                    self.note_value(value, index, &levels);
                }
                CommandItem::Operand(arg, at) => {
                    if let Some(sub) = self.find_subcommand(arg) {
                        self.path.push(sub);
                        self.operands = 0;
                        items.enter_subcommand(sub);
                    } else if self.runs_inner_command && self.starts_command() {
                        end = at;
                        break;
                    } else {
                        self.operands += 1;
                        self.at_subcommand &= !matches!(arg, ArgumentWord::Known(_));
                    }
                }
            }
        }
        self.find_opaque_words(end);
        self.find_sign_patterns(end);
    }

    fn find_subcommand(&self, arg: ArgumentWord<'_>) -> Option<&'static CommandSpec> {
        match arg {
            ArgumentWord::Known(name) if self.at_subcommand => {
                self.path.last()?.find_subcommand(name)
            }
            _ => None,
        }
    }

    /// Returns whether a command begins at the next operand.
    fn starts_command(&self) -> bool {
        let Some(level) = self.path.last() else { return false };
        let kinds = level.operands.to_operand_spec();
        let kind = kinds.first.get(self.operands).copied().or(kinds.repeated);
        kind.is_some_and(OperandKind::is_command_start)
    }

    /// A pattern that is the value of an option can expand to several words.
    fn note_value(
        &mut self,
        value: Option<ArgumentWord<'a>>,
        index: usize,
        levels: &[&'static CommandSpec],
    ) {
        match value {
            Some(word @ ArgumentWord::Files(WordSource::Pattern(_))) => {
                self.value_may_shift |=
                    !self.path.last().is_some_and(|level| only_reads_files(level));
                self.check_candidate(
                    OptionCandidate { word, index, kind: CandidateKind::Any },
                    levels,
                );
            }
            Some(_) => self.values.push(index),
            None => {}
        }
    }

    fn check_candidate(&mut self, candidate: OptionCandidate<'a>, levels: &[&'static CommandSpec]) {
        if matches!(candidate.word, ArgumentWord::Files(WordSource::Number | WordSource::Tokens)) {
            return;
        }
        let worst = levels
            .iter()
            .filter(|level| !level.traits.inert)
            .filter_map(|level| most_harmful_option(level, candidate.kind))
            .max_by_key(|(does, _)| harm_rank(*does));
        let subcommand = || {
            let level = self.path.last().filter(|_| self.may_be_subcommand(candidate));
            level.and_then(|level| most_harmful_subcommand(level))
        };
        // The files that match a pattern are looked up, and they are rarely named like options.
        let pattern = matches!(candidate.word, ArgumentWord::Files(WordSource::Pattern(_)))
            && levels.iter().any(|level| !level.traits.inert);
        let unlisted = || pattern.then(|| "an option that is not known to be read-only".to_owned());
        let what = worst.map(|(_, what)| what).or_else(subcommand).or_else(unlisted);
        let Some(what) = what else { return };
        self.push_option(candidate.index, candidate.word, "-", what);
    }

    fn may_be_subcommand(&self, candidate: OptionCandidate<'_>) -> bool {
        self.at_subcommand && candidate.kind == CandidateKind::Any
    }

    fn push_option(&mut self, index: usize, word: ArgumentWord<'_>, begins: &str, what: String) {
        let pattern = match word {
            ArgumentWord::Files(WordSource::Pattern(pattern)) => Some(pattern.clone()),
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

    /// Searches all words for a pattern that can match a file whose name begins with a sign that
    /// this program may accept instead of `-`.
    fn find_sign_patterns(&mut self, end: usize) {
        let program = self.path.first().copied().filter(|level| !level.traits.inert);
        let Some(program) = program else { return };
        for (index, word) in (1..end).zip(self.arguments.iter(1)) {
            let ArgumentWord::Files(WordSource::Pattern(pattern)) = word else { continue };
            let beginning = literal_prefix(pattern);
            for sign in possible_signs(program).filter(|sign| sign.starts_with(beginning)) {
                let what = format!("an option, because it begins with `{sign}`");
                self.push_option(index, word, &sign, what);
            }
        }
    }

    /// Searches all words for one whose beginning could make the program run something else.
    fn find_opaque_words(&mut self, end: usize) {
        let starts: Vec<&str> = self.path.iter().flat_map(|level| level.opaque.iter()).collect();
        if starts.is_empty() {
            return;
        }
        let words: Vec<(usize, ArgumentWord<'a>)> = (1..end)
            .zip(self.arguments.iter(1))
            .filter(|(at, _)| !self.values.contains(at))
            .collect();
        for (index, word) in words {
            let beginning = match word {
                ArgumentWord::Prefix(text) => text,
                ArgumentWord::Many
                | ArgumentWord::Files(WordSource::Pattern(_) | WordSource::StandardInput { .. }) => {
                    ""
                }
                ArgumentWord::Files(WordSource::DescendantsOf { bare: true, .. }) => "",
                ArgumentWord::Known(_) | ArgumentWord::Files(_) => continue,
            };
            let pattern = match word {
                ArgumentWord::Files(WordSource::Pattern(pattern)) => literal_prefix(pattern),
                _ => beginning,
            };
            for start in starts.iter().filter(|start| may_begin_opaque_word(start, pattern, index))
            {
                let shown = start.trim_start_matches('*');
                let what =
                    format!("`{shown}…`, which can run something that the words do not show");
                self.push_option(index, word, start, what);
            }
        }
    }
}

/// Returns whether a word with this beginning could make the program run something else.
fn may_begin_opaque_word(start: &str, beginning: &str, index: usize) -> bool {
    match start.strip_prefix('*') {
        // In an assignment of make the text can be anywhere. Otherwise it is part of an option.
        Some(held) => {
            beginning.is_empty() || beginning.starts_with('-') || held.starts_with(['!', ':'])
        }
        // A toolchain is the first word.
        None if start == "+/" => index == 1 && start.starts_with(beginning),
        None => start.starts_with(beginning),
    }
}

/// Returns whether a pattern follows an option of a program whose options are not listed. The
/// pattern may be the option's value.
fn takes_pattern_unlisted(level: &CommandSpec, arguments: ArgvRef<'_>) -> bool {
    let listed = level.options().any(|option| option.effect != OptionEffect::Ends);
    let option = |arg: ArgumentWord<'_>| matches!(arg, ArgumentWord::Known(text) if text.starts_with('-') && text.len() > 1 && text != "--");
    let pattern =
        |arg: ArgumentWord<'_>| matches!(arg, ArgumentWord::Files(WordSource::Pattern(_)));
    let mut pairs = arguments.iter(1).zip(arguments.iter(2));
    let builtin = matches!(level.name(), "test" | "[");
    level.custom_reader().is_some()
        && !listed
        && !builtin
        && pairs.any(|(before, arg)| option(before) && pattern(arg))
}

/// Returns whether the operands of a level are only files that are read, in any number.
fn only_reads_files(level: &CommandSpec) -> bool {
    let kinds = level.operands.to_operand_spec();
    let mut all = kinds.first.iter().chain(&kinds.repeated).chain(kinds.last);
    let read = |kind: &OperandKind| {
        matches!(kind, OperandKind::Text | OperandKind::Reads | OperandKind::Pathspec)
    };
    kinds.repeated.is_some()
        && all.all(read)
        && level.custom_reader().is_none()
        && level.subcommands().is_empty()
        && level.missing_operands_reason().is_none()
        && level.option_overrides().iter().all(|when| when.operands.is_none())
}

/// Returns the part of a pattern before the first character with a special meaning.
fn literal_prefix(pattern: &str) -> &str {
    let end = pattern.find(['*', '?', '[', '\\']).unwrap_or(pattern.len());
    pattern.get(..end).unwrap_or_default()
}

/// Returns the most harmful option of a level that a word could be, and its description for use in
/// a sentence.
fn most_harmful_option(level: &CommandSpec, kind: CandidateKind) -> Option<(OptionEffect, String)> {
    let fits = |option: &OptionSpec| match kind {
        CandidateKind::Any | CandidateKind::Dashed => true,
        CandidateKind::Long => option.name.len() > 1,
        CandidateKind::Letters => option.name.chars().count() == 1,
    };
    let options = level.options().filter(fits);
    let harmful = options.filter_map(|option| Some((option_harm(level, option)?, option)));
    // Among equally harmful options, a long name is more informative.
    let (does, option) =
        harmful.max_by_key(|(does, option)| (harm_rank(*does), option.name.len() > 1))?;
    let dashes = if option.name.len() > 1 && !level.traits.single_dash { "--" } else { "-" };
    Some((does, format!("the option `{dashes}{}`, which {}", option.name, describe_effect(does))))
}

/// Returns the harm that an option can do.
pub(super) fn option_harm(level: &CommandSpec, option: OptionSpec) -> Option<OptionEffect> {
    if option.effect >= OptionEffect::Asks || option.effect == OptionEffect::Moves {
        return Some(option.effect);
    }
    let with = level.option_overrides().iter().filter(|when| when.with.contains(option.name));
    let other = with.filter_map(|when| {
        let kinds = when.operands.map(super::command_spec::OperandSpecRow::to_operand_spec);
        let kinds = kinds.and_then(operand_harm);
        let class = (when.class == Some(CommandClass::Unknown)).then_some(OptionEffect::Asks);
        kinds.max(class)
    });
    other.max().or_else(|| value_harm(level, option))
}

/// Returns the harm that the value of an option can do.
fn value_harm(level: &CommandSpec, option: OptionSpec) -> Option<OptionEffect> {
    let values = level.value_reader().filter(|_| option.value != OptionValueKind::Nothing)?;
    let mut meaning = CommandMeaning::new(CommandClass::Harmless);
    values(&mut meaning, option.name, Some(ArgumentWord::Prefix("")));
    let hidden = meaning.effects.iter().any(|effect| matches!(effect, CommandEffect::Unknown(_)));
    hidden.then_some(OptionEffect::Loads)
}

fn operand_harm(kinds: OperandSpec) -> Option<OptionEffect> {
    let all = kinds.first.iter().chain(&kinds.repeated).chain(kinds.last);
    all.filter_map(|kind| match kind {
        OperandKind::Writes | OperandKind::Changes => Some(OptionEffect::Writes),
        OperandKind::Into => Some(OptionEffect::Into),
        OperandKind::Reaches => Some(OptionEffect::Reaches),
        OperandKind::Runs | OperandKind::Script | OperandKind::Tool | OperandKind::Plugin => {
            Some(OptionEffect::Runs)
        }
        OperandKind::Loads => Some(OptionEffect::Loads),
        OperandKind::Text
        | OperandKind::Reads
        | OperandKind::Revision
        | OperandKind::Pathspec
        | OperandKind::Peg
        | OperandKind::Remote
        | OperandKind::Guest
        | OperandKind::Package
        | OperandKind::Asks => None,
    })
    .max()
}

/// Returns the most harmful subcommand that a word could be, and its description for use in a
/// sentence.
fn most_harmful_subcommand(level: &'static CommandSpec) -> Option<String> {
    let subs =
        level.subcommands().iter().filter_map(|sub| Some((command_harm(sub.spec()?)?, sub.name())));
    let (does, name) = subs.max_by_key(|(does, _)| harm_rank(*does))?;
    Some(format!("the subcommand `{name}`, which {}", describe_effect(does)))
}

fn command_harm(level: &'static CommandSpec) -> Option<OptionEffect> {
    if level.traits.anything {
        return None;
    }
    let options = level.options().filter_map(|option| option_harm(level, option)).max();
    let operands = operand_harm(level.operands.to_operand_spec());
    let hidden = level.custom_reader().map(|_| OptionEffect::Asks);
    let subs = level.subcommands().iter().filter_map(|sub| command_harm(sub.spec()?)).max();
    options.max(operands).max(hidden).max(subs)
}

/// Returns how harmful the effect of an option is. Effects that run something rank highest, because
/// they are the most informative for a reviewer.
const fn harm_rank(does: OptionEffect) -> u8 {
    match does {
        OptionEffect::Runs => 7,
        OptionEffect::Loads => 6,
        OptionEffect::ReadsMore => 5,
        OptionEffect::Writes | OptionEffect::Into => 4,
        OptionEffect::Mounts => 3,
        OptionEffect::Reaches | OptionEffect::Moves => 2,
        OptionEffect::Asks => 1,
        OptionEffect::Nothing | OptionEffect::Ends | OptionEffect::Reads => 0,
    }
}

/// Returns what an option does, as the end of a sentence.
const fn describe_effect(does: OptionEffect) -> &'static str {
    match does {
        OptionEffect::Runs => "runs a command",
        OptionEffect::Writes => "writes a file",
        OptionEffect::Into => "writes into a directory",
        OptionEffect::Reaches => "contacts a host",
        OptionEffect::Mounts => "mounts a directory of this machine",
        OptionEffect::Moves => "works in another directory",
        OptionEffect::ReadsMore => "reads options or file names from a file",
        OptionEffect::Loads => "can run something that the words do not show",
        OptionEffect::Nothing | OptionEffect::Ends | OptionEffect::Reads | OptionEffect::Asks => {
            "is not read-only"
        }
    }
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::CommandWords;

    use super::*;

    fn worst(program: &str, kind: CandidateKind) -> Option<String> {
        most_harmful_option(spec_table::find_program(program).unwrap(), kind).map(|(_, what)| what)
    }

    #[test]
    fn the_most_harmful_option_is_named() {
        let rg = worst("rg", CandidateKind::Any).unwrap();
        assert!(rg.ends_with("which runs a command"), "{rg}");
        assert_eq!(worst("rg", CandidateKind::Long).unwrap(), rg);
        // Of the single-letter options, only `-z` is harmful, because it starts decompressors.
        assert!(worst("rg", CandidateKind::Letters).unwrap().starts_with("the option `-z`"));
        assert_eq!(worst("wc", CandidateKind::Letters), None);
    }

    #[test]
    fn only_words_that_could_be_options_are_reported() {
        let found = |build: fn(&mut CommandWords)| {
            let mut words = CommandWords::new();
            words.push("rg");
            build(&mut words);
            let mut meaning = super::super::analyze_command((&words).into());
            add_possible_options(&mut meaning, (&words).into());
            meaning.effects.iter().any(|effect| matches!(effect, CommandEffect::MayBeOption(_)))
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

    /// Programs and subcommands that have an option that runs, writes or loads something, but for
    /// which `PROGRAM "$x"` is not restricted, with the reason.
    const EXEMPT: &[(&str, &str)] = &[];

    fn has_harmful_option(level: &CommandSpec) -> bool {
        let harms = [
            OptionEffect::Runs,
            OptionEffect::Writes,
            OptionEffect::Into,
            OptionEffect::Loads,
            OptionEffect::ReadsMore,
        ];
        !level.traits.inert && level.options().any(|option| harms.contains(&option.effect))
    }

    /// Adds the names of the commands that have a harmful option. The flag is `true` if an unknown
    /// word of the command is restricted. It is `false` if the word could be that option without a
    /// restriction.
    fn add_commands(
        names: &mut Vec<&'static str>,
        level: &CommandSpec,
        found: &mut Vec<(String, bool)>,
    ) {
        if has_harmful_option(level) {
            let mut words = CommandWords::new();
            names.iter().for_each(|name| words.push(name));
            words.push_unknown();
            let mut meaning = super::super::analyze_command((&words).into());
            add_possible_options(&mut meaning, (&words).into());
            let holds = |effect: &CommandEffect| {
                matches!(effect, CommandEffect::MayBeOption(_) | CommandEffect::Unknown(_))
            };
            found.push((names.join(" "), meaning.effects.iter().any(holds)));
        }
        for sub in level.subcommands() {
            let Some(inner) = sub.spec() else { continue };
            names.push(sub.name());
            add_commands(names, inner, found);
            names.pop();
        }
    }

    #[test]
    fn an_unknown_word_that_may_be_a_harmful_option_is_restricted() {
        let mut found = Vec::new();
        for (name, level) in spec_table::all() {
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

    /// Builtins, which take no words from another program, and a program that writes all names.
    const NO_FILES: [&str; 7] = ["dd", "declare", "export", "local", "readonly", "set", "typeset"];

    /// Names that another program prints may begin with `-`.
    #[test]
    fn printed_names_may_be_options_of_programs_with_their_own_reader() {
        let mut silent = Vec::new();
        for (name, level) in spec_table::all() {
            let mut argv = super::super::Argv::default();
            argv.words.push(name);
            argv.words.push_any_words();
            let roots = vec![".".to_owned()];
            argv.paths.push((1, WordSource::DescendantsOf { roots, bare: true, search: None }));
            let mut meaning = super::super::analyze_command(argv.as_argv_ref());
            add_possible_options(&mut meaning, argv.as_argv_ref());
            let holds = |effect: &CommandEffect| {
                matches!(effect, CommandEffect::MayBeOption(_) | CommandEffect::Unknown(_))
            };
            if level.custom_reader().is_some()
                && !level.traits.inert
                && !level.traits.anything
                && meaning.class != CommandClass::Unknown
                && !meaning.effects.iter().any(holds)
                && !NO_FILES.contains(&name)
            {
                silent.push(name);
            }
        }
        assert!(silent.is_empty(), "{silent:?}");
    }
}
