//! Rule files that are more than plain calls: evaluated as Codex does, and read as rules of ours.

use openoxide_permission::Anchors;
use openoxide_protocol::Effect;

use super::{
    exact::{self, Decision, Hosts, Language, Place, Said, Source},
    rules::{NetworkRule, PrefixRule, Rules},
};
use crate::foreign::Fault;

/// Reads a file.
///
/// # Errors
/// Where Codex would not take it, with the place of the call; or where it goes over a bound.
pub(super) fn rules(
    name: &str,
    text: &str,
    anchors: Anchors<'_>,
    language: Language,
) -> Result<Rules, Vec<Fault>> {
    let place = Place { cwd: anchors.base.as_str(), home: anchors.home.map(|home| home.as_str()) };
    let source = Source { name, text, hosts: &Hosts::new() };
    let said = Said::read(source, &place, language).map_err(|unreadable| {
        vec![Fault::new(unreadable.reason, unreadable.span.unwrap_or_default())]
    })?;
    let mut prefixes = Vec::new();
    for (examples, span) in said.prefixes {
        let rule = prefix_rule(&examples.rules, span);
        prefixes.push(rule.map_err(|fault| vec![fault])?);
    }
    let network = said.network.into_iter().map(|(rule, span)| network_rule(rule, span)).collect();
    Ok(Rules { prefixes, hosts: said.hosts, network })
}

/// Returns the rules of one call as one: they differ in the program alone.
fn prefix_rule(
    rules: &[exact::PrefixRule],
    span: std::ops::Range<usize>,
) -> Result<PrefixRule, Fault> {
    let Some(rule) = rules.first() else { return Err(Fault::new("a pattern is not empty", span)) };
    let programs = rules.iter().map(|rule| rule.pattern.first.clone()).collect();
    let mut pattern: Vec<Vec<String>> = vec![programs];
    pattern.extend(rule.pattern.rest.iter().map(|token| token.words().to_vec()));
    if pattern.iter().flatten().any(|word| word.contains('\0')) {
        return Err(Fault::new("a word cannot hold a NUL", span));
    }
    Ok(PrefixRule {
        pattern,
        effect: effect(rule.decision),
        reason: rule.justification.clone(),
        folds: rule.pattern.canonical_matching,
        span,
        examples: Vec::new(),
    })
}

fn network_rule(rule: exact::NetworkRule, span: std::ops::Range<usize>) -> NetworkRule {
    let effect = effect(rule.decision);
    NetworkRule { host: rule.host, effect, reason: rule.justification, span }
}

fn effect(decision: Decision) -> Effect {
    match decision {
        Decision::Allow => Effect::Allow,
        Decision::Prompt | Decision::PromptUser => Effect::Ask,
        Decision::Forbidden => Effect::Deny,
    }
}
