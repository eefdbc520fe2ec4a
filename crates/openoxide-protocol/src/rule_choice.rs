//! What "always" can mean: the rules that are offered, narrower ones, wider ones, and how long they are kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AbsPath, ApprovalRequest, ApprovalResponse, GrantScope};

/// How a choice compares with the rules that "always" offers.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RuleBreadth {
    /// Exactly these commands.
    Narrower,
    /// The rules of [`crate::CodexDecision::always`].
    AsOffered,
    /// A word less.
    Wider,
}

/// One set of rules that a yes for the project can keep. It answers the whole request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleChoice {
    /// How it compares with what is offered.
    pub width: RuleBreadth,
    /// The rules, all of them.
    pub rules: Vec<String>,
}

/// What a choice would have answered before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChoiceHistory {
    /// So many questions would not have been asked.
    pub answers: u32,
    /// Of so many.
    pub of: u32,
    /// Other commands that it would have allowed, the most frequent first. They come from agents: who shows them escapes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

/// What a yes for the project keeps, and how far it reaches. The default is what was offered, for good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantTerms {
    /// The rules, each among those of [`ApprovalRequest::choices`]; none stands for those that are offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// They end after so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// They count for so many decisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// They count for commands that run in this directory or below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<AbsPath>,
    /// They count until the task of the request has ended ([`ApprovalRequest::task`]).
    #[serde(default, skip_serializing_if = "is_false")]
    pub task: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
const fn is_false(set: &bool) -> bool {
    !*set
}

impl GrantTerms {
    /// Says whether they reach only so far.
    #[must_use]
    pub const fn has_limits(&self) -> bool {
        self.task || self.seconds.is_some() || self.times.is_some() || self.below.is_some()
    }
}

impl ApprovalRequest {
    /// Returns what a yes for the project can keep, the narrowest first; nothing where only a yes to this very request counts.
    #[must_use]
    pub fn choices(&self) -> Vec<RuleChoice> {
        if self.explicit_yes_required || self.decision.always.is_empty() {
            return Vec::new();
        }
        let offered =
            RuleChoice { width: RuleBreadth::AsOffered, rules: self.decision.always.clone() };
        let mut choices = self.alternatives.clone();
        choices.retain(|choice| choice.width != RuleBreadth::AsOffered);
        choices.push(offered);
        choices.sort_by_key(|choice| choice.width);
        choices
    }

    /// Returns which of the choices these rules are, if they are one.
    #[must_use]
    pub fn choice_breadth(&self, rules: &[String]) -> Option<RuleBreadth> {
        self.choices().into_iter().find(|choice| choice.rules == rules).map(|choice| choice.width)
    }

    /// Returns what a response keeps for the project. Nothing if it is no such yes, names a rule that was not among the choices, or
    /// wants a task's end where none can be told: then it counts once.
    #[must_use]
    pub fn granted_terms(&self, response: &ApprovalResponse) -> Option<GrantTerms> {
        let ApprovalResponse::Approved { scope: GrantScope::Project, terms } = response else {
            return None;
        };
        let mut terms = terms.clone().unwrap_or_default();
        let choices = self.choices();
        let is_offered = |rule| choices.iter().any(|choice| choice.rules.contains(rule));
        let endless = terms.task && self.task.is_none();
        if choices.is_empty() || endless || !terms.rules.iter().all(is_offered) {
            return None;
        }
        if terms.rules.is_empty() {
            terms.rules.clone_from(&self.decision.always);
        }
        Some(terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What programs wrote and read before there were terms.
    #[test]
    fn a_yes_without_terms_reads_and_writes_as_before() {
        for scope in ["once", "session", "project"] {
            let text = format!(r#"{{"response":"approved","scope":"{scope}"}}"#);
            let response: ApprovalResponse = serde_json::from_str(&text).unwrap();
            assert!(matches!(response, ApprovalResponse::Approved { terms: None, .. }), "{text}");
            assert_eq!(serde_json::to_string(&response).unwrap(), text);
        }
    }
}
