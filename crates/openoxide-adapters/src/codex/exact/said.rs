//! What the calls of one rule file say, and what Codex does not take.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{
    example::{self, Examples},
    network::{self, NetworkRule},
    place::{Place, basename, normal},
    policy::Hosts,
    refusal::{Refusal, Unreadable},
    rule::{Decision, PatternToken, PrefixPattern, PrefixRule},
};

/// An argument of a call.
#[derive(Clone, Debug)]
pub enum Given {
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// Anything else, by the name of its type.
    Other(&'static str),
}

impl Given {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Other(kind) => kind,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns all texts of a list; what is none is told to `wrong`, by its type.
    fn texts(
        items: &[Self],
        wrong: impl Fn(&'static str) -> Refusal,
    ) -> Result<Vec<String>, Refusal> {
        items
            .iter()
            .map(|item| item.text().map(str::to_owned).ok_or_else(|| wrong(item.kind())))
            .collect()
    }
}

/// The arguments of `prefix_rule`.
#[derive(Clone, Debug, Default)]
pub struct PrefixCall<'a> {
    /// The first words of commands.
    pub pattern: Vec<Given>,
    /// What is said of them.
    pub decision: Option<&'a str>,
    /// Commands that the rule is about.
    pub matching: Vec<Given>,
    /// Commands that it is not about.
    pub not_matching: Vec<Given>,
    /// Why.
    pub justification: Option<&'a str>,
    /// Whether words are compared without regard to case.
    pub canonical_matching: bool,
}

/// The arguments of `network_rule`.
#[derive(Clone, Copy, Debug)]
pub struct NetworkCall<'a> {
    /// The host.
    pub host: &'a str,
    /// How it is reached.
    pub protocol: &'a str,
    /// What is said of it.
    pub decision: &'a str,
    /// Why.
    pub justification: Option<&'a str>,
}

/// What one file says, call by call, each with its place in the file as byte offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub(in crate::codex) prefixes: Vec<(Examples, Range<usize>)>,
    pub(in crate::codex) hosts: Hosts,
    pub(in crate::codex) network: Vec<(NetworkRule, Range<usize>)>,
}

impl Said {
    /// Returns what the files before this one say of programs, and nothing else.
    #[must_use]
    pub fn after(hosts: Hosts) -> Self {
        Self { hosts, ..Self::default() }
    }

    /// Takes a call of `prefix_rule`.
    ///
    /// # Errors
    /// With what is wrong in it.
    pub fn prefix(&mut self, call: &PrefixCall<'_>, at: Range<usize>) -> Result<(), Refusal> {
        let rules = call.rules()?;
        let matching = examples(&call.matching)?;
        self.prefixes
            .push((Examples { rules, matching, other: examples(&call.not_matching)? }, at));
        Ok(())
    }

    /// Takes a call of `host_executable`; it takes the place of an earlier one for the same name.
    ///
    /// # Errors
    /// With what is wrong in it.
    pub fn host(&mut self, name: &str, paths: &[Given]) -> Result<(), Refusal> {
        self.hosts.insert(name.to_owned(), places(name, paths)?);
        Ok(())
    }

    /// Takes a call of `network_rule`.
    ///
    /// # Errors
    /// With what is wrong in it.
    pub fn network(&mut self, call: &NetworkCall<'_>, at: Range<usize>) -> Result<(), Refusal> {
        network::protocol(call.protocol)?;
        let decision = network::decision(call.decision)?;
        let justification = because(call.justification)?;
        self.network
            .push((NetworkRule { host: network::host(call.host)?, decision, justification }, at));
        Ok(())
    }

    /// Checks all examples. That is done when the whole file was read.
    ///
    /// # Errors
    /// With the first that the rules of its call do not fit.
    pub fn check(&self, place: &Place<'_>) -> Result<(), Unreadable> {
        self.prefixes.iter().try_for_each(|(examples, at)| {
            examples.check(&self.hosts, place).map_err(|refusal| Unreadable {
                message: refusal.to_string(),
                reason: refusal.to_string(),
                span: Some(at.clone()),
            })
        })
    }
}

impl PrefixCall<'_> {
    /// Returns one rule for each program that may stand first.
    fn rules(&self) -> Result<Vec<PrefixRule>, Refusal> {
        let word = self.decision.unwrap_or("allow");
        let decision = Decision::of(word).ok_or_else(|| Refusal::Decision(word.to_owned()))?;
        let justification = because(self.justification)?;
        let tokens: Vec<_> = self.pattern.iter().map(token).collect::<Result<_, _>>()?;
        let (first, rest) = tokens
            .split_first()
            .ok_or_else(|| Refusal::Pattern("pattern cannot be empty".to_owned()))?;
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

fn because(justification: Option<&str>) -> Result<Option<String>, Refusal> {
    match justification {
        Some(blank) if blank.trim().is_empty() => {
            Err(Refusal::Rule("justification cannot be empty".to_owned()))
        }
        other => Ok(other.map(str::to_owned)),
    }
}

fn token(item: &Given) -> Result<PatternToken, Refusal> {
    let wrong = |what: &str, kind: &str| Refusal::Pattern(format!("{what} (got {kind})"));
    let items = match item {
        Given::Text(word) => return Ok(PatternToken::Single(word.clone())),
        Given::List(items) => items,
        Given::Other(kind) => {
            return Err(wrong("pattern element must be a string or list of strings", kind));
        }
    };
    let mut words =
        Given::texts(items, |kind| wrong("pattern alternative must be a string", kind))?;
    match words.len() {
        0 => Err(Refusal::Pattern("pattern alternatives cannot be empty".to_owned())),
        1 => Ok(PatternToken::Single(words.remove(0))),
        _ => Ok(PatternToken::Alts(words)),
    }
}

fn examples(items: &[Given]) -> Result<Vec<Vec<String>>, Refusal> {
    items.iter().map(one_example).collect()
}

fn one_example(item: &Given) -> Result<Vec<String>, Refusal> {
    let items = match item {
        Given::Text(text) => return example::words(text),
        Given::List(items) => items,
        Given::Other(kind) => {
            return Err(Refusal::ExampleOf("example must be a string or list of strings", kind));
        }
    };
    let words =
        Given::texts(items, |kind| Refusal::ExampleOf("example tokens must be strings", kind))?;
    if words.is_empty() {
        return Err(Refusal::Example("example cannot be an empty list"));
    }
    Ok(words)
}

/// Returns the paths of a program.
fn places(name: &str, paths: &[Given]) -> Result<Vec<String>, Refusal> {
    let wrong = |what: String| Refusal::Rule(format!("host_executable {what}"));
    if name.is_empty() {
        return Err(wrong("name cannot be empty".to_owned()));
    }
    if name.contains('/') || name == "." || name == ".." {
        return Err(wrong(format!("name must be a bare executable name (got {name})")));
    }
    let mut listed: Vec<String> = Vec::new();
    for path in paths {
        let path = path
            .text()
            .ok_or_else(|| wrong(format!("paths must be strings (got {})", path.kind())))?;
        let place = listed_place(name, path).map_err(wrong)?;
        if !listed.contains(&place) {
            listed.push(place);
        }
    }
    Ok(listed)
}

fn listed_place(name: &str, path: &str) -> Result<String, String> {
    if !path.starts_with('/') {
        return Err(format!("paths must be absolute (got {path})"));
    }
    let place = normal(path);
    if basename(&place) != Some(name) {
        return Err(format!("path `{path}` must have basename `{name}`"));
    }
    Ok(place)
}
