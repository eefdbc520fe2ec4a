//! Calls of the three functions.

use crate::crash::chance::Chance;

use super::{
    Pattern,
    literal::{odd, text},
    words::{mostly, one, path, spelled, word},
};

/// Returns a call, and stores its pattern.
pub(super) fn prefix_rule(chance: &mut Chance, patterns: &mut Vec<Pattern>) -> String {
    let pattern = pattern(chance);
    let mut arguments = vec![argument(chance, "pattern", |chance| list(chance, &pattern))];
    if chance.percent(60) {
        arguments.push(argument(chance, "decision", |chance| decision(chance, &[])));
    }
    for (name, percent) in [("match", 15), ("not_match", 12)] {
        if chance.percent(percent) {
            arguments.push(argument(chance, name, |chance| examples(chance, &pattern, name)));
        }
    }
    if chance.percent(25) {
        arguments.push(argument(chance, "justification", because));
    }
    if chance.percent(15) {
        arguments.push(argument(chance, "canonical_matching", |chance| {
            one(chance, &["True", "True", "False", "bool(1)"]).to_owned()
        }));
    }
    patterns.push(pattern);
    call(chance, "prefix_rule", arguments)
}

pub(super) fn host_executable(chance: &mut Chance) -> String {
    let names = ["git", "git", "ls", "rm", "npm", "Git", "é", "a b", "", "/"];
    let names = mostly(chance, 96, 8, &names);
    let name = one(chance, names).to_owned();
    let mut paths = Vec::new();
    for _ in 0..chance.below(3) {
        let name = if chance.percent(98) { name.clone() } else { word(chance) };
        let at = one(chance, &["/bin/", "/usr/bin/", "/a/../bin/", "/bin//"]);
        let there = if chance.percent(98) { format!("{at}{name}") } else { path(chance, &name) };
        paths.push(if !rarely(chance) { text(chance, &there) } else { odd(chance) });
    }
    let arguments = vec![
        argument(chance, "name", |chance| text(chance, &name)),
        argument(chance, "paths", |_| format!("[{}]", paths.join(", "))),
    ];
    call(chance, "host_executable", arguments)
}

pub(super) fn network_rule(chance: &mut Chance) -> String {
    let hosts = [
        "a.example",
        "A.Example.",
        "b.example:443",
        "[::1]",
        "[::1]:80",
        "::1",
        "*.example",
        "http://a",
        "a/b",
        "",
        " ",
        "a b",
        "[::1",
        "[::1]x",
        "a:b",
        "é.example",
        "a:",
        "[]",
        ".",
        "[a]:",
    ];
    let protocols = [
        "http",
        "https",
        "socks5_tcp",
        "socks5_udp",
        "https_connect",
        "http-connect",
        "ftp",
        "HTTP",
    ];
    let hosts = mostly(chance, 75, 6, &hosts);
    let host = one(chance, hosts);
    let protocols = mostly(chance, 92, 6, &protocols);
    let protocol = one(chance, protocols);
    let mut arguments = vec![
        argument(chance, "host", |chance| text(chance, host)),
        argument(chance, "protocol", |chance| text(chance, protocol)),
        argument(chance, "decision", |chance| decision(chance, &["deny"])),
    ];
    if chance.percent(20) {
        arguments.push(argument(chance, "justification", because));
    }
    call(chance, "network_rule", arguments)
}

/// Writes a call, sometimes with extra, missing or reordered arguments.
fn call(chance: &mut Chance, name: &str, mut arguments: Vec<(String, String)>) -> String {
    match chance.below(100) {
        0 if chance.percent(50) => drop(arguments.remove(0)),
        1 if chance.percent(50) => arguments.push(("why".to_owned(), "1".to_owned())),
        2 if chance.percent(50) => arguments.extend(arguments.first().cloned()),
        3..=12 => arguments.reverse(),
        _ => {}
    }
    let bare = if chance.percent(20) { chance.below(3) } else { 0 };
    let written = arguments.iter().zip(0..).map(|((name, value), at)| match at < bare {
        true => value.clone(),
        false => format!("{name}={value}"),
    });
    let between = one(chance, &[", ", ",", ",\n  ", " , "]);
    let written: Vec<String> = written.collect();
    format!("{name}({})", written.join(between))
}

fn argument(
    chance: &mut Chance,
    name: &str,
    value: impl FnOnce(&mut Chance) -> String,
) -> (String, String) {
    let value = if rarely(chance) { odd(chance) } else { value(chance) };
    (name.to_owned(), value)
}

pub(super) fn pattern(chance: &mut Chance) -> Pattern {
    let length = one(chance, &[1, 1, 2, 2, 2, 3, 4]);
    (0..length).map(|_| place(chance)).collect()
}

fn place(chance: &mut Chance) -> Vec<String> {
    let some = if chance.percent(75) { 1 } else { chance.below(3) + 1 };
    (0..some).map(|_| word(chance)).collect()
}

pub(super) fn list(chance: &mut Chance, pattern: &Pattern) -> String {
    if rarely(chance) {
        return "[]".to_owned();
    }
    let places = pattern.iter().map(|words| {
        let written: Vec<String> = words.iter().map(|word| text(chance, word)).collect();
        match written.as_slice() {
            _ if rarely(chance) => odd(chance),
            [one] if chance.percent(90) => one.clone(),
            several => format!("[{}]", several.join(", ")),
        }
    });
    format!("[{}]", places.collect::<Vec<_>>().join(", "))
}

fn decision(chance: &mut Chance, more: &[&str]) -> String {
    let known = ["allow", "prompt", "forbidden"];
    let word = match chance.below(100) {
        0..=98 if more.is_empty() => one(chance, &known),
        0..=98 => one(chance, &[&known, more].concat()),
        _ => one(chance, &["deny", "Allow", "prompt-user", "", "ask", "allow "]),
    };
    text(chance, word)
}

fn because(chance: &mut Chance) -> String {
    let why = one(
        chance,
        &["use trash", "a \"quoted\" word", "  x  ", "é\nzwei", "because", "because", ""],
    );
    text(chance, why)
}

/// Returns examples that usually fit the rule.
fn examples(chance: &mut Chance, pattern: &Pattern, name: &str) -> String {
    let count = chance.below(3) + u64::from(chance.percent(90));
    let examples = (0..count).map(|_| {
        let wanted = name == "match";
        let right = if chance.percent(97) { wanted } else { !wanted };
        let mut words: Vec<String> = pattern.iter().map(|some| one(chance, some)).collect();
        if !right {
            words = vec![word(chance), word(chance)];
        }
        if chance.percent(8) {
            words = first(words, |word| path(chance, word));
        }
        if chance.percent(2) {
            words = first(words, |word| spelled(chance, word));
        }
        example(chance, &words)
    });
    format!("[{}]", examples.collect::<Vec<_>>().join(", "))
}

/// Returns another spelling of the first word.
fn first(mut words: Vec<String>, anew: impl FnOnce(&str) -> String) -> Vec<String> {
    if let Some(word) = words.first_mut() {
        *word = anew(word);
    }
    words
}

fn example(chance: &mut Chance, words: &[String]) -> String {
    match chance.below(100) {
        55..=98 if words.iter().all(|word| simple(word)) => text(chance, &words.join(" ")),
        50..=54 => text(chance, "'git' \"st\"atus \\\\a 'b c' #d"),
        99 if chance.percent(30) => odd(chance),
        _ => {
            let written: Vec<String> = words.iter().map(|word| text(chance, word)).collect();
            format!("[{}]", written.join(", "))
        }
    }
}

/// Returns whether a shell reads the word unchanged.
fn simple(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-./~=$*".contains(c))
}

fn rarely(chance: &mut Chance) -> bool {
    chance.below(400) == 0
}
