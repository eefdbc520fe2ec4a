//! The contents of one rule file, call by call, and the errors for which Codex rejects it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{
    launch_context::{LaunchContext, basename, normalize_path},
    network_rules::{self, NetworkRule},
    prefix_rule::{CodexDecision, PatternToken, PrefixPattern, PrefixRule},
    prefix_rule_index::HostExecutables,
    rule_errors::{RuleCallError, RuleFileError},
    rule_examples::{self, RuleExamples},
};

/// An argument of a call.
#[derive(Clone, Debug)]
pub enum RuleArgument {
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// A value of another type. Contains the name of the type.
    Other(&'static str),
}

impl RuleArgument {
    const fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Other(kind) => kind,
        }
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns all strings of a list. `wrong` creates the error for an item of another type from
    /// the name of that type.
    fn collect_texts(
        items: &[Self],
        wrong: impl Fn(&'static str) -> RuleCallError,
    ) -> Result<Vec<String>, RuleCallError> {
        items
            .iter()
            .map(|item| item.as_text().map(str::to_owned).ok_or_else(|| wrong(item.type_name())))
            .collect()
    }
}

/// The arguments of `prefix_rule`.
#[derive(Clone, Debug, Default)]
pub struct PrefixRuleCall<'a> {
    /// The first words of the commands.
    pub pattern: Vec<RuleArgument>,
    /// The decision about these commands.
    pub decision: Option<&'a str>,
    /// Commands that the rule must match.
    pub matching: Vec<RuleArgument>,
    /// Commands that the rule must not match.
    pub not_matching: Vec<RuleArgument>,
    /// The justification of the rule.
    pub justification: Option<&'a str>,
    /// True if words are compared without regard to case.
    pub canonical_matching: bool,
}

/// The arguments of `network_rule`.
#[derive(Clone, Copy, Debug)]
pub struct NetworkRuleCall<'a> {
    /// The host.
    pub host: &'a str,
    /// The protocol by which the host is reached.
    pub protocol: &'a str,
    /// The decision about the host.
    pub decision: &'a str,
    /// The justification of the rule.
    pub justification: Option<&'a str>,
}

/// The contents of one rule file, call by call. Each rule has its location as byte offsets in the
/// file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParsedRuleFile {
    pub(crate) prefix_rules: Vec<(RuleExamples, Range<usize>)>,
    pub(crate) host_executables: HostExecutables,
    pub(crate) network_rules: Vec<(NetworkRule, Range<usize>)>,
}

impl ParsedRuleFile {
    /// Returns a file that contains only the program paths of the files before it.
    #[must_use]
    pub fn with_host_executables(host_executables: HostExecutables) -> Self {
        Self { host_executables, ..Self::default() }
    }

    /// Adds a call of `prefix_rule`.
    ///
    /// # Errors
    /// Returns the error in the call.
    pub fn add_prefix_rule(
        &mut self,
        call: &PrefixRuleCall<'_>,
        at: Range<usize>,
    ) -> Result<(), RuleCallError> {
        let rules = call.to_prefix_rules()?;
        let matching = parse_examples(&call.matching)?;
        self.prefix_rules.push((
            RuleExamples { rules, matching, not_matching: parse_examples(&call.not_matching)? },
            at,
        ));
        Ok(())
    }

    /// Adds a call of `host_executable`. It replaces an earlier call for the same name.
    ///
    /// # Errors
    /// Returns the error in the call.
    pub fn add_host_executable(
        &mut self,
        name: &str,
        paths: &[RuleArgument],
    ) -> Result<(), RuleCallError> {
        self.host_executables.insert(name.to_owned(), parse_program_paths(name, paths)?);
        Ok(())
    }

    /// Adds a call of `network_rule`.
    ///
    /// # Errors
    /// Returns the error in the call.
    pub fn add_network_rule(
        &mut self,
        call: &NetworkRuleCall<'_>,
        at: Range<usize>,
    ) -> Result<(), RuleCallError> {
        network_rules::parse_protocol(call.protocol)?;
        let decision = network_rules::parse_decision(call.decision)?;
        let justification = parse_justification(call.justification)?;
        self.network_rules.push((
            NetworkRule {
                host: network_rules::normalize_host(call.host)?,
                decision,
                justification,
            },
            at,
        ));
        Ok(())
    }

    /// Checks all examples, after the whole file has been read.
    ///
    /// # Errors
    /// Returns an error for the first example that contradicts the rules of its call.
    pub fn check_examples(&self, place: &LaunchContext<'_>) -> Result<(), RuleFileError> {
        self.prefix_rules.iter().try_for_each(|(examples, at)| {
            examples.check(&self.host_executables, place).map_err(|refusal| RuleFileError {
                message: refusal.to_string(),
                reason: refusal.to_string(),
                span: Some(at.clone()),
            })
        })
    }
}

impl PrefixRuleCall<'_> {
    /// Returns one rule for each program that may be the first word.
    fn to_prefix_rules(&self) -> Result<Vec<PrefixRule>, RuleCallError> {
        let word = self.decision.unwrap_or("allow");
        let decision =
            CodexDecision::parse(word).ok_or_else(|| RuleCallError::Decision(word.to_owned()))?;
        let justification = parse_justification(self.justification)?;
        let tokens: Vec<_> = self.pattern.iter().map(parse_token).collect::<Result<_, _>>()?;
        let (first, rest) = tokens
            .split_first()
            .ok_or_else(|| RuleCallError::Pattern("pattern cannot be empty".to_owned()))?;
        let rule = |first: &String| PrefixRule {
            pattern: PrefixPattern {
                canonical_matching: self.canonical_matching,
                first: first.clone(),
                rest: rest.to_vec(),
            },
            decision,
            justification: justification.clone(),
        };
        Ok(first.words().iter().map(rule).collect())
    }
}

fn parse_justification(justification: Option<&str>) -> Result<Option<String>, RuleCallError> {
    match justification {
        Some(blank) if blank.trim().is_empty() => {
            Err(RuleCallError::Rule("justification cannot be empty".to_owned()))
        }
        other => Ok(other.map(str::to_owned)),
    }
}

fn parse_token(item: &RuleArgument) -> Result<PatternToken, RuleCallError> {
    let wrong = |what: &str, kind: &str| RuleCallError::Pattern(format!("{what} (got {kind})"));
    let items = match item {
        RuleArgument::Text(word) => return Ok(PatternToken::Single(word.clone())),
        RuleArgument::List(items) => items,
        RuleArgument::Other(kind) => {
            return Err(wrong("pattern element must be a string or list of strings", kind));
        }
    };
    let mut words = RuleArgument::collect_texts(items, |kind| {
        wrong("pattern alternative must be a string", kind)
    })?;
    match words.len() {
        0 => Err(RuleCallError::Pattern("pattern alternatives cannot be empty".to_owned())),
        1 => Ok(PatternToken::Single(words.remove(0))),
        _ => Ok(PatternToken::Alts(words)),
    }
}

fn parse_examples(items: &[RuleArgument]) -> Result<Vec<Vec<String>>, RuleCallError> {
    items.iter().map(parse_example).collect()
}

fn parse_example(item: &RuleArgument) -> Result<Vec<String>, RuleCallError> {
    let items = match item {
        RuleArgument::Text(text) => return rule_examples::split_example(text),
        RuleArgument::List(items) => items,
        RuleArgument::Other(kind) => {
            return Err(RuleCallError::ExampleType(
                "example must be a string or list of strings",
                kind,
            ));
        }
    };
    let words = RuleArgument::collect_texts(items, |kind| {
        RuleCallError::ExampleType("example tokens must be strings", kind)
    })?;
    if words.is_empty() {
        return Err(RuleCallError::Example("example cannot be an empty list"));
    }
    Ok(words)
}

fn host_executable_error(what: &str) -> RuleCallError {
    RuleCallError::Rule(format!("host_executable {what}"))
}

/// Parses the paths of a program.
fn parse_program_paths(name: &str, paths: &[RuleArgument]) -> Result<Vec<String>, RuleCallError> {
    let wrong = host_executable_error;
    if name.is_empty() {
        return Err(wrong("name cannot be empty"));
    }
    if name.contains('/') || name == "." || name == ".." {
        return Err(wrong(&format!("name must be a bare executable name (got {name})")));
    }
    let mut listed: Vec<String> = Vec::new();
    for path in paths {
        let path = path
            .as_text()
            .ok_or_else(|| wrong(&format!("paths must be strings (got {})", path.type_name())))?;
        let place = parse_program_path(name, path)?;
        if !listed.contains(&place) {
            listed.push(place);
        }
    }
    Ok(listed)
}

fn parse_program_path(name: &str, path: &str) -> Result<String, RuleCallError> {
    if !path.starts_with('/') {
        return Err(host_executable_error(&format!("paths must be absolute (got {path})")));
    }
    let place = normalize_path(path);
    if basename(&place) != Some(name) {
        let what = format!("path `{path}` must have basename `{name}`");
        return Err(host_executable_error(&what));
    }
    Ok(place)
}
