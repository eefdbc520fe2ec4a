//! Wildcard crates: `globset` (all at once) and `wildmatch` (one after the other).

use std::cell::RefCell;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use openoxide_protocol::Effect;
use wildmatch::WildMatch;

use super::{ByKind, Engine};
use crate::rules::{BenchRule, Query};

/// All patterns in one set. The list of matches is kept from question to question.
pub struct Globset(ByKind<(GlobSet, Vec<Effect>)>, RefCell<Vec<usize>>);

impl Globset {
    /// Compiles the patterns; fails where the set does.
    ///
    /// # Errors
    /// When the automaton would exceed the limits of the crate.
    pub fn new(rules: &[BenchRule]) -> Result<Self, globset::Error> {
        let mut failure = None;
        let parts = ByKind::build(rules, |rules| {
            let set = set(&rules);
            (set, rules.iter().map(|rule| rule.effect).collect::<Vec<_>>())
        });
        let parts = parts.0.into_iter().filter_map(|(set, effects)| match set {
            Ok(set) => Some((set, effects)),
            Err(error) => {
                failure = Some(error);
                None
            }
        });
        let parts = ByKind(parts.collect());
        failure.map_or(Ok(Self(parts, RefCell::default())), Err)
    }
}

fn set(rules: &[&BenchRule]) -> Result<GlobSet, globset::Error> {
    let mut builder = GlobSetBuilder::new();
    for rule in rules {
        builder.add(GlobBuilder::new(&rule.glob).literal_separator(false).build()?);
    }
    builder.build()
}

impl Engine for Globset {
    fn ask(&self, query: &Query) -> Option<Effect> {
        let (set, effects) = self.0.of(query.kind);
        let mut matches = self.1.borrow_mut();
        set.matches_into(&query.text, &mut matches);
        matches.iter().max().map(|index| effects[*index])
    }
}

/// Every pattern compiled, asked from the last one on.
pub struct Wildmatch(ByKind<Vec<(WildMatch, Effect)>>);

impl Wildmatch {
    /// Compiles the patterns.
    #[must_use]
    pub fn new(rules: &[BenchRule]) -> Self {
        let one = |rule: &BenchRule| (WildMatch::new(&rule.glob), rule.effect);
        Self(ByKind::build(rules, |rules| rules.into_iter().map(one).collect()))
    }
}

impl Engine for Wildmatch {
    fn ask(&self, query: &Query) -> Option<Effect> {
        let rules = self.0.of(query.kind).iter().rev();
        rules.into_iter().find(|(glob, _)| glob.matches(&query.text)).map(|(_, effect)| *effect)
    }
}
