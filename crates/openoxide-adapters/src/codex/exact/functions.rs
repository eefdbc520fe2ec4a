//! The three functions that a rule file calls.

use std::cell::RefCell;

use starlark::{
    environment::GlobalsBuilder,
    eval::Evaluator,
    starlark_module,
    values::{
        Value,
        list::{ListRef, UnpackList},
        none::NoneType,
    },
};

use super::{
    example::{self, Examples},
    file::Said,
    network::{self, NetworkRule},
    place::{basename, normal},
    refusal::Refusal,
    rule::{Decision, PatternToken, PrefixPattern, PrefixRule},
};

thread_local! {
    /// Where the functions write what a file says: a thread evaluates one file. What the evaluator itself could carry for them
    /// needs a trait that is unsafe.
    pub(super) static SAID: RefCell<Said> = RefCell::default();
}

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    fn prefix_rule<'v>(
        pattern: UnpackList<Value<'v>>,
        decision: Option<&'v str>,
        r#match: Option<UnpackList<Value<'v>>>,
        not_match: Option<UnpackList<Value<'v>>>,
        justification: Option<&'v str>,
        canonical_matching: Option<bool>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let rule = Rule { decision, justification, canonical_matching };
        let made = rule.made(&pattern).and_then(|rules| {
            let matching = examples(r#match)?;
            Ok(Examples { rules, matching, other: examples(not_match)? })
        });
        let made = made.map_err(starlark::Error::new_other)?;
        said(eval, |said, at| said.prefix(made, at));
        Ok(NoneType)
    }

    fn host_executable<'v>(
        name: &'v str,
        paths: UnpackList<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let listed = places(name, &paths).map_err(starlark::Error::new_other)?;
        said(eval, |said, _| said.host(name, listed));
        Ok(NoneType)
    }

    fn network_rule<'v>(
        host: &'v str,
        protocol: &'v str,
        decision: &'v str,
        justification: Option<&'v str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let rule = network(host, protocol, decision, justification);
        let rule = rule.map_err(starlark::Error::new_other)?;
        said(eval, |said, at| said.network(rule, at));
        Ok(NoneType)
    }
}

fn said(eval: &Evaluator<'_, '_, '_>, what: impl FnOnce(&mut Said, std::ops::Range<usize>)) {
    let at = eval.call_stack_top_location().map(|place| super::file::bytes(&place));
    SAID.with_borrow_mut(|said| what(said, at.unwrap_or_default()));
}

/// What a rule says besides its pattern.
struct Rule<'v> {
    decision: Option<&'v str>,
    justification: Option<&'v str>,
    canonical_matching: Option<bool>,
}

impl Rule<'_> {
    /// Returns one rule for each program that may stand first.
    fn made(&self, pattern: &UnpackList<Value<'_>>) -> Result<Vec<PrefixRule>, Refusal> {
        let word = self.decision.unwrap_or("allow");
        let decision = Decision::of(word).ok_or_else(|| Refusal::Decision(word.to_owned()))?;
        let justification = because(self.justification)?;
        let tokens: Vec<_> =
            pattern.items.iter().map(|item| token(*item)).collect::<Result<_, _>>()?;
        let (first, rest) = tokens
            .split_first()
            .ok_or_else(|| Refusal::Pattern("pattern cannot be empty".to_owned()))?;
        let rule = |first: &String| PrefixRule {
            pattern: PrefixPattern {
                canonical_matching: self.canonical_matching.unwrap_or(false),
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

fn token(item: Value<'_>) -> Result<PatternToken, Refusal> {
    if let Some(word) = item.unpack_str() {
        return Ok(PatternToken::Single(word.to_owned()));
    }
    let wrong = |what: &str, kind: &str| Refusal::Pattern(format!("{what} (got {kind})"));
    let list = ListRef::from_value(item).ok_or_else(|| {
        wrong("pattern element must be a string or list of strings", item.get_type())
    })?;
    let word = |item: Value<'_>| {
        let word = item.unpack_str().map(str::to_owned);
        word.ok_or_else(|| wrong("pattern alternative must be a string", item.get_type()))
    };
    let mut words: Vec<String> = list.iter().map(word).collect::<Result<_, _>>()?;
    match words.len() {
        0 => Err(Refusal::Pattern("pattern alternatives cannot be empty".to_owned())),
        1 => Ok(PatternToken::Single(words.remove(0))),
        _ => Ok(PatternToken::Alts(words)),
    }
}

fn examples(list: Option<UnpackList<Value<'_>>>) -> Result<Vec<Vec<String>>, Refusal> {
    list.map(|list| list.items).unwrap_or_default().into_iter().map(one_example).collect()
}

fn one_example(item: Value<'_>) -> Result<Vec<String>, Refusal> {
    if let Some(text) = item.unpack_str() {
        return example::words(text);
    }
    let list = ListRef::from_value(item).ok_or_else(|| {
        Refusal::ExampleOf("example must be a string or list of strings", item.get_type())
    })?;
    let word = |item: Value<'_>| {
        let word = item.unpack_str().map(str::to_owned);
        word.ok_or_else(|| Refusal::ExampleOf("example tokens must be strings", item.get_type()))
    };
    let words: Vec<String> = list.iter().map(word).collect::<Result<_, _>>()?;
    if words.is_empty() {
        return Err(Refusal::Example("example cannot be an empty list"));
    }
    Ok(words)
}

/// Returns the paths of a program.
fn places(name: &str, paths: &UnpackList<Value<'_>>) -> Result<Vec<String>, Refusal> {
    let wrong = |what: String| Err(Refusal::Rule(format!("host_executable {what}")));
    if name.is_empty() {
        return wrong("name cannot be empty".to_owned());
    }
    if name.contains('/') || name == "." || name == ".." {
        return wrong(format!("name must be a bare executable name (got {name})"));
    }
    let mut listed: Vec<String> = Vec::new();
    for item in &paths.items {
        let Some(path) = item.unpack_str() else {
            return wrong(format!("paths must be strings (got {})", item.get_type()));
        };
        if !path.starts_with('/') {
            return wrong(format!("paths must be absolute (got {path})"));
        }
        let place = normal(path);
        if basename(&place) != Some(name) {
            return wrong(format!("path `{path}` must have basename `{name}`"));
        }
        if !listed.contains(&place) {
            listed.push(place);
        }
    }
    Ok(listed)
}

fn network(
    host: &str,
    protocol: &str,
    decision: &str,
    justification: Option<&str>,
) -> Result<NetworkRule, Refusal> {
    network::protocol(protocol)?;
    let decision = network::decision(decision)?;
    let justification = because(justification)?;
    Ok(NetworkRule { host: network::host(host)?, decision, justification })
}
