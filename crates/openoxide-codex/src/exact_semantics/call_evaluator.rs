//! The inputs of Codex's decision about one call of its shell tool, and the results of its rules
//! and heuristics for each command of the call.

use super::{
    apply_patch::patch_change::WritableRoots,
    approval_policy::{AskForApproval, SandboxMode},
    banned_prefixes::is_banned_prefix,
    dangerous_commands::{DangerKind, find_danger},
    dialect::CodexDialect,
    exec_policy::ExecPolicy,
    launch_context::LaunchContext,
    prefix_rule::{CodexDecision, PrefixRuleMatch},
    safe_commands, script_commands,
};

/// The inputs of the decision about a call.
#[derive(Clone, Copy, Debug)]
pub struct CallEvaluator<'a> {
    /// The rules.
    pub policy: &'a ExecPolicy,
    /// The conditions under which a person is asked.
    pub approval: AskForApproval,
    /// The confinement of commands.
    pub sandbox: SandboxMode,
    /// The version of Codex.
    pub dialect: CodexDialect,
    /// The launch context; the paths of programs are relative to its directory.
    pub context: LaunchContext<'a>,
    /// The configured shell.
    pub shell: &'a str,
    /// The directories that a patch may write to.
    pub writable_roots: WritableRoots<'a>,
}

/// A call of the shell tool.
#[derive(Clone, Debug, Default)]
pub struct ShellInvocation {
    /// The words of the process.
    pub argv: Vec<String>,
    /// True if the model requests a run outside of the sandbox.
    pub escalated: bool,
    /// The words of a rule that the model proposes.
    pub prefix_rule: Option<Vec<String>>,
}

/// One of the commands of a call, with its rule matches.
pub(super) struct CommandSegment {
    pub(super) argv: Vec<String>,
    pub(super) matches: Vec<PrefixRuleMatch>,
    /// True if the command is the only known part of a script that is not plain.
    is_partial: bool,
    /// The decision of Codex's heuristics, if no rule matches.
    pub(super) heuristic: Option<(CodexDecision, Option<DangerKind>)>,
}

impl CommandSegment {
    pub(super) fn decision(&self) -> CodexDecision {
        let thought = self.heuristic.map(|(decision, _)| decision);
        self.matches
            .iter()
            .map(|found| found.decision)
            .chain(thought)
            .max()
            .unwrap_or(CodexDecision::Allow)
    }

    pub(super) fn is_allowed_by_rule(&self) -> bool {
        self.matches.iter().any(|found| found.decision == CodexDecision::Allow)
    }

    fn has_heuristic(&self, decision: CodexDecision) -> bool {
        self.heuristic.is_some_and(|(thought, _)| thought == decision)
    }
}

impl CallEvaluator<'_> {
    /// Returns why a call is rejected before any other check: it asks for an escalation that the
    /// approval policy does not permit.
    pub(super) fn escalation_rejection(&self, call: &ShellInvocation) -> Option<String> {
        let policy = self.approval;
        let refused = call.escalated && !policy.may_escalate(self.dialect);
        refused.then(|| format!(
            "approval policy is {policy:?}; reject command — you cannot ask for escalated permissions if the approval policy \
             is {policy:?}"
        ))
    }

    pub(super) fn split_segments(&self, call: &ShellInvocation) -> Vec<CommandSegment> {
        let script = script_commands::extract_script(&call.argv);
        let plain =
            script.and_then(|script| script_commands::read_plain_commands(script, self.dialect));
        let heredoc = || {
            script
                .filter(|_| self.dialect == CodexDialect::V0145)
                .and_then(script_commands::read_heredoc_command)
        };
        let (commands, reduced) = match (plain, heredoc) {
            (Some(plain), _) => (plain, false),
            (None, heredoc) => heredoc()
                .map_or_else(|| (vec![call.argv.clone()], false), |words| (vec![words], true)),
        };
        let bound = self.find_unknown_shell(call).map(|shell| vec![shell]);
        bound
            .into_iter()
            .chain(commands)
            .map(|argv| self.build_segment(argv, call, reduced))
            .collect()
    }

    /// Returns a shell that is neither the configured one nor in `/bin` or `/usr/bin`. It is
    /// treated as any other program.
    fn find_unknown_shell(&self, call: &ShellInvocation) -> Option<String> {
        let shell = call.argv.first().filter(|_| {
            self.dialect != CodexDialect::V0145
                && script_commands::extract_script(&call.argv).is_some()
        })?;
        let known = ["/bin", "/usr/bin"]
            .contains(&shell.rsplit_once('/').map_or("", |(directory, _)| directory));
        (shell != self.shell && !known).then(|| shell.clone())
    }

    fn build_segment(
        &self,
        argv: Vec<String>,
        call: &ShellInvocation,
        reduced: bool,
    ) -> CommandSegment {
        let matches = self.policy.matching_rules(&argv, &self.context);
        let thought = matches.is_empty().then(|| self.apply_heuristics(&argv, call, reduced));
        CommandSegment { argv, matches, is_partial: reduced, heuristic: thought }
    }

    fn apply_heuristics(
        &self,
        argv: &[String],
        call: &ShellInvocation,
        reduced: bool,
    ) -> (CodexDecision, Option<DangerKind>) {
        use AskForApproval::{Never, UnlessTrusted};
        let old = self.dialect == CodexDialect::V0145;
        if old && self.approval == UnlessTrusted && !reduced && safe_commands::is_safe_command(argv)
        {
            return (CodexDecision::Allow, None);
        }
        let danger = find_danger(argv, self.dialect);
        let decision = match (danger, self.approval) {
            (Some(_), Never) => CodexDecision::Forbidden,
            (Some(_), _) | (None, UnlessTrusted) => CodexDecision::Prompt,
            (None, Never) => CodexDecision::Allow,
            _ if self.sandbox.is_restricted() && call.escalated => CodexDecision::Prompt,
            _ => CodexDecision::Allow,
        };
        (decision, danger)
    }

    /// Returns the words of the rule that is proposed.
    pub(super) fn propose_amendment(
        &self,
        call: &ShellInvocation,
        segments: &[CommandSegment],
        decision: CodexDecision,
    ) -> Option<Vec<String>> {
        if segments.iter().any(|segment| segment.is_partial) {
            return None;
        }
        let ruled = segments.iter().any(|segment| !segment.matches.is_empty());
        let wanted = call.prefix_rule.as_ref().filter(|_| !ruled);
        let wanted = wanted.filter(|prefix| !prefix.is_empty() && !is_banned_prefix(prefix));
        let suffices = |prefix: &&Vec<String>| {
            segments.iter().all(|segment| self.prefix_allows(segment, prefix))
        };
        if let Some(prefix) = wanted.filter(suffices) {
            return Some(prefix.clone());
        }
        let prompted = segments.iter().flat_map(|segment| &segment.matches);
        let hindered = match decision {
            CodexDecision::Allow => ruled,
            _ => prompted.into_iter().any(|found| found.decision == CodexDecision::Prompt),
        };
        let first =
            segments.iter().find(|segment| segment.has_heuristic(decision)).filter(|_| !hindered);
        first.map(|segment| segment.argv.clone())
    }

    /// Returns whether a rule that allows this prefix would allow a command that no rule matches.
    fn prefix_allows(&self, segment: &CommandSegment, prefix: &[String]) -> bool {
        segment.decision() == CodexDecision::Allow
            || self.policy.prefix_matches(prefix, &segment.argv, &self.context)
    }
}
