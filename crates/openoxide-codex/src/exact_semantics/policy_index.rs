//! The rules of all files, and their evaluation for a command.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    launch_context::{LaunchContext, basename},
    network_rules::NetworkRule,
    prefix_rule::{AbsolutePathBuf, CodexDecision, PrefixRule, PrefixRuleMatch},
    rule_file::ParsedRuleFile,
};

/// The permitted paths of programs, by program name. A program that is not listed may have any
/// path.
pub type HostExecutables = BTreeMap<String, Vec<String>>;

/// The rules of one or more files.
#[derive(Clone, Debug, Default)]
pub struct ExecPolicy {
    pub(super) rules: PrefixRuleIndex,
    pub(super) hosts: HostExecutables,
    pub(super) network: Vec<NetworkRule>,
}

/// The evaluation of a command: the output of `codex execpolicy check`, in its JSON form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandEvaluation {
    /// Every rule that matched.
    pub matched_rules: Vec<CodexRuleMatch>,
    /// The most restrictive decision of them; nothing if none matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<CodexDecision>,
}

/// A match, under the kind of its rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum CodexRuleMatch {
    /// Of a rule about the first words.
    #[serde(rename = "prefixRuleMatch")]
    Prefix(PrefixRuleMatch),
}

impl ExecPolicy {
    /// Evaluates the words of one command. With a launch context, a rule about a program's name
    /// also matches the program at a path.
    #[must_use]
    pub fn check(
        &self,
        command: &[String],
        resolve: Option<&LaunchContext<'_>>,
    ) -> CommandEvaluation {
        let found = self.rules.matching_rules(command, resolve.map(|place| (place, &self.hosts)));
        let decision = found.iter().map(|found| found.decision).max();
        CommandEvaluation {
            matched_rules: found.into_iter().map(CodexRuleMatch::Prefix).collect(),
            decision,
        }
    }

    /// Returns all rules that are about a command, programs at their paths included.
    pub(super) fn matching_rules(
        &self,
        command: &[String],
        place: &LaunchContext<'_>,
    ) -> Vec<PrefixRuleMatch> {
        self.rules.matching_rules(command, Some((place, &self.hosts)))
    }

    /// Returns whether a rule about this prefix would match a command.
    pub(super) fn prefix_matches(
        &self,
        prefix: &[String],
        command: &[String],
        place: &LaunchContext<'_>,
    ) -> bool {
        let Some(rule) = PrefixRule::new_allow(prefix) else { return false };
        let mut rules = PrefixRuleIndex::default();
        rules.add(rule);
        !rules.matching_rules(command, Some((place, &self.hosts))).is_empty()
    }

    /// Adds the rules of a file.
    pub fn add_file(&mut self, said: ParsedRuleFile) {
        let rules = said.prefix_rules.into_iter().flat_map(|(examples, _)| examples.rules);
        rules.for_each(|rule| self.rules.add(rule));
        self.network.extend(said.network_rules.into_iter().map(|(rule, _)| rule));
        self.hosts = said.host_executables;
    }

    /// Returns the rules about hosts, in the order in which they were given.
    #[must_use]
    pub fn network_rules(&self) -> &[NetworkRule] {
        &self.network
    }
}

/// Rules by the program that they name.
#[derive(Clone, Debug, Default)]
pub(super) struct PrefixRuleIndex {
    by_program: BTreeMap<String, Vec<PrefixRule>>,
    /// True if any rule matches more than one spelling of a program.
    has_canonical_rules: bool,
}

impl PrefixRuleIndex {
    pub(super) fn add(&mut self, rule: PrefixRule) {
        self.has_canonical_rules |= rule.pattern.canonical_matching;
        self.by_program.entry(rule.pattern.first.clone()).or_default().push(rule);
    }

    /// Returns the rules that match a command. A rule about the first word as it is written takes
    /// precedence over all rules about the name of the program at that path.
    pub(super) fn matching_rules(
        &self,
        command: &[String],
        resolve: Option<(&LaunchContext<'_>, &HostExecutables)>,
    ) -> Vec<PrefixRuleMatch> {
        let Some((program, arguments)) = command.split_first() else { return Vec::new() };
        let exact = self.match_candidates(program, arguments, None);
        match resolve {
            Some((place, hosts)) if exact.is_empty() => {
                let path = place.program_path(program);
                self.match_by_name(&path, arguments, hosts)
            }
            _ => exact,
        }
    }

    fn match_by_name(
        &self,
        path: &AbsolutePathBuf,
        arguments: &[String],
        hosts: &HostExecutables,
    ) -> Vec<PrefixRuleMatch> {
        match basename(&path.0) {
            Some(name) if allows_program_path(hosts, name, path) => {
                self.match_candidates(name, arguments, Some((path, hosts)))
            }
            _ => Vec::new(),
        }
    }

    /// Rules that spell the program as the command does come first. Among the other spellings Codex has no order.
    fn match_candidates(
        &self,
        program: &str,
        arguments: &[String],
        resolved: Option<(&AbsolutePathBuf, &HostExecutables)>,
    ) -> Vec<PrefixRuleMatch> {
        let matched =
            |rule: &PrefixRule| rule.to_match(program, arguments, resolved.map(|(path, _)| path));
        let same = self.by_program.get(program).into_iter().flatten();
        let mut found: Vec<_> = same.filter_map(matched).collect();
        if self.has_canonical_rules {
            let others = self.by_program.iter().filter(|(key, _)| *key != program);
            let listed = others.filter(|(key, _)| {
                resolved.is_none_or(|(path, hosts)| allows_program_path(hosts, key, path))
            });
            let rules = listed.flat_map(|(_, rules)| rules);
            let rules = rules.filter(|rule| rule.pattern.words_equal(&rule.pattern.first, program));
            found.extend(rules.filter_map(matched));
        }
        found
    }
}

/// Returns whether a program of this name may have this path. A program that is not listed may have
/// any path.
fn allows_program_path(hosts: &HostExecutables, name: &str, path: &AbsolutePathBuf) -> bool {
    hosts.get(name).is_none_or(|paths| paths.contains(&path.0))
}
