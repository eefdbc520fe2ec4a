//! The `regex` crate: one after the other, and all at once.

use openoxide_protocol::Effect;
use regex::bytes::{Regex, RegexSet, RegexSetBuilder};

use super::{ByKind, Engine};
use crate::rules::{BenchRule, Query};

fn regex(glob: &str) -> String {
    let escaped = regex::escape(glob).replace(r"\*", ".*").replace(r"\?", ".");
    format!("(?s-u)^{escaped}$")
}

/// Every pattern compiled, asked from the last one on.
pub struct RegexLinear(ByKind<Vec<(Regex, Effect)>>);

impl RegexLinear {
    /// Compiles the patterns.
    #[must_use]
    pub fn new(rules: &[BenchRule]) -> Self {
        let one = |rule: &BenchRule| {
            (Regex::new(&regex(&rule.glob)).expect("it is a regex"), rule.effect)
        };
        Self(ByKind::build(rules, |rules| rules.into_iter().map(one).collect()))
    }
}

impl Engine for RegexLinear {
    fn ask(&self, query: &Query) -> Option<Effect> {
        let rules = self.0.of(query.kind).iter().rev();
        let text = query.text.as_bytes();
        rules.into_iter().find(|(regex, _)| regex.is_match(text)).map(|(_, effect)| *effect)
    }
}

/// All patterns in one automaton.
pub struct RegexSets(ByKind<(RegexSet, Vec<Effect>)>);

impl RegexSets {
    /// Compiles the patterns.
    #[must_use]
    pub fn new(rules: &[BenchRule]) -> Self {
        Self(ByKind::build(rules, |rules| {
            let set = RegexSetBuilder::new(rules.iter().map(|rule| regex(&rule.glob)))
                .size_limit(1 << 30)
                .dfa_size_limit(1 << 28)
                .build();
            (set.expect("it fits"), rules.iter().map(|rule| rule.effect).collect())
        }))
    }
}

impl Engine for RegexSets {
    fn ask(&self, query: &Query) -> Option<Effect> {
        let (set, effects) = self.0.of(query.kind);
        set.matches(query.text.as_bytes()).iter().next_back().map(|index| effects[index])
    }
}
