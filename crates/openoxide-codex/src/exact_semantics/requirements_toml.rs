//! Rules of a `requirements.toml`, which an administrator adds to all other rules. They restrict
//! and never allow.
//!
//! Facts: Codex 0.169 and 0.145, observed. With an invalid file 0.169 does not start, or does not
//! start a conversation.

use serde::Deserialize;
use thiserror::Error;

use super::{
    dialect::CodexDialect,
    exec_policy::ExecPolicy,
    prefix_rule::{CodexDecision, PatternToken, PrefixPattern, PrefixRule},
};

/// The part of the file that is parsed. The rest contains other settings.
#[derive(Deserialize)]
struct ConfigRequirementsToml {
    rules: Option<RequirementsExecPolicyToml>,
}

#[derive(Deserialize)]
struct RequirementsExecPolicyToml {
    prefix_rules: Vec<RequirementsExecPolicyPrefixRuleToml>,
}

#[derive(Deserialize)]
struct RequirementsExecPolicyPrefixRuleToml {
    pattern: Vec<RequirementsExecPolicyPatternTokenToml>,
    decision: Option<RequirementsExecPolicyDecisionToml>,
    justification: Option<String>,
    #[serde(default)]
    canonical_matching: bool,
}

/// A pattern token. The type has Codex's name because a message contains it.
#[derive(Deserialize)]
struct RequirementsExecPolicyPatternTokenToml {
    token: Option<String>,
    any_of: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RequirementsExecPolicyDecisionToml {
    Allow,
    Prompt,
    PromptUser,
    Forbidden,
}

/// The reason for which Codex rejects a `requirements.toml`, with its message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequirementsError {
    /// The text is not TOML, or has values of unexpected types.
    #[error("failed to parse requirements layer {name}: {source}")]
    Toml {
        /// The name of the file in messages.
        name: String,
        /// The error of the parser.
        source: Box<toml::de::Error>,
    },
    /// The rules are invalid.
    #[error("invalid rules in requirements (set by {name}): rules {source}")]
    Rules {
        /// The name of the file in messages.
        name: String,
        /// The error in the rules.
        source: RuleListError,
    },
}

/// An error in the rules of a `requirements.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RuleListError {
    /// The list is empty.
    #[error("prefix_rules cannot be empty")]
    Empty,
    /// A rule is invalid.
    #[error("prefix_rule at index {index} {source}")]
    Rule {
        /// The index of the rule, from 0.
        index: usize,
        /// The error in the rule.
        source: ManagedRuleError,
    },
}

/// An error in one rule of a `requirements.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ManagedRuleError {
    /// The justification is blank.
    #[error("has an empty justification")]
    EmptyJustification,
    /// A token of the pattern is invalid.
    #[error("has an invalid pattern token at index {index}: {reason}")]
    InvalidToken {
        /// The index of the token, from 0.
        index: usize,
        /// The reason.
        reason: &'static str,
    },
    /// The pattern has no tokens.
    #[error("has an empty pattern")]
    EmptyPattern,
    /// The rule has no decision.
    #[error("is missing a decision")]
    MissingDecision,
    /// The rule has the decision `allow`. Contains the decisions that are permitted.
    #[error(
        "has decision 'allow', which is not permitted in requirements.toml: Codex merges these \
         rules with other config and uses the most restrictive result (use {0})"
    )]
    AllowNotPermitted(&'static str),
    /// The version of Codex does not know the decision `prompt-user`.
    #[error("has decision 'prompt-user', which this version does not know")]
    UnknownPromptUser,
}

impl ExecPolicy {
    /// Adds the rules of a `requirements.toml`. They are added last, so that their reason is
    /// reported if several reasons are equal.
    ///
    /// # Errors
    /// Returns Codex's message if Codex does not accept such a file. In that case no rule is added.
    pub fn add_requirements(
        &mut self,
        name: &str,
        text: &str,
        dialect: CodexDialect,
    ) -> Result<(), RequirementsError> {
        let read = parse_requirements(text, dialect).map_err(|source| RequirementsError::Toml {
            name: name.to_owned(),
            source: Box::new(source),
        })?;
        let Some(RequirementsExecPolicyToml { prefix_rules }) = read.rules else { return Ok(()) };
        let rules = collect_rules(prefix_rules, dialect)
            .map_err(|source| RequirementsError::Rules { name: name.to_owned(), source })?;
        rules.into_iter().for_each(|rule| self.rules.add(rule));
        Ok(())
    }
}

/// Parses a file. Errors contain the location in the text, and since 0.169 the location in the
/// tables instead.
fn parse_requirements(
    text: &str,
    dialect: CodexDialect,
) -> Result<ConfigRequirementsToml, toml::de::Error> {
    match dialect {
        CodexDialect::V0145 => toml::from_str(text),
        CodexDialect::V0169 => toml::from_str::<toml::Table>(text)?.try_into(),
    }
}

fn collect_rules(
    managed: Vec<RequirementsExecPolicyPrefixRuleToml>,
    dialect: CodexDialect,
) -> Result<Vec<PrefixRule>, RuleListError> {
    if managed.is_empty() {
        return Err(RuleListError::Empty);
    }
    let mut all = Vec::new();
    for (index, managed) in managed.into_iter().enumerate() {
        let rules = managed.into_prefix_rules(dialect);
        all.extend(rules.map_err(|source| RuleListError::Rule { index, source })?);
    }
    Ok(all)
}

impl RequirementsExecPolicyPrefixRuleToml {
    /// Returns one rule for each program that may be the first word.
    fn into_prefix_rules(self, dialect: CodexDialect) -> Result<Vec<PrefixRule>, ManagedRuleError> {
        let blank = |text: &String| text.trim().is_empty();
        if self.justification.as_ref().is_some_and(blank) {
            return Err(ManagedRuleError::EmptyJustification);
        }
        let mut tokens = Vec::new();
        for (index, token) in self.pattern.into_iter().enumerate() {
            let token = token.into_pattern_token();
            let wrong = |reason| ManagedRuleError::InvalidToken { index, reason };
            tokens.push(token.map_err(wrong)?);
        }
        let decision = Self::parse_decision(self.decision, dialect);
        let (first, rest) = tokens.split_first().ok_or(ManagedRuleError::EmptyPattern)?;
        let decision = decision?;
        let rule = |first: &String| PrefixRule {
            pattern: PrefixPattern {
                canonical_matching: self.canonical_matching && dialect != CodexDialect::V0145,
                first: first.clone(),
                rest: rest.to_vec(),
            },
            decision,
            justification: self.justification.clone(),
        };
        Ok(first.words().iter().map(rule).collect())
    }

    fn parse_decision(
        wanted: Option<RequirementsExecPolicyDecisionToml>,
        dialect: CodexDialect,
    ) -> Result<CodexDecision, ManagedRuleError> {
        match wanted {
            None => Err(ManagedRuleError::MissingDecision),
            Some(RequirementsExecPolicyDecisionToml::Allow) if dialect == CodexDialect::V0145 => {
                Err(ManagedRuleError::AllowNotPermitted("'prompt' or 'forbidden'"))
            }
            Some(RequirementsExecPolicyDecisionToml::Allow) => {
                Err(ManagedRuleError::AllowNotPermitted("'prompt', 'prompt-user', or 'forbidden'"))
            }
            Some(RequirementsExecPolicyDecisionToml::Prompt) => Ok(CodexDecision::Prompt),
            Some(RequirementsExecPolicyDecisionToml::PromptUser)
                if dialect == CodexDialect::V0145 =>
            {
                Err(ManagedRuleError::UnknownPromptUser)
            }
            Some(RequirementsExecPolicyDecisionToml::PromptUser) => Ok(CodexDecision::PromptUser),
            Some(RequirementsExecPolicyDecisionToml::Forbidden) => Ok(CodexDecision::Forbidden),
        }
    }
}

impl RequirementsExecPolicyPatternTokenToml {
    fn into_pattern_token(self) -> Result<PatternToken, &'static str> {
        let blank = |word: &String| word.trim().is_empty();
        match (self.token, self.any_of) {
            (Some(_), Some(_)) => Err("set either token or any_of, not both"),
            (None, None) => Err("set either token or any_of"),
            (Some(word), None) if blank(&word) => Err("token cannot be empty"),
            (Some(word), None) => Ok(PatternToken::Single(word)),
            (None, Some(words)) if words.is_empty() => Err("any_of cannot be empty"),
            (None, Some(words)) if words.iter().any(blank) => {
                Err("any_of cannot include empty tokens")
            }
            (None, Some(words)) => Ok(PatternToken::Alts(words)),
        }
    }
}

#[cfg(test)]
mod tests;
