//! Examples in a rule file: commands that a rule must match or must not match.

use serde::{Deserialize, Serialize};

use super::{
    launch_context::LaunchContext,
    prefix_rule::PrefixRule,
    prefix_rule_index::{HostExecutables, PrefixRuleIndex},
    rule_errors::RuleCallError,
};

/// The examples of one call, and the rules that the call defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RuleExamples {
    pub(crate) rules: Vec<PrefixRule>,
    pub(crate) matching: Vec<Vec<String>>,
    pub(crate) not_matching: Vec<Vec<String>>,
}

impl RuleExamples {
    /// Checks the examples against the rules of their own call. Examples that must not match are
    /// checked first.
    ///
    /// # Errors
    /// Returns an error with the first example that matches although it must not, or with all
    /// examples that do not match although they must.
    pub(super) fn check(
        &self,
        hosts: &HostExecutables,
        place: &LaunchContext<'_>,
    ) -> Result<(), RuleCallError> {
        let mut rules = PrefixRuleIndex::default();
        self.rules.iter().cloned().for_each(|rule| rules.add(rule));
        let matches = |words: &[String]| rules.matching_rules(words, Some((place, hosts)));
        for words in &self.not_matching {
            if let Some(found) = matches(words).first() {
                let (found, example) = (format!("{found:?}"), render_examples(words));
                return Err(RuleCallError::Matches { matched_rule: found, example });
            }
        }
        let unmatched = self.matching.iter().filter(|words| matches(words).is_empty());
        let unmatched: Vec<String> = unmatched.map(|words| render_examples(words)).collect();
        if unmatched.is_empty() {
            return Ok(());
        }
        let rules = self.rules.iter().map(|rule| format!("{rule:?}")).collect();
        Err(RuleCallError::DoesNotMatch { rules, examples: unmatched })
    }
}

/// Splits an example into words as a shell does.
///
/// # Errors
/// Returns an error if a quote is not closed, or if there are no words.
pub(super) fn split_example(text: &str) -> Result<Vec<String>, RuleCallError> {
    let words = shlex::split(text)
        .ok_or(RuleCallError::Example("example string has invalid shell syntax"))?;
    if words.is_empty() {
        return Err(RuleCallError::Example("example cannot be an empty string"));
    }
    Ok(words)
}

fn render_examples(words: &[String]) -> String {
    let joined = shlex::try_join(words.iter().map(String::as_str));
    joined.unwrap_or_else(|_| "unable to render example".to_owned())
}
