//! Other ways to find the rule that decides, which is the last that matches.
//!
//! Each query is passed as a text that was prepared for them, and their patterns are compiled
//! beforehand.

mod codex;
mod globs;
mod linear;
mod regexes;

use openoxide_protocol::Effect;

use crate::rules::{BenchRule, Kind, Query};

pub use codex::PrefixMap;
pub use globs::{Globset, Wildmatch};
pub use linear::{Linear, naive};
pub use regexes::{RegexLinear, RegexSets};

/// One way to find the rule that decides.
pub trait Engine {
    /// Returns what the last matching rule asks for.
    fn ask(&self, query: &Query) -> Option<Effect>;
}

/// Rules separated by what they match: every engine gets this for free.
struct ByKind<T>(Vec<T>);

impl<T> ByKind<T> {
    /// Builds one part for each kind.
    fn build(rules: &[BenchRule], part: impl Fn(Vec<&BenchRule>) -> T) -> Self {
        let of = |kind| rules.iter().filter(|rule| rule.kind == kind).collect();
        Self(Kind::ALL.into_iter().map(|kind| part(of(kind))).collect())
    }

    fn of(&self, kind: Kind) -> &T {
        &self.0[kind as usize]
    }
}
