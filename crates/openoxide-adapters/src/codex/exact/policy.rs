//! All rules of all files, and what they say of a command.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    network::NetworkRule,
    place::{Place, basename},
    rule::{AbsolutePathBuf, Decision, PrefixRule, PrefixRuleMatch},
    said::Said,
};

/// Where programs may lie, by their names; a name that is not there may lie anywhere.
pub type Hosts = BTreeMap<String, Vec<String>>;

/// The rules of one or more files.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub(super) rules: Prefixes,
    pub(super) hosts: Hosts,
    pub(super) network: Vec<NetworkRule>,
}

/// What the rules say of a command: the answer of `codex execpolicy check`, as it stands in its JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    /// Every rule that matched.
    pub matched_rules: Vec<RuleMatch>,
    /// The most restrictive decision of them; nothing if none matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

/// A match, under the kind of its rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum RuleMatch {
    /// Of a rule about the first words.
    #[serde(rename = "prefixRuleMatch")]
    Prefix(PrefixRuleMatch),
}

impl Policy {
    /// Returns what the rules say of the words of one command. With a place, a rule about a program's name is also about the
    /// program at a path.
    #[must_use]
    pub fn check(&self, command: &[String], resolve: Option<&Place<'_>>) -> Evaluation {
        let found = self.rules.matches(command, resolve.map(|place| (place, &self.hosts)));
        let decision = found.iter().map(|found| found.decision).max();
        Evaluation { matched_rules: found.into_iter().map(RuleMatch::Prefix).collect(), decision }
    }

    /// Returns all rules that are about a command, programs at their paths included.
    pub(super) fn matches(&self, command: &[String], place: &Place<'_>) -> Vec<PrefixRuleMatch> {
        self.rules.matches(command, Some((place, &self.hosts)))
    }

    /// Says whether a rule about this prefix would be about a command.
    pub(super) fn would_match(
        &self,
        prefix: &[String],
        command: &[String],
        place: &Place<'_>,
    ) -> bool {
        let Some(rule) = PrefixRule::allowing(prefix) else { return false };
        let mut rules = Prefixes::default();
        rules.add(rule);
        !rules.matches(command, Some((place, &self.hosts))).is_empty()
    }

    /// Adds what a file says.
    pub fn add(&mut self, said: Said) {
        let rules = said.prefixes.into_iter().flat_map(|(examples, _)| examples.rules);
        rules.for_each(|rule| self.rules.add(rule));
        self.network.extend(said.network.into_iter().map(|(rule, _)| rule));
        self.hosts = said.hosts;
    }

    /// Returns the rules about hosts, in the order in which they were given.
    #[must_use]
    pub fn network(&self) -> &[NetworkRule] {
        &self.network
    }
}

/// Rules by the program that they name.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefixes {
    by_program: BTreeMap<String, Vec<PrefixRule>>,
    /// Whether any rule is about more than one spelling of a program.
    canonical: bool,
}

impl Prefixes {
    pub(super) fn add(&mut self, rule: PrefixRule) {
        self.canonical |= rule.pattern.canonical_matching;
        self.by_program.entry(rule.pattern.first.clone()).or_default().push(rule);
    }

    /// A rule about the first word as it stands hides all rules about the name of the program at that path.
    pub(super) fn matches(
        &self,
        command: &[String],
        resolve: Option<(&Place<'_>, &Hosts)>,
    ) -> Vec<PrefixRuleMatch> {
        let Some((program, arguments)) = command.split_first() else { return Vec::new() };
        let exact = self.found(program, arguments, None);
        match resolve {
            Some((place, hosts)) if exact.is_empty() => {
                let path = place.absolute(program);
                self.named(&path, arguments, hosts)
            }
            _ => exact,
        }
    }

    fn named(
        &self,
        path: &AbsolutePathBuf,
        arguments: &[String],
        hosts: &Hosts,
    ) -> Vec<PrefixRuleMatch> {
        match basename(&path.0) {
            Some(name) if lists(hosts, name, path) => {
                self.found(name, arguments, Some((path, hosts)))
            }
            _ => Vec::new(),
        }
    }

    /// Rules that spell the program as the command does come first. Among the other spellings Codex has no order.
    fn found(
        &self,
        program: &str,
        arguments: &[String],
        resolved: Option<(&AbsolutePathBuf, &Hosts)>,
    ) -> Vec<PrefixRuleMatch> {
        let matched =
            |rule: &PrefixRule| rule.matched(program, arguments, resolved.map(|(path, _)| path));
        let same = self.by_program.get(program).into_iter().flatten();
        let mut found: Vec<_> = same.filter_map(matched).collect();
        if self.canonical {
            let others = self.by_program.iter().filter(|(key, _)| *key != program);
            let listed = others
                .filter(|(key, _)| resolved.is_none_or(|(path, hosts)| lists(hosts, key, path)));
            let rules = listed.flat_map(|(_, rules)| rules);
            let rules = rules.filter(|rule| rule.pattern.same(&rule.pattern.first, program));
            found.extend(rules.filter_map(matched));
        }
        found
    }
}

/// Says whether a program of this name may lie there; it may lie anywhere if nothing is said of it.
fn lists(hosts: &Hosts, name: &str, path: &AbsolutePathBuf) -> bool {
    hosts.get(name).is_none_or(|paths| paths.contains(&path.0))
}
