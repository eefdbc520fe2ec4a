//! Detection of words that some programs read as an option although they do not begin with `-`:
//! `+vcs=x` (Getopt::Long of Perl), `@file` (a file with options), and a dash or minus sign of
//! Unicode.
//!
//! The parser of a program is rarely documented in such detail. Therefore, a row of the table has
//! to name the signs that are plain text for its program (`plain-signs`). A word that begins with
//! any other sign makes the command not harmless.

use openoxide_protocol::CommandClass;

use super::{
    arguments::{ArgumentWord, Argv, ArgvRef, WordSource},
    command_meaning::{CommandEffect, CommandMeaning},
    command_spec::CommandSpec,
};

/// The name in the table of all dashes and minus signs of Unicode.
const DASH: &str = "\u{2212}";
/// The dashes and minus signs of Unicode: the category Pd without `-`, and the minus sign.
const DASHES: [char; 27] = [
    '\u{2212}',
    '\u{2010}',
    '\u{2011}',
    '\u{2012}',
    '\u{2013}',
    '\u{2014}',
    '\u{2015}',
    '\u{58a}',
    '\u{5be}',
    '\u{1400}',
    '\u{1806}',
    '\u{2e17}',
    '\u{2e1a}',
    '\u{2e3a}',
    '\u{2e3b}',
    '\u{2e40}',
    '\u{2e5d}',
    '\u{301c}',
    '\u{3030}',
    '\u{30a0}',
    '\u{fe31}',
    '\u{fe32}',
    '\u{fe58}',
    '\u{fe63}',
    '\u{ff0d}',
    '\u{2796}',
    '\u{10ead}',
];
/// The ASCII signs other than `-` that can begin an option.
const ASCII_SIGNS: [&str; 2] = ["+", "@"];
const MAY_BE_OPTION: &str = "a word could be an option: this program accepts other signs than `-`";

/// Lowers the class of a command if one of its own words may be an option with an unusual sign.
pub(super) fn check_option_signs(
    meaning: &mut CommandMeaning,
    level: &CommandSpec,
    arguments: ArgvRef<'_>,
) {
    let outer = count_suspicious_words(level, arguments);
    if outer == 0 || level.traits.anything {
        return;
    }
    let inner = meaning.effects.iter().map(|effect| match effect {
        CommandEffect::Runs(command)
        | CommandEffect::Tool(command)
        | CommandEffect::GuestCommand(command) => count_inner_words(level, command),
        _ => 0,
    });
    if outer <= inner.sum() {
        return;
    }
    meaning.lower_class(CommandClass::Unknown);
    if !meaning.is_opaque() && arguments.iter(1).any(|word| begins_known_option(level, word)) {
        meaning.add_unknown_effect(MAY_BE_OPTION);
    }
}

/// Returns the signs that can begin an option of a program, each as the beginning of a word.
pub(super) fn possible_signs(level: &CommandSpec) -> impl Iterator<Item = String> {
    let dashes = DASHES.iter().map(char::to_string);
    let signs = ASCII_SIGNS.iter().map(|sign| (*sign).to_owned()).chain(dashes);
    signs.filter(move |sign| is_suspicious(level, sign, true))
}

fn count_inner_words(level: &CommandSpec, command: &Argv) -> usize {
    let own = usize::from(
        command.as_argv_ref().iter(0).next().is_some_and(|word| is_suspicious_word(level, word)),
    );
    own + count_suspicious_words(level, command.as_argv_ref())
}

fn count_suspicious_words(level: &CommandSpec, arguments: ArgvRef<'_>) -> usize {
    arguments.iter(1).filter(|word| is_suspicious_word(level, *word)).count()
}

fn is_suspicious_word(level: &CommandSpec, word: ArgumentWord<'_>) -> bool {
    known_beginning(word).is_some_and(|(text, is_partial)| is_suspicious(level, text, is_partial))
}

/// Returns whether a word with this beginning is an option according to a row.
fn begins_known_option(level: &CommandSpec, word: ArgumentWord<'_>) -> bool {
    known_beginning(word).is_some_and(|(text, is_partial)| {
        is_suspicious(level, text, is_partial)
            && level.opaque.iter().any(|start| find_sign(start) == find_sign(text))
    })
}

/// Returns the known beginning of a word, and whether something unknown follows.
fn known_beginning(word: ArgumentWord<'_>) -> Option<(&str, bool)> {
    match word {
        ArgumentWord::Known(text) => Some((text, false)),
        ArgumentWord::Prefix(text) => Some((text, true)),
        ArgumentWord::Files(WordSource::Pattern(pattern)) => Some((pattern, true)),
        ArgumentWord::Files(WordSource::DescendantsOf { roots, .. }) => {
            roots.iter().find(|root| find_sign(root).is_some()).map(|root| (root.as_str(), true))
        }
        ArgumentWord::Files(_) | ArgumentWord::Many => None,
    }
}

/// Returns whether a text begins with a sign that is not plain text for a program.
fn is_suspicious(level: &CommandSpec, text: &str, is_partial: bool) -> bool {
    let Some(sign) = find_sign(text) else { return false };
    let is_alone = !is_partial && text.chars().nth(1).is_none();
    let is_plain = level.plain_signs.contains(sign) || sign == "+" && level.traits.plus;
    !is_alone && !is_plain
}

/// Returns the sign with which a text begins, as the table names it.
fn find_sign(text: &str) -> Option<&'static str> {
    match text.chars().next()? {
        '+' => Some("+"),
        '@' => Some("@"),
        first => DASHES.contains(&first).then_some(DASH),
    }
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::CommandWords;

    use super::{super::spec_table, *};

    fn meaning(words: &[&str]) -> CommandMeaning {
        let mut all = CommandWords::new();
        words.iter().for_each(|word| all.push(word));
        super::super::analyze_command((&all).into())
    }

    /// Returns whether a command is harmless and runs no other command.
    fn is_harmless(words: &[&str]) -> bool {
        let meaning = meaning(words);
        meaning.class != CommandClass::Unknown
            && !meaning.effects.iter().any(CommandEffect::is_command)
    }

    /// `@`, `+` and other dashes are plain text only for the programs that are named here, because
    /// their parsers are known.
    #[test]
    fn a_program_takes_other_signs_for_options_unless_its_row_denies_it() {
        let mut allowed = Vec::new();
        for (name, level) in spec_table::all() {
            for sign in ["+x", "@x", "\u{2212}x", "\u{2013}x"] {
                let quiet = level.traits.anything
                    || level.plain_signs.contains(find_sign(sign).unwrap())
                    || sign == "+x" && level.traits.plus;
                if !quiet && is_harmless(&[name, sign]) {
                    allowed.push(format!("{name} {sign}"));
                }
                if !quiet && is_harmless(&[name, "--", sign]) {
                    allowed.push(format!("{name} -- {sign}"));
                }
            }
        }
        assert!(allowed.is_empty(), "{allowed:?}");
    }

    #[test]
    fn no_sign_is_plain_and_the_beginning_of_an_option() {
        for (name, level) in spec_table::all() {
            for sign in level.plain_signs.iter() {
                assert!(find_sign(sign) == Some(sign), "{name}: {sign}");
                assert!(!level.opaque.contains(sign), "{name}: {sign}");
            }
        }
    }

    #[test]
    fn signs_of_an_inner_command_belong_to_it() {
        assert_eq!(meaning(&["nice", "date", "+%s"]).class, CommandClass::Harmless);
        assert_eq!(meaning(&["time", "grep", "@x"]).class, CommandClass::Harmless);
        assert!(is_harmless(&["grep", "@x", "+a"]) && is_harmless(&["cloc", "@"]));
    }
}
