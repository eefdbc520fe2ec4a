//! The choices for "always": the suggested rules, narrower and wider ones, and how long they are
//! valid.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::AbsPath;

/// The breadth of a choice, compared with the rules that "always" suggests.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RuleBreadth {
    /// The rules that match exactly these commands.
    Narrower,
    /// The rules of [`crate::Decision::suggested_rules`].
    #[serde(alias = "as_offered")]
    Suggested,
    /// The rules with one word less.
    Wider,
}

/// One set of rules that a project grant can save. Each set answers the whole request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleChoice {
    /// The breadth, compared with the suggestion.
    #[serde(alias = "width")]
    pub breadth: RuleBreadth,
    /// The complete list of rules.
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
    /// Other commands that the choice would have allowed, most frequent first. They come from
    /// agents. Escape them before showing them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

/// The terms of a project grant: the rules that it saves and their limits. By default, it saves the
/// suggested rules permanently.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantTerms {
    /// The rules. Each one must be among those of [`crate::ApprovalRequest::choices`]. An empty
    /// list selects the suggested rules.
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
    /// True if the rules end with the task of the request ([`crate::ApprovalRequest::task`]).
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Earlier versions wrote the old names.
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
