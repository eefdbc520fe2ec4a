//! A grammar that is read from text (`grammar.txt` describes its format), and the scripts that it
//! generates.

use std::collections::{BTreeMap, BTreeSet};

use super::Chance;

/// The minimum number of choices in a script, and the range that is added to it at random. After
/// these choices the script must end.
const CHOICES: (usize, usize) = (10, 110);
/// One in this number of scripts contains text that the analysis does not understand, on purpose.
const WILD: usize = 4;
/// The maximum depth of a symbol, whatever the choices.
const DEEPEST: usize = 60;

/// The ways to write each symbol.
#[derive(Debug, Default)]
pub(super) struct Grammar {
    symbols: BTreeMap<&'static str, Vec<Way>>,
}

/// One way to write a symbol.
#[derive(Debug)]
struct Way {
    weight: usize,
    wild: bool,
    construct: Option<&'static str>,
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Symbol(&'static str),
}

/// A script that is being written.
struct Pen<'c> {
    chance: &'c mut Chance,
    script: String,
    constructs: BTreeSet<&'static str>,
    wild: bool,
    choices: usize,
}

impl Grammar {
    /// Reads a grammar.
    pub(super) fn read(text: &'static str) -> Self {
        let mut grammar = Self::default();
        let mut symbol = "";
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            match line.strip_prefix("= ") {
                Some(name) => symbol = name,
                None => grammar.symbols.entry(symbol).or_default().extend(way(line)),
            }
        }
        grammar
    }

    /// Returns the names of all constructs.
    pub(super) fn constructs(&self) -> BTreeSet<&'static str> {
        self.symbols.values().flatten().filter_map(|way| way.construct).collect()
    }

    /// Returns a script, and the constructs in it.
    pub(super) fn script(&self, chance: &mut Chance) -> (String, Vec<&'static str>) {
        let wild = chance.below(WILD) == 0;
        let choices = CHOICES.0 + chance.below(CHOICES.1);
        let mut pen =
            Pen { chance, script: String::new(), constructs: BTreeSet::new(), wild, choices };
        self.write("script", 0, &mut pen);
        (pen.script, pen.constructs.into_iter().collect())
    }

    fn write(&self, symbol: &str, depth: usize, pen: &mut Pen<'_>) {
        let ways = self.symbols.get(symbol).map(Vec::as_slice).unwrap_or_default();
        let Some(way) = choose(ways, depth, pen) else { return };
        pen.constructs.extend(way.construct);
        for part in &way.parts {
            match part {
                Part::Text(text) => pen.script.push_str(text),
                Part::Symbol(name) => self.write(name, depth + 1, pen),
            }
        }
    }
}

/// Chooses by weight. After enough choices, returns the first way.
fn choose<'g>(ways: &'g [Way], depth: usize, pen: &mut Pen<'_>) -> Option<&'g Way> {
    // A symbol that consists of texts only does not need a choice.
    let plain =
        ways.iter().all(|way| !way.parts.iter().any(|part| matches!(part, Part::Symbol(_))));
    if !plain && (pen.choices == 0 || depth > DEEPEST) {
        return ways.first();
    }
    pen.choices -= usize::from(!plain);
    let open = |way: &&Way| pen.wild || !way.wild;
    let total = ways.iter().filter(open).map(|way| way.weight).sum();
    let mut at = pen.chance.below(total);
    let open = |way: &&Way| pen.wild || !way.wild;
    ways.iter().filter(open).find(|way| {
        let here = at < way.weight;
        at = at.saturating_sub(way.weight);
        here
    })
}

/// Parses a weight, a construct and a text.
fn way(line: &'static str) -> Option<Way> {
    let (weight, rest) = line.split_once(' ')?;
    let (construct, text) = rest.split_once(' ').unwrap_or((rest, ""));
    Some(Way {
        weight: weight.trim_end_matches('!').parse().ok()?,
        wild: weight.ends_with('!'),
        construct: Some(construct).filter(|name| *name != "-"),
        parts: parts(text),
    })
}

fn parts(text: &'static str) -> Vec<Part> {
    let mut parts = Vec::new();
    for (index, piece) in text.split('‹').enumerate() {
        let plain = match piece.split_once('›') {
            Some((name, plain)) if index > 0 => {
                parts.push(Part::Symbol(name));
                plain
            }
            _ => piece,
        };
        parts.push(Part::Text(unescaped(plain)));
    }
    parts
}

fn unescaped(text: &str) -> String {
    let letter = |letter| match letter {
        '␤' => '\n',
        '␉' => '\t',
        '␍' => '\r',
        '␋' => '\u{b}',
        '⍽' => '\u{a0}',
        other => other,
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_way_ends_a_script() {
        let grammar = Grammar::read("= script\n1 - ‹a›\n= a\n1 end x\n9 on ‹a›␤‹a›\n");
        let longest = (0..200).map(|seed| grammar.script(&mut Chance::new(seed)).0.len()).max();
        assert!(longest.unwrap() < 1000);
        assert_eq!(grammar.constructs().into_iter().collect::<Vec<_>>(), ["end", "on"]);
    }

    #[test]
    fn every_symbol_is_defined_and_used() {
        let grammar = &super::super::GRAMMAR;
        let parts = grammar.symbols.values().flatten().flat_map(|way| &way.parts);
        let mut used: BTreeSet<_> = parts
            .filter_map(|part| match part {
                Part::Symbol(name) => Some(*name),
                Part::Text(_) => None,
            })
            .collect();
        used.insert("script");
        assert_eq!(used, grammar.symbols.keys().copied().collect());
    }

    #[test]
    fn each_way_is_read() {
        let text = include_str!("grammar.txt");
        let ways =
            text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
        let read: usize = super::super::GRAMMAR.symbols.values().map(Vec::len).sum();
        assert_eq!(read, ways.count());
    }
}
