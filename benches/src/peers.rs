//! How others find the rule that decides: the last that matches.
//!
//! They get each question as a text that was made ready for them, and their patterns compiled beforehand.

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

/// Rules cut by what they speak of: every engine gets this for free.
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
