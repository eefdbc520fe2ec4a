//! What Codex would answer under its approval policy `untrusted`, which asks about all that no rule allows: only there rules alone decide.

use std::path::PathBuf;

use openoxide_adapters::{
    codex::exact::{
        Answer, AskForApproval, Call, Dialect, Judge, Place, Policy, SandboxMode, Verdict, Writable,
    },
    tool,
};
use openoxide_protocol::{AbsPath, Action, Decision, Effect};
use serde_json::Value;

use crate::commands::codex;

/// Rule files of Codex.
pub(super) struct Rules {
    policy: Policy,
}

impl Rules {
    /// Reads the files.
    ///
    /// # Errors
    /// When Codex would not take one, in its words.
    pub(super) fn read(
        files: &[PathBuf],
        cwd: &AbsPath,
        home: Option<&AbsPath>,
    ) -> Result<Self, String> {
        let place = Place { cwd: cwd.as_str(), home: home.map(AbsPath::as_str) };
        Ok(Self { policy: codex::policy(files, &place)? })
    }

    /// Returns the answer to a tool call.
    pub(super) fn call(
        &self,
        tool: &str,
        input: &Value,
        cwd: &AbsPath,
        home: Option<&AbsPath>,
    ) -> Decision {
        match tool::action(tool, input) {
            Action::Command { script } => self.script(script, cwd, home),
            _ => decision(Effect::Ask, "under `untrusted` Codex asks about it"),
        }
    }

    /// Returns the answer to a bare question: the strictest about what it names.
    pub(super) fn question(
        &self,
        permission: &str,
        patterns: &[String],
        cwd: &AbsPath,
        home: Option<&AbsPath>,
    ) -> Decision {
        let input = |pattern: &String| serde_json::json!({ "command": pattern });
        let answers = patterns.iter().map(|each| self.call(permission, &input(each), cwd, home));
        let strictest = answers.max_by_key(|decision| decision.effect);
        strictest.unwrap_or_else(|| decision(Effect::Ask, "nothing is named"))
    }

    fn script(&self, cmd: String, cwd: &AbsPath, home: Option<&AbsPath>) -> Decision {
        let judge = Judge {
            policy: &self.policy,
            approval: AskForApproval::UnlessTrusted,
            sandbox: SandboxMode::WorkspaceWrite,
            dialect: Dialect::V0169,
            place: Place { cwd: cwd.as_str(), home: home.map(AbsPath::as_str) },
            shell: "/bin/bash",
            writable: Writable::default(),
        };
        decided(&judge.answer(Call { cmd, ..Call::default() }))
    }
}

fn decided(answer: &Answer) -> Decision {
    let (effect, otherwise) = match answer.verdict {
        Verdict::Run => (Effect::Allow, "Codex's rules allow all of it"),
        Verdict::Prompt => (Effect::Ask, "under `untrusted` Codex asks about what no rule allows"),
        Verdict::Reject => (Effect::Deny, "Codex rejects it"),
    };
    decision(effect, answer.reason.as_deref().unwrap_or(otherwise))
}

fn decision(effect: Effect, reason: &str) -> Decision {
    Decision {
        effect,
        reason: reason.to_owned(),
        rule: None,
        parts: Vec::new(),
        findings: Vec::new(),
        always: Vec::new(),
        obligations: Vec::new(),
    }
}
