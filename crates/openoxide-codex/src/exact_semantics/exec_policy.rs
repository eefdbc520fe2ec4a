//! The rules of all files, and their evaluation for a command.

use serde::Serialize;

use super::{
    launch_context::LaunchContext,
    network_rules::NetworkRule,
    prefix_rule::{CodexDecision, PrefixRule, PrefixRuleMatch},
    prefix_rule_index::{HostExecutables, PrefixRuleIndex},
    rule_file::ParsedRuleFile,
};

/// The rules of one or more files.
#[derive(Clone, Debug, Default)]
pub struct ExecPolicy {
    pub(super) rules: PrefixRuleIndex,
    pub(super) hosts: HostExecutables,
    pub(super) network: Vec<NetworkRule>,
}

/// The evaluation of a command: the output of `codex execpolicy check` in its JSON form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandEvaluation {
    /// All rules that matched.
    pub matched_rules: Vec<CodexRuleMatch>,
    /// The most restrictive decision of the matching rules; `None` if no rule matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<CodexDecision>,
}

/// A match, tagged with the kind of its rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum CodexRuleMatch {
    /// A match of a rule about the first words of a command.
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

    /// Returns all rules that match a command, including rules about a program's name if the
    /// command gives a path.
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

    /// Returns the rules about hosts in the order in which they were added.
    #[must_use]
    pub fn network_rules(&self) -> &[NetworkRule] {
        &self.network
    }
}
