//! Questions about commands that install packages, which a rule about their registry would answer.

use openoxide_protocol::{Access, Decision, Effect, OperationFacts, registries::PackageRegistry};

use super::{
    auto_allow::{allows_registry, find_registry},
    evaluation_context::EvaluationContext,
};
use crate::policy_stack::PolicyStack;

/// Returns the registries from which the commands of an operation install packages, and whose hosts
/// no rule allows.
pub(super) fn missing_registries(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    facts: &OperationFacts,
) -> Vec<&'static PackageRegistry> {
    let mut missing = Vec::new();
    for registry in facts.accesses.iter().filter_map(registry_of_access) {
        if !missing.contains(&registry) && !allows_registry(policy, context, registry) {
            missing.push(registry);
        }
    }
    missing
}

/// Makes a decision a question about registries: it names their hosts, and "always" saves rules
/// about them instead of rules about commands. With these rules, the sandbox confines the commands.
pub(super) fn ask_about_registries(
    mut decision: Decision,
    registries: &[&PackageRegistry],
) -> Decision {
    for part in decision.parts.iter_mut().filter(|part| part.decision == Effect::Ask) {
        let Some(registry) = registry_of_access(&part.access) else { continue };
        let contacts = format!("; contacts `{}`", registry.hosts.join("` and `"));
        if decision.reason == part.reason {
            decision.reason += &contacts;
        }
        part.reason += &contacts;
        if let Some(cause) = &mut part.cause {
            cause.detail += &contacts;
        }
    }
    let suggested_rules = registries.iter().map(|registry| registry.allow_rule()).collect();
    Decision { suggested_rules, ..decision }
}

fn registry_of_access(access: &Access) -> Option<&'static PackageRegistry> {
    match access {
        Access::Exec(exec) => find_registry(exec),
        _ => None,
    }
}
