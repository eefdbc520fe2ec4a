//! Codex's answers under its approval policy `untrusted`, which asks about everything that no rule
//! allows. Only under this policy do rules alone decide.

use std::path::PathBuf;

use openoxide_adapters::tool_action;
use openoxide_codex::exact_semantics::{
    AskForApproval, CallEvaluator, CallOutcome, CallVerdict, CodexDialect, ExecPolicy,
    LaunchContext, SandboxMode, ShellToolCall, WritableRoots,
};
use openoxide_protocol::{AbsPath, Action, Decision, Effect};
use serde_json::Value;

use crate::{codex_rule_files::read_rule_files, error::codex_error::CodexPolicyError};

/// Rule files of Codex.
pub(super) struct CodexRuleFiles {
    policy: ExecPolicy,
}

impl CodexRuleFiles {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or Codex would reject it.
    pub(super) fn read(
        files: &[PathBuf],
        cwd: &AbsPath,
        home: Option<&AbsPath>,
    ) -> Result<Self, CodexPolicyError> {
        let place = LaunchContext { cwd: cwd.as_str(), home: home.map(AbsPath::as_str) };
        Ok(Self { policy: read_rule_files(files, &place)? })
    }

    /// Returns the answer to a tool call.
    pub(super) fn evaluate_call(
        &self,
        tool: &str,
        input: &Value,
        cwd: &AbsPath,
        home: Option<&AbsPath>,
    ) -> Decision {
        match tool_action::parse_action(tool, input) {
            Action::Command { script } => self.evaluate_script(script, cwd, home),
            _ => decision_from_verdict(Effect::Ask, "under `untrusted` Codex asks about it"),
        }
    }

    /// Returns the answer to a bare question: the strictest answer about its patterns.
    pub(super) fn evaluate_question(
        &self,
        permission: &str,
        patterns: &[String],
        cwd: &AbsPath,
        home: Option<&AbsPath>,
    ) -> Decision {
        let input = |pattern: &String| serde_json::json!({ "command": pattern });
        let answers =
            patterns.iter().map(|each| self.evaluate_call(permission, &input(each), cwd, home));
        let strictest = answers.max_by_key(|decision| decision.effect);
        strictest.unwrap_or_else(|| decision_from_verdict(Effect::Ask, "nothing is named"))
    }

    fn evaluate_script(&self, cmd: String, cwd: &AbsPath, home: Option<&AbsPath>) -> Decision {
        let judge = CallEvaluator {
            policy: &self.policy,
            approval: AskForApproval::UnlessTrusted,
            sandbox: SandboxMode::WorkspaceWrite,
            dialect: CodexDialect::V0169,
            context: LaunchContext { cwd: cwd.as_str(), home: home.map(AbsPath::as_str) },
            shell: "/bin/bash",
            writable_roots: WritableRoots::default(),
        };
        new_decision(&judge.decide(ShellToolCall { cmd, ..ShellToolCall::default() }))
    }
}

fn new_decision(answer: &CallOutcome) -> Decision {
    let (effect, otherwise) = match answer.verdict {
        CallVerdict::Run => (Effect::Allow, "Codex's rules allow all of it"),
        CallVerdict::Prompt => {
            (Effect::Ask, "under `untrusted` Codex asks about what no rule allows")
        }
        CallVerdict::Reject => (Effect::Deny, "Codex rejects it"),
    };
    decision_from_verdict(effect, answer.reason.as_deref().unwrap_or(otherwise))
}

fn decision_from_verdict(effect: Effect, reason: &str) -> Decision {
    Decision {
        effect,
        reason: reason.to_owned(),
        rule: None,
        parts: Vec::new(),
        findings: Vec::new(),
        suggested_rules: Vec::new(),
        obligations: Vec::new(),
    }
}
