//! Translation of Codex's rules into OpenOxide rules that are never less strict.
//!
//! An allow rule matches exactly the program that it names: `./git` is not `git`, and
//! `/usr/bin/git` matches only if `host_executable` lists it. A restrictive rule matches the
//! program at any path.

use std::collections::BTreeSet;

use openoxide_permission::{
    CombiningAlgorithm, Layer, LayerKind, PathAnchors, Pattern, Rule, SubjectKind,
    glob::Glob,
    pattern::{command, host},
};
use openoxide_protocol::Effect;

use super::{
    exact_semantics::RuleLanguage,
    plain_rules::{NetworkRuleEntry, PrefixRuleEntry, RuleFile},
};
use openoxide_adapters::policy_translation::{PolicyTextError, PolicyTranslation, line_number};

/// The maximum number of commands that one rule expands to.
const MAX_PATTERNS: usize = 4096;

/// Returns a rule file as a layer.
///
/// # Errors
/// Where Codex itself would leave it out: a wrong argument, an example that is not met; or where the language fails.
pub fn translate_rule_file(
    text: &str,
    kind: LayerKind,
    file: &str,
    anchors: PathAnchors<'_>,
    language: RuleLanguage,
) -> Result<PolicyTranslation, Vec<PolicyTextError>> {
    let rules = RuleFile::parse(file, text, anchors, language)?;
    let mut to = RuleFileTranslator { text, rules: vec![], errors: vec![], notes: vec![] };
    for rule in &rules.prefix_rules {
        to.translate_prefix_rule(rule, &rules);
    }
    // A later rule about a host takes the place of an earlier one; one that prompts does not.
    let mut said = BTreeSet::new();
    for rule in rules.network_rules.iter().rev() {
        if rule.effect == Effect::Ask || said.insert(&rule.host) {
            to.translate_network_rule(rule, file);
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
    fn translate_prefix_rule(&mut self, rule: &PrefixRuleEntry, all: &RuleFile) {
        if rule.folds_case && rule.effect != Effect::Allow {
            let what = "`canonical_matching` cannot be expressed as a rule of OpenOxide";
            self.errors.push(PolicyTextError::new(what, rule.span.clone()));
        }
        let mut places = rule.pattern.clone();
        if let (Effect::Allow, Some(programs)) = (rule.effect, places.first_mut()) {
            let paths = programs.iter().filter_map(|name| all.host_executables.get(name)).flatten();
            let paths: Vec<String> = paths.cloned().collect();
            programs.extend(paths);
        }
        let Some(prefixes) = cartesian_product(&places) else {
            let what = format!("the rule stands for more than {MAX_PATTERNS} commands");
            return self.errors.push(PolicyTextError::new(what, rule.span.clone()));
        };
        let patterns = prefixes.iter().map(|words| prefix_pattern(words)).collect();
        let shown: Vec<String> =
            rule.pattern.iter().map(|words| render_alternatives(words)).collect();
        let text = format!("prefix_rule({})", shown.join(" "));
        self.add_rule(rule.effect, text, patterns, rule.span.start, rule.reason.as_deref());
    }

    fn translate_network_rule(&mut self, rule: &NetworkRuleEntry, file: &str) {
        match host::parse(&rule.host) {
            Ok(read) => {
                let patterns =
                    vec![Pattern { kind: SubjectKind::Fetch, program: read.glob.finish() }];
                let text = format!("network_rule({})", rule.host);
                self.add_rule(rule.effect, text, patterns, rule.span.start, rule.reason.as_deref());
            }
            Err(error) if rule.effect == Effect::Allow => {
                let line = line_number(self.text, rule.span.start);
                self.notes.push(format!("{file}:{line}: {}; it is left out", error.message));
            }
            Err(error) => self.errors.push(PolicyTextError::new(error.message, rule.span.clone())),
        }
    }

    fn add_rule(
        &mut self,
        effect: Effect,
        text: String,
        patterns: Vec<Pattern>,
        at: usize,
        reason: Option<&str>,
    ) {
        let (line, reason) = (line_number(self.text, at), reason.map(str::to_owned));
        let (exact, bare, human) = (false, false, false);
        self.rules.push(Rule {
            effect,
            text,
            patterns,
            is_literal: exact,
            matches_everything: bare,
            requires_human: human,
            line,
            reason,
        });
    }
}

fn render_alternatives(words: &[String]) -> String {
    match words {
        [one] => command::quote(one),
        several => several.iter().map(|word| command::quote(word)).collect::<Vec<_>>().join("|"),
    }
}

/// Returns every choice of one word for each place; nothing if there are too many.
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
