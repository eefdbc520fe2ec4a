//! Calls to rules: what each of the three functions takes.

use std::{collections::BTreeMap, ops::Range};

use openoxide_permission::{PathAnchors, pattern::command};
use openoxide_protocol::Effect;

use super::{
    exact_semantics::{NETWORK_RULE_PARAMETERS, PREFIX_RULE_PARAMETERS, RuleLanguage},
    rule_calls::{FunctionCall, LiteralKind, LiteralValue, parse_calls},
    rule_lexer::PLAIN_CALLS_ONLY,
};
use openoxide_adapters::policy_translation::PolicyTextError;

const RULE_FUNCTIONS: &[&str] = &["prefix_rule", "host_executable", "network_rule"];

/// A rule about the first words of a command, with the possible words for each position.
#[derive(Clone, Debug)]
pub(super) struct PrefixRuleEntry {
    pub(super) pattern: Vec<Vec<String>>,
    pub(super) effect: Effect,
    pub(super) reason: Option<String>,
    pub(super) folds_case: bool,
    pub(super) span: Range<usize>,
    pub(super) examples: Vec<(Vec<String>, bool, Range<usize>)>,
}

/// A rule about a host.
#[derive(Clone, Debug)]
pub(super) struct NetworkRuleEntry {
    pub(super) host: String,
    pub(super) effect: Effect,
    pub(super) reason: Option<String>,
    pub(super) span: Range<usize>,
}

/// The contents of a rule file.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleFile {
    pub(super) prefix_rules: Vec<PrefixRuleEntry>,
    /// The permitted paths of a program, if the file lists them.
    pub(super) host_executables: BTreeMap<String, Vec<String>>,
    pub(super) network_rules: Vec<NetworkRuleEntry>,
}

impl RuleFile {
    /// Parses a file. A file that contains more than plain calls is evaluated.
    ///
    /// # Errors
    /// Returns all errors for which Codex skips the file.
    pub(super) fn parse(
        file: &str,
        source: &str,
        anchors: PathAnchors<'_>,
        language: RuleLanguage,
    ) -> Result<Self, Vec<PolicyTextError>> {
        let known = |call: &FunctionCall| RULE_FUNCTIONS.contains(&call.function.as_str());
        match parse_calls(source) {
            Ok(calls) if calls.iter().all(known) => Self::from_calls(&calls),
            _ => super::evaluated_rules::evaluate_rules(file, source, anchors, language),
        }
    }

    /// Takes plain calls. Examples are checked when all of it is known, as in Codex.
    ///
    /// # Errors
    /// Everything for which Codex leaves the file out, as far as it is understood.
    pub(super) fn from_calls(calls: &[FunctionCall]) -> Result<Self, Vec<PolicyTextError>> {
        let (mut rules, mut faults) = (Self::default(), Vec::new());
        for call in calls {
            faults.extend(rules.apply_call(call).err());
        }
        for rule in &rules.prefix_rules {
            faults.extend(
                rule.examples
                    .iter()
                    .filter_map(|example| rules.find_failing_example(rule, example)),
            );
        }
        if faults.is_empty() { Ok(rules) } else { Err(faults) }
    }

    fn apply_call(&mut self, call: &FunctionCall) -> Result<(), PolicyTextError> {
        match call.function.as_str() {
            "prefix_rule" => self.prefix_rules.push(parse_prefix_rule(call)?),
            "host_executable" => {
                let (name, paths) = parse_host_executable(call)?;
                self.host_executables.insert(name, paths);
            }
            "network_rule" => self.network_rules.push(parse_network_rule(call)?),
            other => {
                let fault =
                    PolicyTextError::new(format!("nothing is called `{other}`"), call.span.clone());
                return Err(fault.with_help(PLAIN_CALLS_ONLY));
            }
        }
        Ok(())
    }

    fn find_failing_example(
        &self,
        rule: &PrefixRuleEntry,
        (words, wanted, span): &(Vec<String>, bool, Range<usize>),
    ) -> Option<PolicyTextError> {
        let found = rule.matches_command(words) || self.resolves_program(rule, words);
        let does = if *wanted { "does not match" } else { "matches" };
        let message = format!("the rule {does} its example `{}`", words.join(" "));
        (found != *wanted).then(|| PolicyTextError::new(message, span.clone()))
    }

    /// Returns whether a rule about a program's name matches the program at this path.
    fn resolves_program(&self, rule: &PrefixRuleEntry, words: &[String]) -> bool {
        let Some((program, rest)) = words.split_first() else { return false };
        let Some((_, name)) = program.rsplit_once('/') else { return false };
        let listed = self.host_executables.get(name).is_none_or(|paths| paths.contains(program));
        let named: Vec<String> = std::iter::once(name.to_owned()).chain(rest.to_vec()).collect();
        listed && rule.matches_command(&named)
    }
}

impl PrefixRuleEntry {
    fn matches_command(&self, words: &[String]) -> bool {
        let same = |a: &String, b: &String| {
            if self.folds_case { a.to_lowercase() == b.to_lowercase() } else { a == b }
        };
        let fits = |(some, word): (&Vec<String>, &String)| some.iter().any(|one| same(one, word));
        words.len() >= self.pattern.len() && self.pattern.iter().zip(words).all(fits)
    }
}

/// Binds arguments to the parameters of a function, which are given in positional order.
pub(super) fn bind_arguments<'c>(
    call: &'c FunctionCall,
    names: &[&str],
) -> Result<Vec<Option<&'c LiteralValue>>, PolicyTextError> {
    let mut found: Vec<Option<&LiteralValue>> = vec![None; names.len()];
    let mut by_name = false;
    for (at, (name, value)) in call.arguments.iter().enumerate() {
        let wrong = |what: &str| Err(PolicyTextError::new(what, value.span.clone()));
        by_name |= name.is_some();
        let place = match name {
            None if by_name => {
                return wrong("a positional argument follows a named one");
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
                return Err(PolicyTextError::new(message, value.span.clone())
                    .with_help(format!("known are `{known}`")));
            }
        }
    }
    Ok(found)
}

fn parse_prefix_rule(call: &FunctionCall) -> Result<PrefixRuleEntry, PolicyTextError> {
    let found = bind_arguments(call, &PREFIX_RULE_PARAMETERS)?;
    let [pattern, decision, yes, no, reason, folds] = found.as_slice() else {
        return Err(PolicyTextError::new("the rule has too many arguments", call.span.clone()));
    };
    let pattern = pattern
        .ok_or_else(|| PolicyTextError::new("the rule has no `pattern`", call.span.clone()))?;
    let mut examples = Vec::new();
    for (list, wanted) in [(no, false), (yes, true)] {
        for item in list.map(parse_list).transpose()?.unwrap_or_default() {
            examples.push((parse_example(item)?, wanted, item.span.clone()));
        }
    }
    Ok(PrefixRuleEntry {
        pattern: parse_pattern(pattern)?,
        effect: decision.map_or(Ok(Effect::Allow), parse_decision)?,
        reason: reason.map(parse_justification).transpose()?,
        folds_case: folds.map_or(Ok(false), parse_bool)?,
        span: call.span.clone(),
        examples,
    })
}

fn parse_host_executable(call: &FunctionCall) -> Result<(String, Vec<String>), PolicyTextError> {
    let found = bind_arguments(call, &["name", "paths"])?;
    let [Some(name), Some(paths)] = found.as_slice() else {
        return Err(PolicyTextError::new(
            "`host_executable` takes `name` and `paths`",
            call.span.clone(),
        ));
    };
    let bare = parse_text(name)?;
    if bare.is_empty() || bare.contains('/') {
        return Err(PolicyTextError::new(
            "the name of a program contains no `/`",
            name.span.clone(),
        ));
    }
    let mut listed = Vec::new();
    for path in parse_list(paths)? {
        let there = parse_text(path)?;
        if !there.starts_with('/') || there.rsplit('/').next() != Some(bare) {
            let message = format!("this is not an absolute path of `{bare}`");
            return Err(PolicyTextError::new(message, path.span.clone()));
        }
        listed.push(there.to_owned());
    }
    Ok((bare.to_owned(), listed))
}

fn parse_network_rule(call: &FunctionCall) -> Result<NetworkRuleEntry, PolicyTextError> {
    const PROTOCOLS: &[&str] =
        &["http", "https", "socks5_tcp", "socks5_udp", "https_connect", "http-connect"];
    let found = bind_arguments(call, &NETWORK_RULE_PARAMETERS)?;
    let [Some(host), Some(protocol), Some(decision), reason] = found.as_slice() else {
        let what = "`network_rule` takes `host`, `protocol` and `decision`";
        return Err(PolicyTextError::new(what, call.span.clone()));
    };
    if !PROTOCOLS.contains(&parse_text(protocol)?) {
        return Err(PolicyTextError::new("unknown protocol", protocol.span.clone())
            .with_help(format!("known are `{}`", PROTOCOLS.join("`, `"))));
    }
    let effect =
        if parse_text(decision)? == "deny" { Effect::Deny } else { parse_decision(decision)? };
    let host = strip_host_port(parse_text(host)?)
        .ok_or_else(|| PolicyTextError::new("invalid host", host.span.clone()))?;
    let reason = reason.map(parse_justification).transpose()?;
    Ok(NetworkRuleEntry { host, effect, reason, span: call.span.clone() })
}

/// Returns a host without its port.
fn strip_host_port(text: &str) -> Option<String> {
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

/// Returns the possible words at each position of a pattern.
fn parse_pattern(pattern: &LiteralValue) -> Result<Vec<Vec<String>>, PolicyTextError> {
    let place = |value: &LiteralValue| match &value.kind {
        LiteralKind::List(some) if some.is_empty() => {
            Err(PolicyTextError::new("a list of alternatives is not empty", value.span.clone()))
        }
        LiteralKind::List(some) => some.iter().map(parse_word).collect(),
        _ => Ok(vec![parse_word(value)?]),
    };
    let places: Vec<_> = parse_list(pattern)?.iter().map(place).collect::<Result<_, _>>()?;
    if places.is_empty() {
        return Err(PolicyTextError::new("a pattern is not empty", pattern.span.clone()));
    }
    Ok(places)
}

/// Returns a word of a command, which holds no NUL.
fn parse_word(value: &LiteralValue) -> Result<String, PolicyTextError> {
    let word = parse_text(value)?;
    if word.contains('\0') {
        return Err(PolicyTextError::new("a word cannot hold a NUL", value.span.clone()));
    }
    Ok(word.to_owned())
}

fn parse_example(value: &LiteralValue) -> Result<Vec<String>, PolicyTextError> {
    let words = match &value.kind {
        LiteralKind::List(words) => words.iter().map(parse_word).collect::<Result<_, _>>()?,
        _ => command::split_words(parse_text(value)?)
            .map_err(|error| PolicyTextError::new(error.message, value.span.clone()))?,
    };
    if words.is_empty() {
        return Err(PolicyTextError::new("an example is not empty", value.span.clone()));
    }
    Ok(words)
}

fn parse_decision(value: &LiteralValue) -> Result<Effect, PolicyTextError> {
    Ok(match parse_text(value)? {
        "allow" => Effect::Allow,
        "prompt" => Effect::Ask,
        "forbidden" => Effect::Deny,
        other => {
            let fault =
                PolicyTextError::new(format!("`{other}` is not a decision"), value.span.clone());
            return Err(fault.with_help("write `allow`, `prompt` or `forbidden`"));
        }
    })
}

fn parse_justification(value: &LiteralValue) -> Result<String, PolicyTextError> {
    let text = parse_text(value)?;
    if text.trim().is_empty() {
        return Err(PolicyTextError::new("a justification must not be empty", value.span.clone()));
    }
    Ok(text.to_owned())
}

fn parse_bool(value: &LiteralValue) -> Result<bool, PolicyTextError> {
    match &value.kind {
        LiteralKind::Word(word) if word == "True" => Ok(true),
        LiteralKind::Word(word) if word == "False" => Ok(false),
        _ => Err(PolicyTextError::new("write `True` or `False`", value.span.clone())),
    }
}

fn parse_text(value: &LiteralValue) -> Result<&str, PolicyTextError> {
    match &value.kind {
        LiteralKind::Text(text) => Ok(text),
        _ => Err(PolicyTextError::new("expected a string", value.span.clone())),
    }
}

fn parse_list(value: &LiteralValue) -> Result<&[LiteralValue], PolicyTextError> {
    match &value.kind {
        LiteralKind::List(items) => Ok(items),
        _ => Err(PolicyTextError::new("expected a list", value.span.clone())),
    }
}
