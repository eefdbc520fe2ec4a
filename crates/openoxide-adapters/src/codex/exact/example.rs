//! Examples in a rule file: commands that a rule is about, or is not.

use serde::{Deserialize, Serialize};

use super::{
    place::Place,
    policy::{Hosts, Prefixes},
    refusal::Refusal,
    rule::PrefixRule,
};

/// The examples of one call, and the rules that it made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::codex) struct Examples {
    pub(in crate::codex) rules: Vec<PrefixRule>,
    pub(super) matching: Vec<Vec<String>>,
    pub(super) other: Vec<Vec<String>>,
}

impl Examples {
    /// Checks the examples against the rules of their own call, and those that must not match first.
    ///
    /// # Errors
    /// With an example that the rules are about although it should not be so, or with all that they are not about.
    pub(super) fn check(&self, hosts: &Hosts, place: &Place<'_>) -> Result<(), Refusal> {
        let mut rules = Prefixes::default();
        self.rules.iter().cloned().for_each(|rule| rules.add(rule));
        let matches = |words: &[String]| rules.matches(words, Some((place, hosts)));
        for words in &self.other {
            if let Some(found) = matches(words).first() {
                let (found, example) = (format!("{found:?}"), shown(words));
                return Err(Refusal::Matches { found, example });
            }
        }
        let unmatched = self.matching.iter().filter(|words| matches(words).is_empty());
        let unmatched: Vec<String> = unmatched.map(|words| shown(words)).collect();
        if unmatched.is_empty() {
            return Ok(());
        }
        let rules = self.rules.iter().map(|rule| format!("{rule:?}")).collect();
        Err(Refusal::MatchesNot { rules, examples: unmatched })
    }
}

/// Cuts an example into words, as a shell would.
///
/// # Errors
/// Where a quote is not closed, or no word is there.
pub(super) fn words(text: &str) -> Result<Vec<String>, Refusal> {
    let words =
        shlex::split(text).ok_or(Refusal::Example("example string has invalid shell syntax"))?;
    if words.is_empty() {
        return Err(Refusal::Example("example cannot be an empty string"));
    }
    Ok(words)
}

fn shown(words: &[String]) -> String {
    let joined = shlex::try_join(words.iter().map(String::as_str));
    joined.unwrap_or_else(|_| "unable to render example".to_owned())
}
