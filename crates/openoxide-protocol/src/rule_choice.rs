//! The choices for "always": the suggested rules, narrower ones, wider ones, and how long they are
//! kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AbsPath, ApprovalRequest, ApprovalResponse, GrantScope};

/// The breadth of a choice, compared with the rules that "always" suggests.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RuleBreadth {
    /// Exactly these commands.
    Narrower,
    /// The rules of [`crate::Decision::suggested_rules`].
    #[serde(alias = "as_offered")]
    Suggested,
    /// A word less.
    Wider,
}

/// One set of rules that a project grant can save. Each set answers the whole request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleChoice {
    /// The breadth, compared with the suggestion.
    #[serde(alias = "width")]
    pub breadth: RuleBreadth,
    /// The rules, all of them.
    pub rules: Vec<String>,
}

/// The questions that a choice would have answered in the past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChoiceHistory {
    /// The number of questions that would not have been asked.
    #[serde(alias = "answers")]
    pub would_have_answered: u32,
    /// The total number of questions.
    #[serde(alias = "of")]
    pub total: u32,
    /// Other commands that it would have allowed, the most frequent first. They come from agents: who shows them escapes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

/// The terms of a project grant: the rules that it saves and their limits. By default, it saves the
/// suggested rules permanently.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantTerms {
    /// The rules. Each one must be among those of [`ApprovalRequest::choices`]. An empty list
    /// selects the suggested rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The number of seconds after which the rules expire.
    #[serde(default, alias = "seconds", skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
    /// The number of decisions for which the rules are valid.
    #[serde(default, alias = "times", skip_serializing_if = "Option::is_none")]
    pub max_uses: Option<u32>,
    /// The directory that limits the rules to commands that run in it or below it.
    #[serde(default, alias = "below", skip_serializing_if = "Option::is_none")]
    pub directory: Option<AbsPath>,
    /// True if the rules end with the task of the request ([`ApprovalRequest::task`]).
    #[serde(default, alias = "task", skip_serializing_if = "is_false")]
    pub until_task_end: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
const fn is_false(set: &bool) -> bool {
    !*set
}

impl GrantTerms {
    /// Returns whether the terms contain any limit.
    #[must_use]
    pub const fn has_limits(&self) -> bool {
        self.until_task_end
            || self.expires_in_seconds.is_some()
            || self.max_uses.is_some()
            || self.directory.is_some()
    }
}

impl ApprovalRequest {
    /// Returns the choices for a project grant, the narrowest first. The list is empty if the
    /// request requires explicit approval.
    #[must_use]
    pub fn choices(&self) -> Vec<RuleChoice> {
        if self.requires_explicit_approval || self.decision.suggested_rules.is_empty() {
            return Vec::new();
        }
        let offered = RuleChoice {
            breadth: RuleBreadth::Suggested,
            rules: self.decision.suggested_rules.clone(),
        };
        let mut choices = self.alternatives.clone();
        choices.retain(|choice| choice.breadth != RuleBreadth::Suggested);
        choices.push(offered);
        choices.sort_by_key(|choice| choice.breadth);
        choices
    }

    /// Returns which of the choices these rules are, if they are one.
    #[must_use]
    pub fn choice_breadth(&self, rules: &[String]) -> Option<RuleBreadth> {
        self.choices().into_iter().find(|choice| choice.rules == rules).map(|choice| choice.breadth)
    }

    /// Returns the terms of the project grant in a response.
    ///
    /// Returns `None` if the response is not such an approval, if it names a rule that is not among
    /// the choices, or if it is limited to a task whose end cannot be detected. The approval is
    /// then valid once.
    #[must_use]
    pub fn granted_terms(&self, response: &ApprovalResponse) -> Option<GrantTerms> {
        let ApprovalResponse::Approved { scope: GrantScope::Project, terms } = response else {
            return None;
        };
        let mut terms = terms.clone().unwrap_or_default();
        let choices = self.choices();
        let is_offered = |rule| choices.iter().any(|choice| choice.rules.contains(rule));
        let endless = terms.until_task_end && self.task.is_none();
        if choices.is_empty() || endless || !terms.rules.iter().all(is_offered) {
            return None;
        }
        if terms.rules.is_empty() {
            terms.rules.clone_from(&self.decision.suggested_rules);
        }
        Some(terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The JSON of responses without terms is the same as before terms were introduced.
    #[test]
    fn an_approval_without_terms_keeps_its_json_form() {
        for scope in ["once", "session", "project"] {
            let text = format!(r#"{{"response":"approved","scope":"{scope}"}}"#);
            let response: ApprovalResponse = serde_json::from_str(&text).unwrap();
            assert!(matches!(response, ApprovalResponse::Approved { terms: None, .. }), "{text}");
            assert_eq!(serde_json::to_string(&response).unwrap(), text);
        }
    }

    /// The old names are those that the program wrote before.
    #[test]
    fn old_names_are_read_and_new_names_are_written() {
        let old = r#"{"rules":["Bash(a)"],"seconds":60,"times":5,"below":"/p","task":true}"#;
        let terms: GrantTerms = serde_json::from_str(old).unwrap();
        let expected = GrantTerms {
            rules: vec!["Bash(a)".to_owned()],
            expires_in_seconds: Some(60),
            max_uses: Some(5),
            directory: Some(AbsPath::new("/p").unwrap()),
            until_task_end: true,
        };
        assert_eq!(terms, expected);
        let new = concat!(
            r#"{"rules":["Bash(a)"],"expires_in_seconds":60,"max_uses":5,"directory":"/p","#,
            r#""until_task_end":true}"#
        );
        assert_eq!(serde_json::to_string(&terms).unwrap(), new);
        assert_eq!(serde_json::from_str::<GrantTerms>(new).unwrap(), terms);

        let choice: RuleChoice =
            serde_json::from_str(r#"{"width":"as_offered","rules":[]}"#).unwrap();
        assert_eq!(choice, RuleChoice { breadth: RuleBreadth::Suggested, rules: Vec::new() });
        let new = r#"{"breadth":"suggested","rules":[]}"#;
        assert_eq!(serde_json::to_string(&choice).unwrap(), new);

        let history: ChoiceHistory = serde_json::from_str(r#"{"answers":1,"of":3}"#).unwrap();
        assert_eq!((history.would_have_answered, history.total), (1, 3));
    }
}
