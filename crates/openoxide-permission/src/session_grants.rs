//! Grants: remembered yeses of one session.

use std::collections::HashSet;

use openoxide_protocol::{Access, Effect, GrantScope, OperationDigest};

use crate::{
    combining_algorithm::CombiningAlgorithm,
    evaluation::{EvaluationContext, decide_access},
    layer::{Layer, LayerKind},
    policy_stack::PolicyStack,
    rule::{PathAnchors, Rule},
    rule_syntax, suggested_rules,
};

/// What a yes for the session is remembered under.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GrantKey {
    /// Exactly this operation.
    Operation(OperationDigest),
    /// What a tool calls the same ([`crate::GrantCoverage::grant_keys`]).
    ToolKey(String),
}

/// What reviewers have said yes to, for as long as the session lasts.
///
/// A grant answers a question; it never lifts a deny, and never the safety floor.
#[derive(Debug, Default)]
pub struct SessionGrants {
    keys: HashSet<GrantKey>,
    rules: Vec<Rule>,
    compiled: Option<PolicyStack>,
}

impl SessionGrants {
    /// Remembers that exactly this operation may pass.
    pub fn add_exact(&mut self, digest: OperationDigest) {
        self.add_keys(&[GrantKey::Operation(digest)]);
    }

    /// Remembers each key by itself: what needs some of them only is covered, too (Codex's `with_cached_approval`).
    pub(crate) fn add_keys(&mut self, keys: &[GrantKey]) {
        self.keys.extend(keys.iter().cloned());
    }

    /// Remembers rules that "always" showed. A text that is no rule is left out: it then grants nothing.
    pub fn add_rules(&mut self, texts: &[String], context: &EvaluationContext<'_>) {
        let anchors = PathAnchors { home: None, base: context.cwd };
        for text in texts {
            match rule_syntax::parse_rule(text, Effect::Allow, anchors) {
                Ok(rule) if !self.rules.contains(&rule) => self.rules.push(rule),
                Ok(_) | Err(_) => {}
            }
        }
        let layer = Layer {
            kind: LayerKind::Local,
            file: None,
            combining_algorithm: CombiningAlgorithm::Strictest,
            rules: self.rules.clone(),
            mode: None,
        };
        self.compiled = PolicyStack::compile(&[layer]).ok();
    }

    /// Says whether exactly this operation was granted.
    #[must_use]
    pub fn allows_operation(&self, digest: OperationDigest) -> bool {
        self.keys.contains(&GrantKey::Operation(digest))
    }

    /// Says whether every one of these keys was granted; where there are none, nothing was.
    pub(crate) fn allows_keys(&self, keys: &[String]) -> bool {
        let granted = |key: &String| self.keys.contains(&GrantKey::ToolKey(key.clone()));
        !keys.is_empty() && keys.iter().all(granted)
    }

    /// Says whether a granted rule allows this access.
    #[must_use]
    pub fn allows_access(&self, context: &EvaluationContext<'_>, access: &Access) -> bool {
        self.compiled.as_ref().is_some_and(|policy| {
            let outcome = decide_access(policy, context, access);
            outcome.effect == Effect::Allow && outcome.rule_match.is_some()
        })
    }
}

/// Returns the rules that a yes of this scope remembers, as a person reads them.
#[must_use]
pub fn granted_rules(scope: GrantScope, always: &[String], accesses: &[Access]) -> Vec<String> {
    match scope {
        GrantScope::Once => Vec::new(),
        GrantScope::Project => always.to_vec(),
        GrantScope::Session => accesses.iter().filter_map(session_rule).collect(),
    }
}

fn session_rule(access: &Access) -> Option<String> {
    match access {
        Access::Exec(exec) => suggested_rules::exact_rule(&exec.argv),
        Access::DoomLoop { tool } => Some(format!("DoomLoop({tool})")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{AbsPath, CommandClass, ExecAccess, PathAccess, PermissionMode};

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
    fn exactly_what_was_granted_is_covered() {
        let (one, other) = (OperationDigest([1; 32]), OperationDigest([2; 32]));
        let mut grants = SessionGrants::default();
        assert!(!grants.allows_operation(one));
        grants.add_exact(one);
        assert!(grants.allows_operation(one) && !grants.allows_operation(other));
        assert!(!grants.allows_keys(&[]));
        grants.add_keys(&[GrantKey::ToolKey("a".into())]);
        assert!(grants.allows_keys(&texts(&["a"])) && !grants.allows_keys(&texts(&["a", "b"])));
    }

    #[test]
    fn rules_add_up_each_once_and_a_text_that_is_no_rule_grants_nothing() {
        let cwd = AbsPath::root();
        let roots = std::slice::from_ref(&cwd);
        let context = EvaluationContext {
            mode: PermissionMode::Default,
            cwd: &cwd,
            roots,
            policy_error: None,
        };
        let mut grants = SessionGrants::default();
        assert!(!grants.allows_access(&context, &run("a x")));
        grants.add_rules(&texts(&["Bash(a *)", "Bash(a", "Bash(a *)"]), &context);
        grants.add_rules(&texts(&["Bash(b *)", "Bash(a *)"]), &context);
        assert_eq!(grants.rules.len(), 2);
        assert!(
            grants.allows_access(&context, &run("a x"))
                && grants.allows_access(&context, &run("b x"))
        );
        assert!(!grants.allows_access(&context, &run("c x")));
        // What no rule speaks of is no matter of the grants, even where it needs no yes.
        let read = Access::Read(PathAccess::new(AbsPath::new("/a").unwrap()));
        assert_eq!(decide_access(&PolicyStack::default(), &context, &read).effect, Effect::Allow);
        assert!(!grants.allows_access(&context, &read));
    }

    #[test]
    fn each_scope_remembers_what_a_person_reads() {
        let accesses = [
            run("npm ci"),
            Access::DoomLoop { tool: "Bash".into() },
            Access::CallTool { tool: "x".into() },
        ];
        let always = texts(&["Bash(npm *)"]);
        let of = |scope| granted_rules(scope, &always, &accesses);
        assert_eq!(of(GrantScope::Once), texts(&[]));
        assert_eq!(of(GrantScope::Project), always);
        assert_eq!(of(GrantScope::Session), texts(&["Bash(npm ci)", "DoomLoop(Bash)"]));
    }
}
