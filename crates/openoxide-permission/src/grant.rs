//! Grants: remembered yeses of one session.

use std::collections::HashSet;

use openoxide_protocol::{Access, Digest, Effect, GrantScope};

use crate::{
    always,
    combine::Combining,
    evaluate::{Context, decide},
    layer::{Layer, LayerKind},
    rule::{Anchors, Rule},
    stack::PolicyStack,
    syntax,
};

/// What a yes for the session is remembered under.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// Exactly this operation.
    Exact(Digest),
    /// What a tool calls the same ([`crate::Covers::keys`]).
    Named(String),
}

/// What reviewers have said yes to, for as long as the session lasts.
///
/// A grant answers a question; it never lifts a deny, and never the safety floor.
#[derive(Debug, Default)]
pub struct Grants {
    keys: HashSet<Key>,
    rules: Vec<Rule>,
    compiled: Option<PolicyStack>,
}

impl Grants {
    /// Remembers that exactly this operation may pass.
    pub fn add_exact(&mut self, digest: Digest) {
        self.add_keys(&[Key::Exact(digest)]);
    }

    /// Remembers each key by itself: what needs some of them only is covered, too (Codex's `with_cached_approval`).
    pub(crate) fn add_keys(&mut self, keys: &[Key]) {
        self.keys.extend(keys.iter().cloned());
    }

    /// Remembers rules that "always" showed. A text that is no rule is left out: it then grants nothing.
    pub fn add_rules(&mut self, texts: &[String], context: &Context<'_>) {
        let anchors = Anchors { home: None, base: context.cwd };
        for text in texts {
            match syntax::parse(text, Effect::Allow, anchors) {
                Ok(rule) if !self.rules.contains(&rule) => self.rules.push(rule),
                Ok(_) | Err(_) => {}
            }
        }
        let layer = Layer {
            kind: LayerKind::Local,
            file: None,
            combining: Combining::Strictest,
            rules: self.rules.clone(),
            mode: None,
        };
        self.compiled = PolicyStack::compile(&[layer]).ok();
    }

    /// Says whether exactly this operation was granted.
    #[must_use]
    pub fn covers_exactly(&self, digest: Digest) -> bool {
        self.keys.contains(&Key::Exact(digest))
    }

    /// Says whether every one of these keys was granted; where there are none, nothing was.
    pub(crate) fn cover_keys(&self, keys: &[String]) -> bool {
        let granted = |key: &String| self.keys.contains(&Key::Named(key.clone()));
        !keys.is_empty() && keys.iter().all(granted)
    }

    /// Says whether a granted rule allows this access.
    #[must_use]
    pub fn cover(&self, context: &Context<'_>, access: &Access) -> bool {
        self.compiled.as_ref().is_some_and(|policy| {
            let outcome = decide(policy, context, access);
            outcome.effect == Effect::Allow && outcome.ruling.is_some()
        })
    }
}

/// Returns the rules that a yes of this scope remembers, as a person reads them.
#[must_use]
pub fn remembered(scope: GrantScope, always: &[String], accesses: &[Access]) -> Vec<String> {
    match scope {
        GrantScope::Once => Vec::new(),
        GrantScope::Project => always.to_vec(),
        GrantScope::Session => accesses.iter().filter_map(exactly).collect(),
    }
}

fn exactly(access: &Access) -> Option<String> {
    match access {
        Access::Exec(exec) => always::exactly(&exec.argv),
        Access::DoomLoop { tool } => Some(format!("DoomLoop({tool})")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{AbsPath, CommandClass, Exec, PathAccess, PermissionMode};

    use super::*;

    fn run(command: &str) -> Access {
        Access::Exec(Exec {
            argv: command.split(' ').collect(),
            text: command.to_owned(),
            class: CommandClass::Unknown,
            span: Default::default(),
            arity: 0,
            ..Exec::default()
        })
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn exactly_what_was_granted_is_covered() {
        let (one, other) = (Digest([1; 32]), Digest([2; 32]));
        let mut grants = Grants::default();
        assert!(!grants.covers_exactly(one));
        grants.add_exact(one);
        assert!(grants.covers_exactly(one) && !grants.covers_exactly(other));
        assert!(!grants.cover_keys(&[]));
        grants.add_keys(&[Key::Named("a".into())]);
        assert!(grants.cover_keys(&texts(&["a"])) && !grants.cover_keys(&texts(&["a", "b"])));
    }

    #[test]
    fn rules_add_up_each_once_and_a_text_that_is_no_rule_grants_nothing() {
        let cwd = AbsPath::root();
        let roots = std::slice::from_ref(&cwd);
        let context = Context { mode: PermissionMode::Default, cwd: &cwd, roots, doubt: None };
        let mut grants = Grants::default();
        assert!(!grants.cover(&context, &run("a x")));
        grants.add_rules(&texts(&["Bash(a *)", "Bash(a", "Bash(a *)"]), &context);
        grants.add_rules(&texts(&["Bash(b *)", "Bash(a *)"]), &context);
        assert_eq!(grants.rules.len(), 2);
        assert!(grants.cover(&context, &run("a x")) && grants.cover(&context, &run("b x")));
        assert!(!grants.cover(&context, &run("c x")));
        // What no rule speaks of is no matter of the grants, even where it needs no yes.
        let read = Access::Read(PathAccess::new(AbsPath::new("/a").unwrap()));
        assert_eq!(decide(&PolicyStack::default(), &context, &read).effect, Effect::Allow);
        assert!(!grants.cover(&context, &read));
    }

    #[test]
    fn each_scope_remembers_what_a_person_reads() {
        let accesses = [
            run("npm ci"),
            Access::DoomLoop { tool: "Bash".into() },
            Access::CallTool { tool: "x".into() },
        ];
        let always = texts(&["Bash(npm *)"]);
        let of = |scope| remembered(scope, &always, &accesses);
        assert_eq!(of(GrantScope::Once), texts(&[]));
        assert_eq!(of(GrantScope::Project), always);
        assert_eq!(of(GrantScope::Session), texts(&["Bash(npm ci)", "DoomLoop(Bash)"]));
    }
}
