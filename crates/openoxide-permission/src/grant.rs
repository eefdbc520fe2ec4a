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
