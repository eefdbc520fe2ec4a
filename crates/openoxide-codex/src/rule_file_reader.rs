//! The rules of a file that consists of plain calls, or of one that is evaluated as Codex does.

use openoxide_permission::PathAnchors;

use super::{
    exact_semantics::{
        launch_context::LaunchContext,
        prefix_rule_index::HostExecutables,
        rule_examples::RuleExamples,
        rule_file::ParsedRuleFile,
        rule_parser::{RuleFileEvaluator, RuleFileSource},
    },
    plain_rules::read_plain_rules,
    rule_calls::{FunctionCall, parse_calls},
};
use openoxide_adapters::policy_translation::PolicyTextError;

/// The functions that a rule file can call.
const RULE_FUNCTIONS: &[&str] = &["prefix_rule", "host_executable", "network_rule"];

/// Parses a file. A file that contains more than plain calls is evaluated.
///
/// # Errors
/// Returns all errors for which Codex skips the file.
pub(super) fn read_rule_file(
    file: &str,
    source: &str,
    anchors: PathAnchors<'_>,
    language: RuleFileEvaluator,
) -> Result<ParsedRuleFile, Vec<PolicyTextError>> {
    let known = |call: &FunctionCall| RULE_FUNCTIONS.contains(&call.function.as_str());
    match parse_calls(source) {
        Ok(calls) if calls.iter().all(known) => read_plain_rules(&calls),
        _ => evaluate_rules(file, source, anchors, language).map_err(|fault| vec![fault]),
    }
}

/// Evaluates a file.
///
/// # Errors
/// Returns an error with the location of the call if Codex would reject the file, or if the file
/// exceeds a limit.
fn evaluate_rules(
    name: &str,
    text: &str,
    anchors: PathAnchors<'_>,
    language: RuleFileEvaluator,
) -> Result<ParsedRuleFile, PolicyTextError> {
    let place =
        LaunchContext { cwd: anchors.base.as_str(), home: anchors.home.map(|home| home.as_str()) };
    let source = RuleFileSource { name, text, hosts: &HostExecutables::new() };
    let file = ParsedRuleFile::parse(source, &place, language).map_err(|unreadable| {
        PolicyTextError::new(unreadable.reason, unreadable.span.unwrap_or_default())
    })?;
    for (rules, span) in &file.prefix_rules {
        check_words(rules).map_err(|what| PolicyTextError::new(what, span.clone()))?;
    }
    Ok(file)
}

/// Checks that the rules of a call can be translated.
fn check_words(rules: &RuleExamples) -> Result<(), &'static str> {
    if rules.rules.is_empty() {
        return Err("a pattern cannot be empty");
    }
    let has_nul = rules.rules.iter().any(|rule| {
        let rest = rule.pattern.rest.iter().flat_map(|token| token.words());
        std::iter::once(&rule.pattern.first).chain(rest).any(|word| word.contains('\0'))
    });
    if has_nul { Err("a word cannot contain a NUL byte") } else { Ok(()) }
}
