//! Translation of Codex's rules into OpenOxide rules that are never less strict.
//!
//! An allow rule matches exactly the program that it names: `./git` is not `git`, and
//! `/usr/bin/git` matches only if `host_executable` lists it. A restrictive rule matches the
//! program at any path.

use std::{collections::BTreeSet, ops::Range};

use openoxide_permission::{
    CombiningAlgorithm, Layer, LayerKind, PathAnchors, Pattern, Rule, SubjectKind,
    glob::Glob,
    pattern::{command, host},
};
use openoxide_protocol::Effect;

use super::{
    exact_semantics::{
        network_rules::NetworkRule,
        prefix_rule::{CodexDecision, PrefixRule},
        rule_file::ParsedRuleFile,
        rule_parser::RuleFileEvaluator,
    },
    rule_file_reader::read_rule_file,
};
use openoxide_adapters::policy_translation::{
    PolicyTextError, PolicyTranslation, line_number, new_rule,
};

/// The maximum number of commands that one rule expands to.
const MAX_PATTERNS: usize = 4096;

/// Translates a rule file into a layer.
///
/// # Errors
/// Returns an error if Codex itself would skip the file because of a wrong argument or an unmet
/// example, or if the evaluation of the file fails.
pub fn translate_rule_file(
    text: &str,
    kind: LayerKind,
    file: &str,
    anchors: PathAnchors<'_>,
    language: RuleFileEvaluator,
) -> Result<PolicyTranslation, Vec<PolicyTextError>> {
    let rules = read_rule_file(file, text, anchors, language)?;
    let mut to = RuleFileTranslator { text, rules: vec![], errors: vec![], notes: vec![] };
    for (call, span) in &rules.prefix_rules {
        to.translate_prefix_rules(&call.rules, span, &rules);
    }
    // A later rule about a host replaces an earlier one, unless the later rule prompts.
    let mut said = BTreeSet::new();
    for (rule, span) in rules.network_rules.iter().rev() {
        if to_effect(rule.decision) == Effect::Ask || said.insert(&rule.host) {
            to.translate_network_rule(rule, span, file);
        }
    }
    let (rules, file) = (to.rules, Some(file.to_owned()));
    let layer =
        Layer { kind, file, combining_algorithm: CombiningAlgorithm::Strictest, rules, mode: None };
    Ok(PolicyTranslation::new(layer, to.errors, to.notes))
}

struct RuleFileTranslator<'t> {
    text: &'t str,
    rules: Vec<Rule>,
    errors: Vec<PolicyTextError>,
    notes: Vec<String>,
}

impl RuleFileTranslator<'_> {
    /// Translates the rules of one call. They differ only in the program.
    fn translate_prefix_rules(
        &mut self,
        rules: &[PrefixRule],
        span: &Range<usize>,
        all: &ParsedRuleFile,
    ) {
        let Some(rule) = rules.first() else { return };
        let effect = to_effect(rule.decision);
        if rule.pattern.canonical_matching && effect != Effect::Allow {
            let what = "`canonical_matching` cannot be expressed as a rule of OpenOxide";
            self.errors.push(PolicyTextError::new(what, span.clone()));
        }
        let programs: Vec<String> = rules.iter().map(|rule| rule.pattern.first.clone()).collect();
        let rest = rule.pattern.rest.iter().map(|token| token.words().to_vec());
        let mut places: Vec<Vec<String>> = std::iter::once(programs).chain(rest).collect();
        let shown: Vec<String> = places.iter().map(|words| render_alternatives(words)).collect();
        if let (Effect::Allow, Some(programs)) = (effect, places.first_mut()) {
            let paths = programs.iter().filter_map(|name| all.host_executables.get(name)).flatten();
            let paths: Vec<String> = paths.cloned().collect();
            programs.extend(paths);
        }
        let Some(prefixes) = cartesian_product(&places) else {
            let what = format!("the rule expands to more than {MAX_PATTERNS} commands");
            return self.errors.push(PolicyTextError::new(what, span.clone()));
        };
        let patterns = prefixes.iter().map(|words| prefix_pattern(words)).collect();
        let text = format!("prefix_rule({})", shown.join(" "));
        self.add_rule(rule.decision, text, patterns, span, rule.justification.as_deref());
    }

    fn translate_network_rule(&mut self, rule: &NetworkRule, span: &Range<usize>, file: &str) {
        match host::parse(&rule.host) {
            Ok(read) => {
                let patterns =
                    vec![Pattern { kind: SubjectKind::Fetch, program: read.glob.finish() }];
                let text = format!("network_rule({})", rule.host);
                self.add_rule(rule.decision, text, patterns, span, rule.justification.as_deref());
            }
            Err(error) if rule.decision == CodexDecision::Allow => {
                let line = line_number(self.text, span.start);
                self.notes.push(format!("{file}:{line}: {}; ignored", error.message));
            }
            Err(error) => self.errors.push(PolicyTextError::new(error.message, span.clone())),
        }
    }

    fn add_rule(
        &mut self,
        decision: CodexDecision,
        text: String,
        patterns: Vec<Pattern>,
        span: &Range<usize>,
        reason: Option<&str>,
    ) {
        let line = line_number(self.text, span.start);
        let rule = new_rule(to_effect(decision), text, patterns, line);
        self.rules.push(Rule { reason: reason.map(str::to_owned), ..rule });
    }
}

const fn to_effect(decision: CodexDecision) -> Effect {
    match decision {
        CodexDecision::Allow => Effect::Allow,
        CodexDecision::Prompt | CodexDecision::PromptUser => Effect::Ask,
        CodexDecision::Forbidden => Effect::Deny,
    }
}

fn render_alternatives(words: &[String]) -> String {
    match words {
        [one] => command::quote(one),
        several => several.iter().map(|word| command::quote(word)).collect::<Vec<_>>().join("|"),
    }
}

/// Returns every combination of one word for each position; `None` if there are too many.
fn cartesian_product(places: &[Vec<String>]) -> Option<Vec<Vec<&str>>> {
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    for words in places {
        if all.len().checked_mul(words.len())? > MAX_PATTERNS {
            return None;
        }
        let mut longer = Vec::with_capacity(all.len() * words.len());
        for begun in &all {
            longer.extend(words.iter().map(|word| [begun.as_slice(), &[word.as_str()]].concat()));
        }
        all = longer;
    }
    Some(all)
}

fn prefix_pattern(words: &[&str]) -> Pattern {
    let mut glob = Glob::new();
    for word in words {
        glob.push_literal(word.as_bytes());
        glob.push_literal(&[0]);
    }
    glob.push_any();
    Pattern { kind: SubjectKind::Exec, program: glob.finish() }
}
