//! Random calls, in groups that share a policy, a sandbox and rule files. The calls are harmless:
//! their programs and paths do not exist.

mod call;
mod kinds;
mod patch;
mod rules;
mod script;

use serde_json::{Value, json};

use crate::crash::chance::Chance;

/// The default version of the real program.
pub(super) const DIALECT: &str = "0.169";
/// The number of calls that share a thread of Codex.
pub(super) const CALLS: usize = 20;

/// The settings with which a thread of Codex is started.
#[derive(Debug)]
pub(super) struct Setting {
    /// The version of the program.
    pub(super) dialect: String,
    /// The value in the protocol.
    pub(super) policy: Value,
    /// The value in the protocol.
    pub(super) sandbox: &'static str,
    /// The texts of the rule files, in their order.
    pub(super) files: Vec<String>,
}

/// One call of `exec_command`.
#[derive(Debug)]
pub(super) struct Call {
    /// The kinds of scripts that the script is made of.
    pub(super) kinds: Vec<&'static str>,
    /// The arguments.
    pub(super) arguments: Value,
}

/// The setting and the calls of one thread of Codex.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) setting: Setting,
    pub(super) calls: Vec<Call>,
}

impl Group {
    /// Returns the group with this number. It is the same for the same seed. The policies and
    /// sandboxes alternate.
    pub(super) fn new(seed: u64, number: u64) -> Self {
        let mut chance = Chance::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let policies = policies();
        let turn = usize::try_from(number).unwrap_or_default();
        let policy = policies.get(turn % policies.len()).cloned();
        let sandboxes = ["read-only", "workspace-write", "danger-full-access"];
        let sandbox = sandboxes.get(turn / policies.len() % sandboxes.len());
        let setting = Setting {
            dialect: DIALECT.to_owned(),
            policy: policy.unwrap_or_default(),
            sandbox: sandbox.copied().unwrap_or_default(),
            files: rules::files(&mut chance),
        };
        let calls = (0..CALLS).map(|_| call::new(&mut chance)).collect();
        Self { setting, calls }
    }
}

impl Setting {
    /// Adapts the setting to another version. Before 0.167 rules did not have `canonical_matching`.
    pub(super) fn speak(&mut self, dialect: &str) {
        dialect.clone_into(&mut self.dialect);
        if dialect != DIALECT {
            let plain = |text: &String| text.replace(", canonical_matching=True", "");
            self.files = self.files.iter().map(plain).collect();
        }
    }
}

fn policies() -> Vec<Value> {
    let mut policies = vec![json!("untrusted"), json!("on-request"), json!("never")];
    for (sandbox, rules) in [(true, true), (true, false), (false, true), (false, false)] {
        policies.push(json!({ "granular": {
            "sandbox_approval": sandbox, "rules": rules, "skill_approval": false,
            "request_permissions": false, "mcp_elicitations": true,
        }}));
    }
    policies
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_policy_is_combined_with_every_sandbox() {
        let setting = |number| {
            let Setting { policy, sandbox, .. } = Group::new(1, number).setting;
            (policy.to_string(), sandbox)
        };
        assert_eq!((0..21).map(setting).collect::<BTreeSet<_>>().len(), 21);
    }

    #[test]
    fn the_same_seed_makes_the_same_group() {
        let shown = |seed| format!("{:?}", Group::new(seed, 3));
        assert_eq!(shown(1), shown(1));
        assert_ne!(shown(1), shown(2));
    }

    #[test]
    fn every_kind_of_script_is_generated() {
        let calls = (0..100).flat_map(|number| Group::new(1, number).calls);
        let kinds: BTreeSet<_> = calls.flat_map(|call| call.kinds).collect();
        assert_eq!(kinds, kinds::KINDS.iter().map(|kind| kind.0).collect());
    }

    /// Every removal names a path below the work directory that does not exist.
    #[test]
    fn removals_name_only_paths_that_do_not_exist() {
        let calls = (0..500).flat_map(|number| Group::new(2, number).calls);
        let mut removals = 0;
        for call in calls {
            let script = call.arguments["cmd"].as_str().unwrap();
            for command in script.split([';', '|', '&', '\n', '(', ')', '`']) {
                let mut words =
                    command.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
                if words.any(|word| word == "rm" || word.ends_with("/rm")) {
                    removals += 1;
                    let elsewhere =
                        words.find(|word| word.starts_with(['/', '~', '.', '*', '?', '{']));
                    assert_eq!(elsewhere, None, "{script:?}");
                }
            }
        }
        assert!(removals > 1_000);
    }
}
