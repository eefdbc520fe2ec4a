//! A rule that may be suggested, and the accesses that it is matched against.

use openoxide_permission::{EvaluationContext, SessionGrants};
use openoxide_protocol::{AbsPath, Access, PermissionMode, SandboxAutoAllow};

/// An access that was asked about, with the directory of the call.
pub(super) struct AskedAccess {
    pub(super) access: Access,
    pub(super) cwd: AbsPath,
}

/// A rule that a prompt would offer for a question.
pub(super) struct CandidateRule {
    pub(super) text: String,
    compiled: SessionGrants,
}

impl CandidateRule {
    /// Compiles a rule.
    pub(super) fn new(text: &str) -> Self {
        let mut compiled = SessionGrants::default();
        compiled.add_rules(&[text.to_owned()], &rule_context(&AbsPath::root()));
        Self { text: text.to_owned(), compiled }
    }

    /// Returns whether the rule allows an access.
    pub(super) fn allows(&self, asked: &AskedAccess) -> bool {
        self.compiled.granted_rules_allow(&rule_context(&asked.cwd), &asked.access)
    }

    /// Returns whether another rule has the same permission and the same first word, so that they
    /// may match the same accesses.
    pub(super) fn is_similar(&self, other: &str) -> bool {
        let head = |rule: &str| rule.find(' ').unwrap_or(rule.len());
        self.text.get(..head(&self.text)) == other.get(..head(other))
    }
}

/// Returns the context in which only the rules themselves decide.
const fn rule_context(cwd: &AbsPath) -> EvaluationContext<'_> {
    EvaluationContext {
        mode: PermissionMode::Default,
        cwd,
        roots: &[],
        policy_error: None,
        auto_allow: SandboxAutoAllow::Off,
    }
}
