//! Codex's decision about one call of its shell tool before it runs anything (its policy stage),
//! with Codex's reasons.

use super::{
    approval_policy::AskForApproval,
    approval_requirement::ExecApprovalRequirement,
    call_evaluator::{CallEvaluator, CommandSegment, ShellInvocation},
    dangerous_commands::DangerKind,
    dialect::CodexDialect,
    prefix_rule::{CodexDecision, PrefixRuleMatch},
};

const FORCED_REMOVAL_REASON: &str = "rm -f style commands are not permitted. Use a safer approach";

impl CallEvaluator<'_> {
    /// Returns the approval that a call requires before it runs.
    #[must_use]
    pub fn approval_requirement(&self, call: &ShellInvocation) -> ExecApprovalRequirement {
        if let Some(reason) = self.escalation_rejection(call) {
            return ExecApprovalRequirement::Forbidden { reason };
        }
        let segments = self.split_segments(call);
        let why = RequirementBuilder { judge: self, call, segments: &segments };
        match segments.iter().map(CommandSegment::decision).max().unwrap_or(CodexDecision::Allow) {
            CodexDecision::Forbidden => {
                ExecApprovalRequirement::Forbidden { reason: why.explain_forbidden() }
            }
            CodexDecision::PromptUser => why.build_human_prompt(),
            CodexDecision::Prompt => why.build_prompt(),
            CodexDecision::Allow => ExecApprovalRequirement::Skip {
                bypass_sandbox: segments.iter().all(CommandSegment::is_allowed_by_rule),
                amendment: self.propose_amendment(call, &segments, CodexDecision::Allow),
            },
        }
    }
}

/// A call and its commands, for the computation of the required approval.
struct RequirementBuilder<'a> {
    judge: &'a CallEvaluator<'a>,
    call: &'a ShellInvocation,
    segments: &'a [CommandSegment],
}

impl RequirementBuilder<'_> {
    /// Returns the reason why the call does not run, from the forbidding rule with the longest
    /// prefix.
    fn explain_forbidden(&self) -> String {
        let command = render_command(&self.call.argv);
        match self.longest_match(CodexDecision::Forbidden) {
            Some(PrefixRuleMatch { justification: Some(why), .. }) => {
                format!("`{command}` rejected: {why}")
            }
            Some(found) => {
                let prefix = render_command(&found.matched_prefix);
                format!("`{command}` rejected: policy forbids commands starting with `{prefix}`")
            }
            None if self.has_forced_removal() => {
                format!("`{command}` rejected: {FORCED_REMOVAL_REASON}")
            }
            None => format!("`{command}` rejected: blocked by policy"),
        }
    }

    /// Requires a question to a person, or forbids the call if such questions are switched off.
    fn build_prompt(&self) -> ExecApprovalRequirement {
        let rule = self.longest_match(CodexDecision::Prompt);
        if let Some(reason) = self.prompt_disabled_reason(rule.is_some()) {
            return ExecApprovalRequirement::Forbidden { reason };
        }
        let reason = rule.map(|found| self.approval_reason("approval", found));
        let once = rule.is_none() && self.asks_without_amendment();
        let amendment =
            || self.judge.propose_amendment(self.call, self.segments, CodexDecision::Prompt);
        ExecApprovalRequirement::NeedsApproval {
            reason,
            amendment: if once { None } else { amendment() },
        }
    }

    /// Requires an answer that only a person may give, or forbids the call if questions of rules
    /// are switched off.
    fn build_human_prompt(&self) -> ExecApprovalRequirement {
        match (self.prompt_disabled_reason(true), self.longest_match(CodexDecision::PromptUser)) {
            (None, Some(rule)) => ExecApprovalRequirement::NeedsHumanApproval {
                reason: self.approval_reason("human approval", rule),
            },
            (Some(reason), _) => ExecApprovalRequirement::Forbidden { reason },
            (None, None) => ExecApprovalRequirement::Forbidden { reason: self.explain_forbidden() },
        }
    }

    fn approval_reason(&self, what: &str, rule: &PrefixRuleMatch) -> String {
        let command = render_command(&self.call.argv);
        match &rule.justification {
            Some(why) => format!("`{command}` requires {what}: {why}"),
            None => format!("`{command}` requires {what} by policy"),
        }
    }

    fn prompt_disabled_reason(&self, by_rule: bool) -> Option<String> {
        let off = |name: &str| format!("approval required by policy{name} is false");
        match self.judge.approval {
            AskForApproval::Never => {
                Some("approval required by policy, but AskForApproval is set to Never".to_owned())
            }
            AskForApproval::Granular(granular) if by_rule => {
                (!granular.rules).then(|| off(" rule, but AskForApproval::Granular.rules"))
            }
            AskForApproval::Granular(granular) if !granular.sandbox_approval => {
                match self.has_forced_removal() {
                    _ if self.asks_without_amendment() => None,
                    true => Some(FORCED_REMOVAL_REASON.to_owned()),
                    false => Some(off(", but AskForApproval::Granular.sandbox_approval")),
                }
            }
            _ => None,
        }
    }

    /// Returns whether a dangerous command requires a question although questions about the sandbox
    /// are switched off. This is the case since 0.169.
    fn asks_without_amendment(&self) -> bool {
        let AskForApproval::Granular(granular) = self.judge.approval else { return false };
        let dangers =
            || self.segments.iter().any(|segment| matches!(segment.heuristic, Some((_, Some(_)))));
        self.judge.dialect == CodexDialect::V0169 && !granular.sandbox_approval && dangers()
    }

    fn has_forced_removal(&self) -> bool {
        let forced = Some(DangerKind::ForcedRemoval);
        self.segments
            .iter()
            .any(|segment| segment.heuristic.is_some_and(|(_, danger)| danger == forced))
    }

    /// Returns the match with the longest prefix; the last one if several are equally long.
    fn longest_match(&self, decision: CodexDecision) -> Option<&PrefixRuleMatch> {
        let matches = self.segments.iter().flat_map(|segment| &segment.matches);
        matches
            .filter(|found| found.decision == decision)
            .max_by_key(|found| found.matched_prefix.len())
    }
}

/// Returns a command as messages show it.
fn render_command(argv: &[String]) -> String {
    let words = || argv.iter().map(String::as_str);
    shlex::try_join(words()).unwrap_or_else(|_| argv.join(" "))
}
