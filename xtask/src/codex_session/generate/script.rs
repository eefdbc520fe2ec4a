//! Scripts of every kind, filled with harmless words.

use crate::{codex_diff::generate::words::one, crash::chance::Chance};

use super::{kinds::KINDS, patch};

/// Programs that do not exist, and three that do nothing.
pub(super) const PROGRAMS: [&str; 10] =
    ["uu", "uu", "al", "al", "fb", "pm", "mx", "vv", "true", "echo"];

/// Words of commands and of rules.
pub(super) const WORDS: [&str; 14] =
    ["a", "b", "a", "-x", "-c", "--", "a b", "", "é", "1", "x=y", "it's", "-rf", "a\"b"];

/// Returns a script with its kinds.
pub(super) fn script(chance: &mut Chance) -> (Vec<&'static str>, String) {
    let (first, mut script) = of_a_kind(chance);
    let mut kinds = vec![first];
    if chance.percent(20) {
        let (second, more) = of_a_kind(chance);
        kinds.push(second);
        let between = one(chance, &[" && ", "; ", "\n", " | ", " || "]);
        script = format!("{script}{between}{more}");
    }
    (kinds, script)
}

fn of_a_kind(chance: &mut Chance) -> (&'static str, String) {
    let (name, templates) = if chance.percent(12) { named("plain") } else { one(chance, KINDS) };
    let template = one(chance, templates);
    (name, filled(chance, template))
}

fn named(wanted: &str) -> (&'static str, &'static [&'static str]) {
    KINDS.iter().find(|kind| kind.0 == wanted).copied().unwrap_or_default()
}

/// Replaces the letters in angle brackets.
fn filled(chance: &mut Chance, template: &str) -> String {
    let mut parts = template.split('<');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let letter = part.chars().next().filter(|_| part.chars().nth(1) == Some('>'));
        match letter.and_then(|letter| hole(chance, letter)) {
            Some(text) => out += &(text + &part.chars().skip(2).collect::<String>()),
            None => out = format!("{out}<{part}"),
        }
    }
    out
}

fn hole(chance: &mut Chance, letter: char) -> Option<String> {
    Some(match letter {
        'P' => one(chance, &PROGRAMS).to_owned(),
        'W' => one(chance, &["a", "b", "c", "-x", "--", "zz", "1", "x=y", "-rf"]).to_owned(),
        'C' => command(chance),
        'R' => removal(chance),
        'Q' => quoted(chance),
        'D' => nest(chance),
        'A' => patch::call(chance),
        'U' => patch::patch(chance),
        _ => return None,
    })
}

fn command(chance: &mut Chance) -> String {
    let mut words = vec![one(chance, &PROGRAMS).to_owned()];
    for _ in 0..chance.below(3) {
        words.push(written(chance));
    }
    words.join(" ")
}

/// Returns a word in the syntax of a shell.
fn written(chance: &mut Chance) -> String {
    match one(chance, &WORDS) {
        "" => "''".to_owned(),
        word if word.contains('\'') => format!("\"{word}\""),
        word if word.contains([' ', '"']) => format!("'{word}'"),
        word => word.to_owned(),
    }
}

/// Returns a command that removes a file that does not exist, with different flags.
fn removal(chance: &mut Chance) -> String {
    let flags = [
        "-f",
        "-rf",
        "-r -f",
        "-r",
        "-i",
        "--force",
        "--f",
        "-iF",
        "-Rf",
        "-vfr",
        "-- -f",
        "-rf --",
        "--recursive --force",
        "-",
        "-é -f",
        "--no-f",
    ];
    let program = one(chance, &["rm", "rm", "rm", "rm", "/bin/rm", "rm"]);
    match one(chance, &flags) {
        flags if chance.percent(20) => format!("{program} zz {flags}"),
        flags => format!("{program} {flags} zz"),
    }
}

fn quoted(chance: &mut Chance) -> String {
    let templates = ["<C>", "<C>", "<C> && <R>", "<P> $x", "<P> > f", "bash -c 'uu a'", ""];
    let inner = match chance.percent(40) {
        true => removal(chance),
        false => {
            let template = one(chance, &templates);
            filled(chance, template)
        }
    };
    match () {
        () if inner.contains('\'') => format!("\"{}\"", inner.replace(['"', '$'], "")),
        () if chance.percent(80) => format!("'{inner}'"),
        () => format!("\"{}\"", inner.replace('"', "")),
    }
}

/// Codex unwraps at most eight wrappers.
fn nest(chance: &mut Chance) -> String {
    let wrapper = one(chance, &["env ", "sudo ", "env -i ", "env A=b "]);
    let times = one(chance, &[1, 6, 7, 7, 8, 8, 9, 10]);
    wrapper.repeat(times)
}
