//! The rules of Claude Code's own settings, which do not see a command that runs in the sandbox.

use std::path::Path;

use openoxide_adapters::claude_code::{ClaudeSettings, translate_settings};
use openoxide_permission::{
    EvaluationContext, LayerKind, PathAnchors, PolicyStack, ReasonCode, decide_access,
    default_layer,
};
use openoxide_protocol::{AbsPath, Effect, OperationFacts, PermissionMode, SandboxAutoAllow};

use crate::{
    claude_settings_files::{claude_settings_files, read_settings},
    engine::Engine,
};

impl Engine {
    /// Returns whether a rule in the settings of Claude Code could ask about or deny a script. An
    /// ask rule about every tool is left out, because it also applies to what replaces the script.
    ///
    /// Claude Code applies its rules to the replaced command. Rules of its command line are not
    /// known here. A file that cannot be read or parsed may contain such a rule.
    #[must_use]
    pub fn claude_rules_restrict(
        &self,
        script: &str,
        cwd: &AbsPath,
        facts: &OperationFacts,
    ) -> bool {
        let call = (script, cwd, facts);
        claude_settings_files(self.home(), &self.project)
            .into_iter()
            .any(|(kind, path)| self.claude_file_restricts(kind, &path, call).unwrap_or(true))
    }

    /// Returns `None` if the file cannot be evaluated.
    fn claude_file_restricts(
        &self,
        kind: LayerKind,
        path: &Path,
        (script, cwd, facts): (&str, &AbsPath, &OperationFacts),
    ) -> Option<bool> {
        let Some(text) = read_settings(path).ok()? else { return Some(false) };
        let settings = ClaudeSettings::parse(&text, &path.to_string_lossy(), &self.project).ok()?;
        if settings.restricts_script(script) {
            return Some(true);
        }
        let anchors = PathAnchors { home: self.home(), base: &self.project };
        let layer = translate_settings(&text, kind, &path.to_string_lossy(), anchors).ok()?;
        if !layer.errors.is_empty() {
            return None;
        }
        let policy = PolicyStack::compile(&[layer.layer, default_layer()]).ok()?;
        let context = EvaluationContext {
            mode: PermissionMode::Default,
            cwd,
            roots: &self.roots,
            policy_error: None,
            auto_allow: SandboxAutoAllow::Off,
        };
        Some(facts.accesses.iter().any(|access| {
            let outcome = decide_access(&policy, &context, access);
            let by_rule = matches!(outcome.reason, ReasonCode::Rule | ReasonCode::PartialMatch(_));
            let is_general = outcome
                .rule_match
                .is_some_and(|found| found.matches_everything || found.layer == LayerKind::Default);
            outcome.effect != Effect::Allow && by_rule && !is_general
        }))
    }
}
