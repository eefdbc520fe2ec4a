//! Calls to rules: what each of the three functions takes.

use std::{collections::BTreeMap, ops::Range};

use openoxide_permission::{Anchors, pattern::command};
use openoxide_protocol::Effect;

use super::{
    calls::{Call, Kind, Value, calls},
    exact::{Language, NETWORK, PREFIX},
    lexer::ONLY_CALLS,
};
use crate::foreign::Fault;

const FUNCTIONS: &[&str] = &["prefix_rule", "host_executable", "network_rule"];

/// A rule about the first words of a command; for each place the words that may stand there.
#[derive(Clone, Debug)]
pub(super) struct PrefixRule {
    pub(super) pattern: Vec<Vec<String>>,
    pub(super) effect: Effect,
    pub(super) reason: Option<String>,
    pub(super) folds: bool,
    pub(super) span: Range<usize>,
    pub(super) examples: Vec<(Vec<String>, bool, Range<usize>)>,
}

/// A rule about a host.
#[derive(Clone, Debug)]
pub(super) struct NetworkRule {
    pub(super) host: String,
    pub(super) effect: Effect,
    pub(super) reason: Option<String>,
    pub(super) span: Range<usize>,
}

/// What a file says.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) prefixes: Vec<PrefixRule>,
    /// Where a program may lie, if anything is said of it.
    pub(super) hosts: BTreeMap<String, Vec<String>>,
    pub(super) network: Vec<NetworkRule>,
}

impl Rules {
    /// Reads a file. What is more than plain calls is evaluated.
    ///
    /// # Errors
    /// Everything for which Codex leaves the file out.
    pub(super) fn read(
        file: &str,
        source: &str,
        anchors: Anchors<'_>,
        language: Language,
    ) -> Result<Self, Vec<Fault>> {
        let known = |call: &Call| FUNCTIONS.contains(&call.function.as_str());
        match calls(source) {
            Ok(calls) if calls.iter().all(known) => Self::of(&calls),
            _ => super::evaluated::rules(file, source, anchors, language),
        }
    }

    /// Takes plain calls. Examples are checked when all of it is known, as in Codex.
    ///
    /// # Errors
    /// Everything for which Codex leaves the file out, as far as it is understood.
    pub(super) fn of(calls: &[Call]) -> Result<Self, Vec<Fault>> {
        let (mut rules, mut faults) = (Self::default(), Vec::new());
        for call in calls {
            faults.extend(rules.call(call).err());
        }
        for rule in &rules.prefixes {
            faults.extend(rule.examples.iter().filter_map(|example| rules.wrong(rule, example)));
        }
        if faults.is_empty() { Ok(rules) } else { Err(faults) }
    }

    fn call(&mut self, call: &Call) -> Result<(), Fault> {
        match call.function.as_str() {
            "prefix_rule" => self.prefixes.push(prefix_rule(call)?),
            "host_executable" => {
                let (name, paths) = host_executable(call)?;
                self.hosts.insert(name, paths);
            }
            "network_rule" => self.network.push(network_rule(call)?),
            other => {
                let fault = Fault::new(format!("nothing is called `{other}`"), call.span.clone());
                return Err(fault.help(ONLY_CALLS));
            }
        }
        Ok(())
    }

    fn wrong(
        &self,
        rule: &PrefixRule,
        (words, wanted, span): &(Vec<String>, bool, Range<usize>),
    ) -> Option<Fault> {
        let found = rule.matches(words) || self.resolves(rule, words);
        let does = if *wanted { "does not match" } else { "matches" };
        let message = format!("the rule {does} its example `{}`", words.join(" "));
        (found != *wanted).then(|| Fault::new(message, span.clone()))
    }

    /// Says whether a rule about a program's name is about the program at this path.
    fn resolves(&self, rule: &PrefixRule, words: &[String]) -> bool {
        let Some((program, rest)) = words.split_first() else { return false };
        let Some((_, name)) = program.rsplit_once('/') else { return false };
        let listed = self.hosts.get(name).is_none_or(|paths| paths.contains(program));
        let named: Vec<String> = std::iter::once(name.to_owned()).chain(rest.to_vec()).collect();
        listed && rule.matches(&named)
    }
}

impl PrefixRule {
    fn matches(&self, words: &[String]) -> bool {
        let same = |a: &String, b: &String| {
            if self.folds { a.to_lowercase() == b.to_lowercase() } else { a == b }
        };
        let fits = |(some, word): (&Vec<String>, &String)| some.iter().any(|one| same(one, word));
        words.len() >= self.pattern.len() && self.pattern.iter().zip(words).all(fits)
    }
}

/// Sorts arguments by the names that a function knows, in the order in which they may stand without one.
pub(super) fn named<'c>(call: &'c Call, names: &[&str]) -> Result<Vec<Option<&'c Value>>, Fault> {
    let mut found: Vec<Option<&Value>> = vec![None; names.len()];
    let mut by_name = false;
    for (at, (name, value)) in call.arguments.iter().enumerate() {
        let wrong = |what: &str| Err(Fault::new(what, value.span.clone()));
        by_name |= name.is_some();
        let place = match name {
            None if by_name => {
                return wrong("an argument without a name stands behind one with a name");
            }
            None => at,
            Some(name) => names.iter().position(|known| known == name).unwrap_or(usize::MAX),
        };
        match found.get_mut(place) {
            Some(free @ None) => *free = Some(value),
            Some(Some(_)) => return wrong("this argument is given twice"),
            None => {
                let known = names.join("`, `");
                let what = name.as_deref().unwrap_or("this");
                let message = format!("`{}` takes no argument `{what}`", call.function);
                return Err(
                    Fault::new(message, value.span.clone()).help(format!("known are `{known}`"))
                );
            }
        }
    }
    Ok(found)
}

fn prefix_rule(call: &Call) -> Result<PrefixRule, Fault> {
    let found = named(call, &PREFIX)?;
    let [pattern, decision, yes, no, reason, folds] = found.as_slice() else {
        return Err(Fault::new("the rule has too many arguments", call.span.clone()));
    };
    let pattern =
        pattern.ok_or_else(|| Fault::new("the rule has no `pattern`", call.span.clone()))?;
    let mut examples = Vec::new();
    for (list, wanted) in [(no, false), (yes, true)] {
        for item in list.map(items).transpose()?.unwrap_or_default() {
            examples.push((example(item)?, wanted, item.span.clone()));
        }
    }
    Ok(PrefixRule {
        pattern: places(pattern)?,
        effect: decision.map_or(Ok(Effect::Allow), decided)?,
        reason: reason.map(justification).transpose()?,
        folds: folds.map_or(Ok(false), truth)?,
        span: call.span.clone(),
        examples,
    })
}

fn host_executable(call: &Call) -> Result<(String, Vec<String>), Fault> {
    let found = named(call, &["name", "paths"])?;
    let [Some(name), Some(paths)] = found.as_slice() else {
        return Err(Fault::new("`host_executable` takes `name` and `paths`", call.span.clone()));
    };
    let bare = text(name)?;
    if bare.is_empty() || bare.contains('/') {
        return Err(Fault::new("the name of a program holds no `/`", name.span.clone()));
    }
    let mut listed = Vec::new();
    for path in items(paths)? {
        let there = text(path)?;
        if !there.starts_with('/') || there.rsplit('/').next() != Some(bare) {
            let message = format!("this is no absolute path of `{bare}`");
            return Err(Fault::new(message, path.span.clone()));
        }
        listed.push(there.to_owned());
    }
    Ok((bare.to_owned(), listed))
}

fn network_rule(call: &Call) -> Result<NetworkRule, Fault> {
    const PROTOCOLS: &[&str] =
        &["http", "https", "socks5_tcp", "socks5_udp", "https_connect", "http-connect"];
    let found = named(call, &NETWORK)?;
    let [Some(host), Some(protocol), Some(decision), reason] = found.as_slice() else {
        let what = "`network_rule` takes `host`, `protocol` and `decision`";
        return Err(Fault::new(what, call.span.clone()));
    };
    if !PROTOCOLS.contains(&text(protocol)?) {
        return Err(Fault::new("this is no protocol", protocol.span.clone())
            .help(format!("known are `{}`", PROTOCOLS.join("`, `"))));
    }
    let effect = if text(decision)? == "deny" { Effect::Deny } else { decided(decision)? };
    let host =
        bare_host(text(host)?).ok_or_else(|| Fault::new("this is no host", host.span.clone()))?;
    let reason = reason.map(justification).transpose()?;
    Ok(NetworkRule { host, effect, reason, span: call.span.clone() })
}

/// Returns a host without its port.
fn bare_host(text: &str) -> Option<String> {
    let text = text.trim();
    let bare = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None if text.matches(':').count() == 1 => text.split_once(':')?.0,
        None => text,
    };
    let bare = bare.trim_end_matches('.').to_lowercase();
    let odd = bare.is_empty() || bare.contains(|c: char| c.is_whitespace() || "/*".contains(c));
    (!odd).then_some(bare)
}

/// Returns the words that may stand at each place of a pattern.
fn places(pattern: &Value) -> Result<Vec<Vec<String>>, Fault> {
    let place = |value: &Value| match &value.kind {
        Kind::List(some) if some.is_empty() => {
            Err(Fault::new("a list of alternatives is not empty", value.span.clone()))
        }
        Kind::List(some) => some.iter().map(word).collect(),
        _ => Ok(vec![word(value)?]),
    };
    let places: Vec<_> = items(pattern)?.iter().map(place).collect::<Result<_, _>>()?;
    if places.is_empty() {
        return Err(Fault::new("a pattern is not empty", pattern.span.clone()));
    }
    Ok(places)
}

/// Returns a word of a command, which holds no NUL.
fn word(value: &Value) -> Result<String, Fault> {
    let word = text(value)?;
    if word.contains('\0') {
        return Err(Fault::new("a word cannot hold a NUL", value.span.clone()));
    }
    Ok(word.to_owned())
}

fn example(value: &Value) -> Result<Vec<String>, Fault> {
    let words = match &value.kind {
        Kind::List(words) => words.iter().map(word).collect::<Result<_, _>>()?,
        _ => command::words(text(value)?)
            .map_err(|error| Fault::new(error.message, value.span.clone()))?,
    };
    if words.is_empty() {
        return Err(Fault::new("an example is not empty", value.span.clone()));
    }
    Ok(words)
}

fn decided(value: &Value) -> Result<Effect, Fault> {
    Ok(match text(value)? {
        "allow" => Effect::Allow,
        "prompt" => Effect::Ask,
        "forbidden" => Effect::Deny,
        other => {
            let fault = Fault::new(format!("`{other}` is no decision"), value.span.clone());
            return Err(fault.help("write `allow`, `prompt` or `forbidden`"));
        }
    })
}

fn justification(value: &Value) -> Result<String, Fault> {
    let text = text(value)?;
    if text.trim().is_empty() {
        return Err(Fault::new("a justification says something", value.span.clone()));
    }
    Ok(text.to_owned())
}

fn truth(value: &Value) -> Result<bool, Fault> {
    match &value.kind {
        Kind::Word(word) if word == "True" => Ok(true),
        Kind::Word(word) if word == "False" => Ok(false),
        _ => Err(Fault::new("write `True` or `False`", value.span.clone())),
    }
}

fn text(value: &Value) -> Result<&str, Fault> {
    match &value.kind {
        Kind::Text(text) => Ok(text),
        _ => Err(Fault::new("a text stands here", value.span.clone())),
    }
}

fn items(value: &Value) -> Result<&[Value], Fault> {
    match &value.kind {
        Kind::List(items) => Ok(items),
        _ => Err(Fault::new("a list stands here", value.span.clone())),
    }
}
