//! Calls that the user's own allow rules of Claude Code allow.
//!
//! A question of a hook overrides these rules. So the hook leaves such a call to Claude Code, which
//! then applies all of its own rules. OpenOxide's analysis decides what the rules allow: a secret,
//! a finding or an unknown part of a command still asks.

use std::path::Path;

use openoxide_adapters::{
    agent_hook::{AgentHookCall, AgentHookEvent},
    claude_code::translate_settings,
};
use openoxide_permission::{
    EvaluationContext, Layer, LayerKind, PathAnchors, PolicyStack, ReasonCode, decide_access,
    default_layer, evaluate,
};
use openoxide_protocol::{
    AbsPath, Decision, Effect, HookAnswer, HookDecision, Obligation, OperationFacts, PermissionMode,
};

use crate::{
    claude_settings_files::{
        CLAUDE_MANAGED_DIRECTORY, applies_only_managed_rules, claude_project_files,
        claude_user_file, is_trusted_in_claude, read_settings,
    },
    engine::Engine,
};

impl Engine {
    /// Returns the decision of Claude Code's own rules, if they allow a call that the policy does not
    /// decide.
    ///
    /// Returns `None` if a rule or a hook of the policy asks or denies, if the policy has errors or
    /// only the administrator's rules are in force, here or in Claude Code, or if Claude Code is in
    /// a mode in which it may run a call that its rules do not allow: an unknown one, or
    /// `bypassPermissions`.
    pub(crate) fn claude_rules_decision(
        &self,
        call: &AgentHookCall,
        (policy, context): (&PolicyStack, &EvaluationContext<'_>),
        facts: &OperationFacts,
        answers: &[HookAnswer],
    ) -> Option<Decision> {
        let is_restricted = context.policy_error.is_some()
            || self.loaded_policy.managed.allow_managed_rules_only
            || answers.iter().any(|answer| answer.decision != HookDecision::Pass)
            || self.policy_restricts(policy, context, facts);
        let applies_rules = call.mode.is_some_and(|mode| mode != PermissionMode::BypassPermissions);
        if call.event != AgentHookEvent::PreToolUse || !applies_rules || is_restricted {
            return None;
        }
        if applies_only_managed_rules(Path::new(CLAUDE_MANAGED_DIRECTORY)) {
            return None;
        }
        let layers = self.claude_layers();
        if !layers.iter().flat_map(|layer| &layer.rules).any(|rule| rule.effect == Effect::Allow) {
            return None;
        }
        let layers: Vec<Layer> = layers.into_iter().chain([default_layer()]).collect();
        let rules = PolicyStack::compile(&layers).ok()?;
        let decision = evaluate(&rules, context, facts);
        let is_plain = !decision.obligations.contains(&Obligation::Sandboxed);
        (decision.effect == Effect::Allow && is_plain).then(|| Decision {
            reason: format!("the settings of Claude Code allow it: {}", decision.reason),
            ..decision
        })
    }

    /// Returns whether a rule of a policy file asks about or denies a part of a call.
    fn policy_restricts(
        &self,
        policy: &PolicyStack,
        context: &EvaluationContext<'_>,
        facts: &OperationFacts,
    ) -> bool {
        facts.accesses.iter().any(|access| {
            let outcome = decide_access(policy, context, access);
            let by_rule = matches!(
                outcome.reason,
                ReasonCode::Rule | ReasonCode::PartialMatch(_) | ReasonCode::LastGoodDeny
            );
            let is_built_in =
                outcome.rule_match.is_some_and(|found| found.layer == LayerKind::Default);
            outcome.effect != Effect::Allow && by_rule && !is_built_in
        })
    }

    /// Returns the layers of Claude Code's settings whose allow rules it applies, most precedent
    /// first. A file that it cannot read has no effect there.
    fn claude_layers(&self) -> Vec<Layer> {
        let project: Vec<_> = claude_project_files(&self.project)
            .into_iter()
            .rev()
            .filter_map(|(kind, path)| self.claude_layer(kind, &path))
            .collect();
        let is_trusted = || is_trusted_in_claude(self.home(), &self.project);
        let project = if project.is_empty() || !is_trusted() { Vec::new() } else { project };
        let user = claude_user_file(self.home())
            .and_then(|path| self.claude_layer(LayerKind::User, &path));
        project.into_iter().chain(user).collect()
    }

    fn claude_layer(&self, kind: LayerKind, path: &Path) -> Option<Layer> {
        let text = read_settings(path).ok()??;
        // In the user's settings, a leading `/` is the directory of the file.
        let directory =
            path.parent().and_then(|directory| AbsPath::new(directory.to_str()?).ok())?;
        let base = if kind == LayerKind::User { &directory } else { &self.project };
        let anchors = PathAnchors { home: self.home(), base };
        translate_settings(&text, kind, &path.to_string_lossy(), anchors)
            .ok()
            .map(|translated| Layer { mode: None, ..translated.layer })
    }
}
