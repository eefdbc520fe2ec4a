//! The engine's answer to one operation.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Access, Cause, Finding};

/// The effect of a rule or of a decision. Effects are ordered, and the strictest one is the
/// greatest.
#[doc(alias = "PermissionAction")]
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The access is allowed.
    Allow,
    /// A person is asked.
    Ask,
    /// The access is denied.
    Deny,
}

impl Effect {
    /// Returns the name that policies use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A reference to a rule: its location and its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleRef {
    /// The name of the layer: `managed`, `cli`, `local`, `project`, `user` or `default`.
    pub layer: String,
    /// The file that contains the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The effect and the rule, as in `ask Bash(git push *)`.
    pub text: String,
    /// The reason that the author of the rule gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A rule that matched and did not decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverriddenRule {
    /// The rule.
    pub rule: RuleRef,
    /// The reason why the rule did not decide.
    #[serde(alias = "why")]
    pub reason: String,
}

/// The decision on one access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessDecision {
    /// The access that was checked.
    #[serde(flatten)]
    pub access: Access,
    /// The effect on the access.
    pub decision: Effect,
    /// The rule that decided. Absent if a default, the mode or the safety floor decided.
    pub rule: Option<RuleRef>,
    /// The reason, for a person: one sentence in lower case, without a full stop.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The effect that made a question, a denial or the sandbox necessary. Absent if the access is
    /// allowed without the sandbox, or if nothing is known about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The rules that matched and did not decide. Only explanations contain them.
    #[serde(default, alias = "lost", skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<OverriddenRule>,
}

impl AccessDecision {
    /// Returns the reason of an access that no rule matches, if nothing else is known about it.
    #[must_use]
    pub fn unmatched_reason(summary: &str) -> String {
        format!("no rule matches `{summary}`")
    }

    /// Returns whether the access is only asked for because no rule matches it.
    #[must_use]
    pub fn is_unmatched(&self) -> bool {
        self.decision == Effect::Ask
            && self.rule.is_none()
            && self.reason == Self::unmatched_reason(self.access.summary())
    }
}

/// A condition of an allow decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Obligation {
    /// The operation is recorded in the audit log.
    Audit,
    /// The sandbox confines the command. A program that cannot confine it has to ask.
    #[serde(alias = "confine")]
    Sandboxed,
    /// A person has approved exactly this operation. An approval by a mode, a hook or a grant is
    /// not sufficient.
    Human,
}

/// An obligation, in the current or in the former format of records.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredObligation {
    Name(Obligation),
    Object { obligation: Obligation },
}

fn deserialize_obligations<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Obligation>, D::Error> {
    let stored = Vec::<StoredObligation>::deserialize(deserializer)?;
    let current = stored.into_iter().map(|stored| match stored {
        StoredObligation::Name(obligation) | StoredObligation::Object { obligation } => obligation,
    });
    Ok(current.collect())
}

/// The engine's answer to one operation, with its reasons.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// The strictest effect among the parts.
    #[serde(rename = "decision")]
    pub effect: Effect,
    /// The reason, for a person: one sentence, without a full stop.
    pub reason: String,
    /// The rule that decided. Absent if a default, the mode or the safety floor decided.
    pub rule: Option<RuleRef>,
    /// The decision on each access.
    pub parts: Vec<AccessDecision>,
    /// The findings of the analysis.
    pub findings: Vec<Finding>,
    /// The rules that "always" would add. Empty if nothing may be remembered.
    #[serde(rename = "always")]
    pub suggested_rules: Vec<String>,
    /// The conditions of an allow decision.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "deserialize_obligations"
    )]
    pub obligations: Vec<Obligation>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Earlier versions wrote `lost` and `why`.
    #[test]
    fn overridden_rules_with_old_names_are_read() {
        let rule = r#"{"layer":"user","text":"allow Bash"}"#;
        let old = format!(
            r#"{{"access":"call_tool","tool":"x","decision":"ask","rule":null,
                "lost":[{{"rule":{rule},"why":"a stricter rule matches"}}]}}"#
        );
        let part: AccessDecision = serde_json::from_str(&old).unwrap();
        assert_eq!(part.overridden[0].reason, "a stricter rule matches");
        let json = serde_json::to_value(&part).unwrap();
        assert_eq!(json["overridden"][0]["reason"], "a stricter rule matches");
        assert_eq!((json.get("lost"), json["overridden"][0].get("why")), (None, None));
    }

    /// These names are stable, because other programs read them.
    #[test]
    fn names_that_are_fixed_stay() {
        let repetition = Access::Repetition { tool: "x".to_owned() };
        let json = serde_json::to_string(&repetition).unwrap();
        assert_eq!(json, r#"{"access":"doom_loop","tool":"x"}"#);
        let decision = Decision {
            effect: Effect::Ask,
            reason: String::new(),
            rule: None,
            parts: Vec::new(),
            findings: Vec::new(),
            suggested_rules: vec!["Bash(x)".to_owned()],
            obligations: Vec::new(),
        };
        let json = serde_json::to_value(&decision).unwrap();
        assert_eq!((&json["decision"], &json["always"][0]), (&"ask".into(), &"Bash(x)".into()));
    }
}
