//! Rules about the first words of commands, indexed by program.

use std::collections::BTreeMap;

use super::{
    launch_context::{LaunchContext, basename},
    prefix_rule::{AbsolutePathBuf, PrefixRule, PrefixRuleMatch},
};

/// The permitted paths of programs, by program name. A program that is not listed may have any
/// path.
pub type HostExecutables = BTreeMap<String, Vec<String>>;

/// Rules indexed by the name of the program.
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

    /// Returns the rules that match a command. A rule about the first word as written takes
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

    /// Returns the rules that match a command. Rules that spell the program exactly as the command
    /// does come first. Codex does not define an order for other spellings.
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
