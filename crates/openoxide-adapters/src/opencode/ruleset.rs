//! A list of rules, and the selection of the rule that decides.

use openoxide_protocol::Effect;

use super::wildcard::matches;
use crate::policy_translation::RuleOrigin;

/// A rule, whose permission and pattern are both wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCodeRule {
    /// The wildcard for the names of permissions.
    pub permission: String,
    /// The pattern that the rule matches.
    pub pattern: String,
    /// The effect of the rule.
    pub effect: Effect,
    pub(crate) origin: RuleOrigin,
}

impl OpenCodeRule {
    /// Returns a rule that is not from a file.
    #[must_use]
    pub fn new(permission: &str, pattern: &str, effect: Effect) -> Self {
        let (permission, pattern) = (permission.to_owned(), pattern.to_owned());
        Self { permission, pattern, effect, origin: RuleOrigin::default() }
    }
}

/// Rules in order. The last one that matches decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenCodeRuleset(pub Vec<OpenCodeRule>);

impl OpenCodeRuleset {
    /// Returns the rule that decides on one pattern; `None` means that approval is required.
    #[must_use]
    pub fn evaluate(&self, permission: &str, pattern: &str) -> Option<&OpenCodeRule> {
        self.0
            .iter()
            .rev()
            .find(|rule| matches(&rule.permission, permission) && matches(&rule.pattern, pattern))
    }

    /// Returns the effect for several patterns: the strictest of their effects, or allow if there
    /// are no patterns.
    #[must_use]
    pub fn evaluate_all(&self, permission: &str, patterns: &[String]) -> Effect {
        let one = |pattern: &String| {
            self.evaluate(permission, pattern).map_or(Effect::Ask, |rule| rule.effect)
        };
        patterns.iter().map(one).max().unwrap_or(Effect::Allow)
    }
}
