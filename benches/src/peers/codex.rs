//! Prefix rules in a map from the first word, as Codex keeps them. It knows no wildcard, so it answers fewer questions.

use std::collections::HashMap;

use openoxide_protocol::Effect;

use super::Engine;
use crate::rules::{BenchRule, Kind, Query};

type Prefixes = Vec<(Vec<String>, Effect)>;

/// Rules by their first word; each is a list of words that a command must begin with.
pub struct PrefixMap(HashMap<String, Prefixes>);

impl PrefixMap {
    /// Takes those of the rules that are prefixes of whole words.
    #[must_use]
    pub fn new(rules: &[BenchRule]) -> Self {
        let mut map: HashMap<String, Prefixes> = HashMap::new();
        for rule in rules.iter().filter(|rule| rule.kind == Kind::Command) {
            let Some(prefix) = rule.glob.strip_suffix(" *") else { continue };
            if prefix.contains('*') {
                continue;
            }
            let mut words = prefix.split(' ').map(str::to_owned);
            let Some(first) = words.next() else { continue };
            map.entry(first).or_default().push((words.collect(), rule.effect));
        }
        Self(map)
    }
}

impl Engine for PrefixMap {
    fn ask(&self, query: &Query) -> Option<Effect> {
        let mut words = query.text.split_ascii_whitespace();
        let rules = self.0.get(words.next()?)?;
        let begins = |(prefix, _): &&(Vec<String>, Effect)| {
            let mut words = words.clone();
            prefix.iter().all(|wanted| words.next() == Some(wanted))
        };
        rules.iter().rev().find(begins).map(|(_, effect)| *effect)
    }
}
