//! Decisions under the rules of one tool, which come from the program that owns the tool.

use openoxide_permission::{EvaluationContext, PolicyStack, evaluate};
use openoxide_protocol::{AbsPath, Decision, OperationFacts, PermissionMode};

/// Evaluates an operation under the rules of one tool, in the default mode. This has no effects.
///
/// The policy of the user is not consulted: a program that has an [`Engine`](crate::Engine), too,
/// applies the stricter decision.
pub fn evaluate_tool_rules(
    rules: &PolicyStack,
    facts: &OperationFacts,
    cwd: &AbsPath,
    roots: &[AbsPath],
) -> Decision {
    let mode = PermissionMode::Default;
    evaluate(
        rules,
        &EvaluationContext { mode, cwd, roots, policy_error: None, auto_allow: Default::default() },
        facts,
    )
}
