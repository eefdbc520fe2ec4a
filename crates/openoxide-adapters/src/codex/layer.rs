//! Codex's rules in our own, never looser than theirs.
//!
//! A rule that allows means the very program that it names: `./git` is not `git`, and `/usr/bin/git` is only where
//! `host_executable` lists it. A rule that holds back means the program wherever it lies.

use std::collections::BTreeSet;

use openoxide_permission::{
    Anchors, Combining, Layer, LayerKind, Pattern, Rule, Space,
    glob::Glob,
    pattern::{command, host},
};
use openoxide_protocol::Effect;

use super::{
    exact::Language,
    rules::{NetworkRule, PrefixRule, Rules},
};
use crate::foreign::{Fault, Translation, line};

/// A rule stands for so many commands at most.
const MOST: usize = 4096;

/// Returns a rule file as a layer.
///
/// # Errors
/// Where Codex itself would leave it out: a wrong argument, an example that is not met; or where the language fails.
pub fn translate(
    text: &str,
    kind: LayerKind,
    file: &str,
    anchors: Anchors<'_>,
    language: Language,
) -> Result<Translation, Vec<Fault>> {
    let rules = Rules::read(file, text, anchors, language)?;
    let mut to = Translator { text, rules: vec![], faults: vec![], notes: vec![] };
    for rule in &rules.prefixes {
        to.prefix(rule, &rules);
    }
    // A later rule about a host takes the place of an earlier one; one that prompts does not.
    let mut said = BTreeSet::new();
    for rule in rules.network.iter().rev() {
        if rule.effect == Effect::Ask || said.insert(&rule.host) {
            to.network(rule, file);
        }
    }
    let (rules, file) = (to.rules, Some(file.to_owned()));
    let layer = Layer { kind, file, combining: Combining::Strictest, rules, mode: None };
    Ok(Translation::new(layer, to.faults, to.notes))
}

struct Translator<'t> {
    text: &'t str,
    rules: Vec<Rule>,
    faults: Vec<Fault>,
    notes: Vec<String>,
}

impl Translator<'_> {
    fn prefix(&mut self, rule: &PrefixRule, all: &Rules) {
        if rule.folds && rule.effect != Effect::Allow {
            let what = "`canonical_matching` cannot be said in our rules";
            self.faults.push(Fault::new(what, rule.span.clone()));
        }
        let mut places = rule.pattern.clone();
        if let (Effect::Allow, Some(programs)) = (rule.effect, places.first_mut()) {
            let paths = programs.iter().filter_map(|name| all.hosts.get(name)).flatten();
            let paths: Vec<String> = paths.cloned().collect();
            programs.extend(paths);
        }
        let Some(prefixes) = product(&places) else {
            let what = format!("the rule stands for more than {MOST} commands");
            return self.faults.push(Fault::new(what, rule.span.clone()));
        };
        let patterns = prefixes.iter().map(|words| begins_with(words)).collect();
        let shown: Vec<String> = rule.pattern.iter().map(|words| shown(words)).collect();
        let text = format!("prefix_rule({})", shown.join(" "));
        self.rule(rule.effect, text, patterns, rule.span.start, rule.reason.as_deref());
    }

    fn network(&mut self, rule: &NetworkRule, file: &str) {
        match host::read(&rule.host) {
            Ok(read) => {
                let patterns = vec![Pattern { space: Space::Fetch, code: read.glob.finish() }];
                let text = format!("network_rule({})", rule.host);
                self.rule(rule.effect, text, patterns, rule.span.start, rule.reason.as_deref());
            }
            Err(error) if rule.effect == Effect::Allow => {
                let line = line(self.text, rule.span.start);
                self.notes.push(format!("{file}:{line}: {}; it is left out", error.message));
            }
            Err(error) => self.faults.push(Fault::new(error.message, rule.span.clone())),
        }
    }

    fn rule(
        &mut self,
        effect: Effect,
        text: String,
        patterns: Vec<Pattern>,
        at: usize,
        reason: Option<&str>,
    ) {
        let (line, reason) = (line(self.text, at), reason.map(str::to_owned));
        let (exact, bare, human) = (false, false, false);
        self.rules.push(Rule { effect, text, patterns, exact, bare, human, line, reason });
    }
}

fn shown(words: &[String]) -> String {
    match words {
        [one] => command::quote(one),
        several => several.iter().map(|word| command::quote(word)).collect::<Vec<_>>().join("|"),
    }
}

/// Returns every choice of one word for each place; nothing if there are too many.
fn product(places: &[Vec<String>]) -> Option<Vec<Vec<&str>>> {
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    for words in places {
        if all.len().checked_mul(words.len())? > MOST {
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

fn begins_with(words: &[&str]) -> Pattern {
    let mut glob = Glob::new();
    for word in words {
        glob.literal(word.as_bytes());
        glob.literal(&[0]);
    }
    glob.any();
    Pattern { space: Space::Exec, code: glob.finish() }
}
