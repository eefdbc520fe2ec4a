//! Rule files that are more than plain calls: evaluated as Codex does, and read as rules of ours.

use openoxide_permission::PathAnchors;
use openoxide_protocol::Effect;

use super::{
    exact_semantics::{
        self, CodexDecision, HostExecutables, LaunchContext, ParsedRuleFile, RuleLanguage,
        RuleSource,
    },
    plain_rules::{NetworkRuleEntry, PrefixRuleEntry, RuleFile},
};
use openoxide_adapters::policy_translation::PolicyTextError;

/// Reads a file.
///
/// # Errors
/// Where Codex would not take it, with the place of the call; or where it goes over a bound.
pub(super) fn evaluate_rules(
    name: &str,
    text: &str,
    anchors: PathAnchors<'_>,
    language: RuleLanguage,
) -> Result<RuleFile, Vec<PolicyTextError>> {
    let place =
        LaunchContext { cwd: anchors.base.as_str(), home: anchors.home.map(|home| home.as_str()) };
    let source = RuleSource { name, text, hosts: &HostExecutables::new() };
    let said = ParsedRuleFile::parse(source, &place, language).map_err(|unreadable| {
        vec![PolicyTextError::new(unreadable.reason, unreadable.span.unwrap_or_default())]
    })?;
    let mut prefixes = Vec::new();
    for (examples, span) in said.prefix_rules {
        let rule = convert_prefix_rule(&examples.rules, span);
        prefixes.push(rule.map_err(|fault| vec![fault])?);
    }
    let network = said
        .network_rules
        .into_iter()
        .map(|(rule, span)| convert_network_rule(rule, span))
        .collect();
    Ok(RuleFile {
        prefix_rules: prefixes,
        host_executables: said.host_executables,
        network_rules: network,
    })
}

/// Returns the rules of one call as one: they differ in the program alone.
fn convert_prefix_rule(
    rules: &[exact_semantics::PrefixRule],
    span: std::ops::Range<usize>,
) -> Result<PrefixRuleEntry, PolicyTextError> {
    let Some(rule) = rules.first() else {
        return Err(PolicyTextError::new("a pattern is not empty", span));
    };
    let programs = rules.iter().map(|rule| rule.pattern.first.clone()).collect();
    let mut pattern: Vec<Vec<String>> = vec![programs];
    pattern.extend(rule.pattern.rest.iter().map(|token| token.words().to_vec()));
    if pattern.iter().flatten().any(|word| word.contains('\0')) {
        return Err(PolicyTextError::new("a word cannot hold a NUL", span));
    }
    Ok(PrefixRuleEntry {
        pattern,
        effect: to_effect(rule.decision),
        reason: rule.justification.clone(),
        folds_case: rule.pattern.canonical_matching,
        span,
        examples: Vec::new(),
    })
}

fn convert_network_rule(
    rule: exact_semantics::NetworkRule,
    span: std::ops::Range<usize>,
) -> NetworkRuleEntry {
    let effect = to_effect(rule.decision);
    NetworkRuleEntry { host: rule.host, effect, reason: rule.justification, span }
}

fn to_effect(decision: CodexDecision) -> Effect {
    match decision {
        CodexDecision::Allow => Effect::Allow,
        CodexDecision::Prompt | CodexDecision::PromptUser => Effect::Ask,
        CodexDecision::Forbidden => Effect::Deny,
    }
}
