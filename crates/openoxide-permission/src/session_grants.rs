//! Grants: remembered approvals of one session.

use std::collections::HashSet;

use openoxide_protocol::{AbsPath, Access, AccessDecision, Effect, GrantScope, OperationDigest};

use crate::{
    combining_algorithm::CombiningAlgorithm,
    evaluation::{EvaluationContext, decide_access},
    layer::{Layer, LayerKind},
    pattern::path,
    policy_stack::PolicyStack,
    rule::{PathAnchors, Rule},
    rule_syntax, suggested_rules,
};

/// The key under which a session approval is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GrantKey {
    /// Exactly this operation.
    Operation(OperationDigest),
    /// A key that the tool defines ([`crate::GrantCoverage::keys`]).
    ToolKey(String),
}

/// The approvals of one session.
///
/// A grant answers a question. It never overrides a deny or the safety floor.
#[derive(Debug, Default)]
pub struct SessionGrants {
    keys: HashSet<GrantKey>,
    rules: Vec<Rule>,
    compiled: Option<PolicyStack>,
    /// The rules for directories whose changes are approved.
    directory_rules: Option<PolicyStack>,
}

impl SessionGrants {
    /// Remembers an approval of exactly this operation.
    pub fn add_operation(&mut self, digest: OperationDigest) {
        self.add_keys(&[GrantKey::Operation(digest)]);
    }

    /// Remembers each key separately: a later operation that needs only some of them is covered too
    /// (Codex's `with_cached_approval`).
    pub(crate) fn add_keys(&mut self, keys: &[GrantKey]) {
        self.keys.extend(keys.iter().cloned());
    }

    /// Remembers approvals of changes in these directories and below them, instead of the earlier
    /// ones.
    pub(crate) fn set_directories(&mut self, directories: &[AbsPath]) {
        let anchors = PathAnchors { home: None, base: &AbsPath::root() };
        let rule = |directory: &AbsPath| {
            let text = format!("Edit({}/**)", path::quote(directory));
            rule_syntax::parse_rule(&text, Effect::Allow, anchors).ok()
        };
        self.directory_rules = compile_rules(directories.iter().filter_map(rule).collect());
    }

    /// Remembers the rules that "always" displayed. A text that is not a valid rule is ignored and
    /// grants nothing.
    pub fn add_rules(&mut self, texts: &[String], context: &EvaluationContext<'_>) {
        let anchors = PathAnchors { home: None, base: context.cwd };
        for text in texts {
            match rule_syntax::parse_rule(text, Effect::Allow, anchors) {
                Ok(rule) if !self.rules.contains(&rule) => self.rules.push(rule),
                Ok(_) | Err(_) => {}
            }
        }
        self.compiled = compile_rules(self.rules.clone());
    }

    /// Returns whether exactly this operation was granted.
    #[must_use]
    pub fn allows_operation(&self, digest: OperationDigest) -> bool {
        self.keys.contains(&GrantKey::Operation(digest))
    }

    /// Returns whether all of these keys were granted. Returns false for an empty list.
    pub(crate) fn allows_keys(&self, keys: &[String]) -> bool {
        let granted = |key: &String| self.keys.contains(&GrantKey::ToolKey(key.clone()));
        !keys.is_empty() && keys.iter().all(granted)
    }

    /// Returns whether a granted rule allows this access.
    #[must_use]
    pub fn granted_rules_allow(&self, context: &EvaluationContext<'_>, access: &Access) -> bool {
        self.compiled.as_ref().is_some_and(|policy| is_allowed_by_rule(policy, context, access))
    }

    /// Returns whether an access is a change in an approved directory. It is not if a rule asks
    /// about it, because the approval was not about that rule.
    pub(crate) fn directories_allow(
        &self,
        context: &EvaluationContext<'_>,
        part: &AccessDecision,
    ) -> bool {
        let policy = self.directory_rules.as_ref().filter(|_| part.rule.is_none());
        policy.is_some_and(|policy| is_allowed_by_rule(policy, context, &part.access))
    }
}

fn compile_rules(rules: Vec<Rule>) -> Option<PolicyStack> {
    let layer = Layer {
        kind: LayerKind::Local,
        file: None,
        combining_algorithm: CombiningAlgorithm::Strictest,
        rules,
        mode: None,
    };
    PolicyStack::compile(&[layer]).ok()
}

fn is_allowed_by_rule(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    access: &Access,
) -> bool {
    let outcome = decide_access(policy, context, access);
    outcome.effect == Effect::Allow && outcome.rule_match.is_some()
}

/// Returns the rules that an approval of this scope saves, for display.
#[must_use]
pub fn granted_rules(scope: GrantScope, always: &[String], accesses: &[Access]) -> Vec<String> {
    match scope {
        GrantScope::Once | GrantScope::Directory => Vec::new(),
        GrantScope::Project => always.to_vec(),
        GrantScope::Session => accesses.iter().filter_map(session_rule).collect(),
    }
}

fn session_rule(access: &Access) -> Option<String> {
    match access {
        Access::Exec(exec) => suggested_rules::exact_command_rule(&exec.argv),
        Access::Repetition { tool } => Some(format!("DoomLoop({tool})")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{CommandClass, ExecAccess, PathAccess, PermissionMode};

    use super::*;

    fn run(command: &str) -> Access {
        Access::Exec(ExecAccess {
            argv: command.split(' ').collect(),
            text: command.to_owned(),
            class: CommandClass::Unknown,
            span: Default::default(),
            arity: 0,
            ..ExecAccess::default()
        })
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn only_granted_operations_and_keys_are_covered() {
        let (one, other) = (OperationDigest([1; 32]), OperationDigest([2; 32]));
        let mut grants = SessionGrants::default();
        assert!(!grants.allows_operation(one));
        grants.add_operation(one);
        assert!(grants.allows_operation(one) && !grants.allows_operation(other));
        assert!(!grants.allows_keys(&[]));
        grants.add_keys(&[GrantKey::ToolKey("a".into())]);
        assert!(grants.allows_keys(&texts(&["a"])) && !grants.allows_keys(&texts(&["a", "b"])));
    }

    #[test]
    fn rules_are_added_once_and_invalid_rules_grant_nothing() {
        let cwd = AbsPath::root();
        let roots = std::slice::from_ref(&cwd);
        let context = EvaluationContext {
            mode: PermissionMode::Default,
            cwd: &cwd,
            roots,
            policy_error: None,
            auto_allow: Default::default(),
        };
        let mut grants = SessionGrants::default();
        assert!(!grants.granted_rules_allow(&context, &run("a x")));
        grants.add_rules(&texts(&["Bash(a *)", "Bash(a", "Bash(a *)"]), &context);
        grants.add_rules(&texts(&["Bash(b *)", "Bash(a *)"]), &context);
        assert_eq!(grants.rules.len(), 2);
        assert!(
            grants.granted_rules_allow(&context, &run("a x"))
                && grants.granted_rules_allow(&context, &run("b x"))
        );
        assert!(!grants.granted_rules_allow(&context, &run("c x")));
        // An access that no rule matches is not covered by grants, even if it needs no approval.
        let read = Access::Read(PathAccess::new(AbsPath::new("/a").unwrap()));
        assert_eq!(decide_access(&PolicyStack::default(), &context, &read).effect, Effect::Allow);
        assert!(!grants.granted_rules_allow(&context, &read));
    }

    #[test]
    fn each_scope_saves_the_rules_that_are_displayed() {
        let accesses = [
            run("npm ci"),
            Access::Repetition { tool: "Bash".into() },
            Access::CallTool { tool: "x".into() },
        ];
        let always = texts(&["Bash(npm *)"]);
        let of = |scope| granted_rules(scope, &always, &accesses);
        assert_eq!(of(GrantScope::Once), texts(&[]));
        assert_eq!(of(GrantScope::Project), always);
        assert_eq!(of(GrantScope::Session), texts(&["Bash(npm ci)", "DoomLoop(Bash)"]));
    }
}
