//! Rules about the first words of a command, and their matches.
//!
//! The names of types and fields are Codex's own: its messages show rules in Rust's `Debug` form.

use std::fmt;

use caseless::canonical_caseless_match_str;
use serde::{Deserialize, Serialize};

/// The decision of a rule. The greatest decision of all matching rules applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodexDecision {
    /// The command runs.
    Allow,
    /// A person is asked.
    Prompt,
    /// A person is asked, even if something else could answer. Only an administrator can set this
    /// decision.
    PromptUser,
    /// The command does not run.
    Forbidden,
}

impl CodexDecision {
    /// Parses the decision of a rule in a rule file.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "allow" => Self::Allow,
            "prompt" => Self::Prompt,
            "forbidden" => Self::Forbidden,
            _ => return None,
        })
    }
}

/// The words that are possible at one position after the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PatternToken {
    /// Exactly one word.
    Single(String),
    /// One of several words.
    Alts(Vec<String>),
}

impl PatternToken {
    /// Returns the words that are possible at this position.
    #[must_use]
    pub fn words(&self) -> &[String] {
        match self {
            Self::Single(word) => std::slice::from_ref(word),
            Self::Alts(words) => words,
        }
    }
}

/// The first words of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixPattern {
    /// True if words are compared without regard to case and to the composition of characters.
    pub canonical_matching: bool,
    /// The program.
    pub first: String,
    /// The patterns of the words after the program.
    pub rest: Vec<PatternToken>,
}

impl PrefixPattern {
    /// Returns whether a word of a command equals a word of the pattern.
    pub(super) fn words_equal(&self, pattern: &str, word: &str) -> bool {
        pattern == word || self.canonical_matching && canonical_caseless_match_str(pattern, word)
    }

    /// Returns whether a command matches, with the program compared as written.
    pub(crate) fn matches(&self, program: &str, arguments: &[String]) -> bool {
        self.words_equal(&self.first, program) && self.rest_matches(arguments)
    }

    /// Returns whether the arguments match the rest of the pattern. The program itself has already
    /// been compared.
    fn rest_matches(&self, arguments: &[String]) -> bool {
        let fits = |(token, word): (&PatternToken, &String)| {
            token.words().iter().any(|pattern| self.words_equal(pattern, word))
        };
        arguments.len() >= self.rest.len() && self.rest.iter().zip(arguments).all(fits)
    }
}

/// A rule about commands that begin with some words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixRule {
    /// The first words of the commands.
    pub pattern: PrefixPattern,
    /// The decision about these commands.
    pub decision: CodexDecision,
    /// The justification of the rule.
    pub justification: Option<String>,
}

impl PrefixRule {
    /// Returns the rule that allows commands with this prefix.
    pub(super) fn new_allow(prefix: &[String]) -> Option<Self> {
        let (first, rest) = prefix.split_first()?;
        let rest = rest.iter().cloned().map(PatternToken::Single).collect();
        let pattern = PrefixPattern { canonical_matching: false, first: first.clone(), rest };
        Some(Self { pattern, decision: CodexDecision::Allow, justification: None })
    }

    /// Returns the match with a command whose first word is `program`. The program itself has
    /// already been compared.
    pub(super) fn to_match(
        &self,
        program: &str,
        arguments: &[String],
        resolved: Option<&AbsolutePathBuf>,
    ) -> Option<PrefixRuleMatch> {
        if !self.pattern.rest_matches(arguments) {
            return None;
        }
        let words = arguments.iter().take(self.pattern.rest.len()).cloned();
        Some(PrefixRuleMatch {
            matched_prefix: std::iter::once(program.to_owned()).chain(words).collect(),
            decision: self.decision,
            resolved_program: resolved.cloned(),
            justification: self.justification.clone(),
        })
    }
}

/// A rule that matched a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PrefixRuleMatch {
    /// The words that matched, as written in the command.
    pub matched_prefix: Vec<String>,
    /// The decision of the rule.
    pub decision: CodexDecision,
    /// The path of the program, if the rule is about its name and the command gives a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_program: Option<AbsolutePathBuf>,
    /// The justification of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
}

/// An absolute path without `.` and `..`.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct AbsolutePathBuf(pub(super) String);

impl fmt::Debug for AbsolutePathBuf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("AbsolutePathBuf").field(&std::path::Path::new(&self.0)).finish()
    }
}
