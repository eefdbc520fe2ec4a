//! A loop over all rules, written by hand.

use openoxide_protocol::Effect;

use super::{ByKind, Engine};
use crate::rules::{BenchRule, Query};

/// The usual two-pointer wildcard matcher over every rule, from the last one on.
pub struct Linear(ByKind<Vec<(Box<[u8]>, Effect)>>);

impl Linear {
    /// Copies the patterns.
    #[must_use]
    pub fn new(rules: &[BenchRule]) -> Self {
        let one = |rule: &BenchRule| (rule.glob.as_bytes().into(), rule.effect);
        Self(ByKind::build(rules, |rules| rules.into_iter().map(one).collect()))
    }
}

impl Engine for Linear {
    fn ask(&self, query: &Query) -> Option<Effect> {
        let rules = self.0.of(query.kind).iter().rev();
        let text = query.text.as_bytes();
        rules.into_iter().find(|(glob, _)| wildcard(glob, text)).map(|(_, effect)| *effect)
    }
}

fn wildcard(glob: &[u8], text: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut star = None;
    while place < text.len() {
        match glob.get(at) {
            Some(b'*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(wanted) if *wanted == b'?' || *wanted == text[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((star_at, eaten)) = star else { return false };
                star = Some((star_at, eaten + 1));
                (at, place) = (star_at + 1, eaten + 1);
            }
        }
    }
    glob[at..].iter().all(|byte| *byte == b'*')
}

/// The definition that every engine is held to: recursive, slow, plain to see.
#[must_use]
pub fn naive(rules: &[BenchRule], query: &Query) -> Option<Effect> {
    let speaks = |rule: &&BenchRule| {
        rule.kind == query.kind && by_definition(rule.glob.as_bytes(), query.text.as_bytes())
    };
    rules.iter().rfind(speaks).map(|rule| rule.effect)
}

fn by_definition(glob: &[u8], text: &[u8]) -> bool {
    match (glob.split_first(), text.split_first()) {
        (None, _) => text.is_empty(),
        (Some((b'*', rest)), _) => {
            (0..=text.len()).any(|eaten| by_definition(rest, &text[eaten..]))
        }
        (Some((b'?', rest)), Some((_, tail))) => by_definition(rest, tail),
        (Some((wanted, rest)), Some((found, tail))) => wanted == found && by_definition(rest, tail),
        (Some(_), None) => false,
    }
}
