//! Rules of a `requirements.toml`, which an administrator adds to all others: they hold back, and never allow.
//!
//! Facts: Codex 0.169 and 0.145, observed. With a file that is wrong 0.169 does not start, or starts no conversation.

use serde::Deserialize;

use super::{
    dialect::Dialect,
    policy::Policy,
    rule::{Decision, PatternToken, PrefixPattern, PrefixRule},
};

/// What is read of the file; the rest is about other things.
#[derive(Deserialize)]
struct Requirements {
    rules: Option<Rules>,
}

#[derive(Deserialize)]
struct Rules {
    prefix_rules: Vec<Managed>,
}

#[derive(Deserialize)]
struct Managed {
    pattern: Vec<RequirementsExecPolicyPatternTokenToml>,
    decision: Option<Wanted>,
    justification: Option<String>,
    #[serde(default)]
    canonical_matching: bool,
}

/// Codex's own name for it stands in a message.
#[derive(Deserialize)]
struct RequirementsExecPolicyPatternTokenToml {
    token: Option<String>,
    any_of: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Wanted {
    Allow,
    Prompt,
    PromptUser,
    Forbidden,
}

const ALLOWS: &str = "has decision 'allow', which is not permitted in requirements.toml: Codex merges these rules with other \
    config and uses the most restrictive result";

impl Policy {
    /// Adds the rules of a `requirements.toml`. They come last, so that of several equal reasons theirs is told.
    ///
    /// # Errors
    /// Where Codex does not go on with such a file, in its words. Nothing is added then.
    pub fn require(&mut self, name: &str, text: &str, dialect: Dialect) -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| {
            format!("failed to parse requirements layer {name}: {error}")
        };
        let read: Requirements = read(text, dialect).map_err(|error| failed(&error))?;
        let Some(Rules { prefix_rules }) = read.rules else { return Ok(()) };
        let rules = rules(prefix_rules, dialect)
            .map_err(|why| format!("invalid rules in requirements (set by {name}): rules {why}"))?;
        rules.into_iter().for_each(|rule| self.rules.add(rule));
        Ok(())
    }
}

/// An error names the place in the text, and since 0.169 that in the tables.
fn read(text: &str, dialect: Dialect) -> Result<Requirements, toml::de::Error> {
    match dialect {
        Dialect::V0145 => toml::from_str(text),
        Dialect::V0169 => toml::from_str::<toml::Table>(text)?.try_into(),
    }
}

fn rules(managed: Vec<Managed>, dialect: Dialect) -> Result<Vec<PrefixRule>, String> {
    if managed.is_empty() {
        return Err("prefix_rules cannot be empty".to_owned());
    }
    let mut all = Vec::new();
    for (index, managed) in managed.into_iter().enumerate() {
        let rules = managed.rules(dialect);
        all.extend(rules.map_err(|why| format!("prefix_rule at index {index} {why}"))?);
    }
    Ok(all)
}

impl Managed {
    /// Returns one rule for each program that may stand first.
    fn rules(self, dialect: Dialect) -> Result<Vec<PrefixRule>, String> {
        let blank = |text: &String| text.trim().is_empty();
        if self.justification.as_ref().is_some_and(blank) {
            return Err("has an empty justification".to_owned());
        }
        let mut tokens = Vec::new();
        for (index, token) in self.pattern.into_iter().enumerate() {
            let token = token.read();
            let wrong = |why| format!("has an invalid pattern token at index {index}: {why}");
            tokens.push(token.map_err(wrong)?);
        }
        let decision = Self::decision(self.decision, dialect);
        let (first, rest) = tokens.split_first().ok_or("has an empty pattern")?;
        let decision = decision?;
        let rule = |first: &String| PrefixRule {
            pattern: PrefixPattern {
                canonical_matching: self.canonical_matching && dialect != Dialect::V0145,
                first: first.clone(),
                rest: rest.to_vec(),
            },
            decision,
            justification: self.justification.clone(),
        };
        Ok(first.words().iter().map(rule).collect())
    }

    fn decision(wanted: Option<Wanted>, dialect: Dialect) -> Result<Decision, String> {
        match wanted {
            None => Err("is missing a decision".to_owned()),
            Some(Wanted::Allow) if dialect == Dialect::V0145 => {
                Err(format!("{ALLOWS} (use 'prompt' or 'forbidden')"))
            }
            Some(Wanted::Allow) => {
                Err(format!("{ALLOWS} (use 'prompt', 'prompt-user', or 'forbidden')"))
            }
            Some(Wanted::Prompt) => Ok(Decision::Prompt),
            Some(Wanted::PromptUser) if dialect == Dialect::V0145 => {
                Err("has decision 'prompt-user', which this version does not know".to_owned())
            }
            Some(Wanted::PromptUser) => Ok(Decision::PromptUser),
            Some(Wanted::Forbidden) => Ok(Decision::Forbidden),
        }
    }
}

impl RequirementsExecPolicyPatternTokenToml {
    fn read(self) -> Result<PatternToken, &'static str> {
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
