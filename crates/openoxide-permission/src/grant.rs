//! Grants: remembered yeses of one session.

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

/// What reviewers have said yes to, for as long as the session lasts.
///
/// A grant answers a question; it never lifts a deny, and never the safety floor.
#[derive(Debug, Default)]
pub struct Grants {
    exact: Vec<Digest>,
    rules: Vec<Rule>,
    compiled: Option<PolicyStack>,
}

impl Grants {
    /// Remembers that exactly this operation may pass.
    pub fn add_exact(&mut self, digest: Digest) {
        if !self.exact.contains(&digest) {
            self.exact.push(digest);
        }
    }

    /// Remembers rules that "always" showed. A text that is no rule is left out: it then grants nothing.
    pub fn add_rules(&mut self, texts: &[String], context: &Context<'_>) {
        let anchors = Anchors { home: None, base: context.cwd };
        for text in texts {
            if let Ok(rule) = syntax::parse(text, Effect::Allow, anchors) {
                self.rules.push(rule);
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
        self.exact.contains(&digest)
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
        _ => None,
    }
}
