//! What Codex makes of one call of its shell tool before it runs anything (its stage of policies).

use super::{
    approval::{AskForApproval, SandboxMode},
    banned::is_banned,
    danger::{Danger, danger},
    dialect::Dialect,
    patch::Writable,
    place::Place,
    policy::Policy,
    requirement::{Requirement, Why},
    rule::{Decision, PrefixRuleMatch},
    safe, shell,
};

/// Everything that a call is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// The rules.
    pub policy: &'a Policy,
    /// When a person is asked.
    pub approval: AskForApproval,
    /// What holds commands.
    pub sandbox: SandboxMode,
    /// The version.
    pub dialect: Dialect,
    /// Where Codex was started: paths of programs count from here.
    pub place: Place<'a>,
    /// The shell that is configured.
    pub shell: &'a str,
    /// Where a patch may write to.
    pub writable: Writable<'a>,
}

/// A call of the shell tool.
#[derive(Clone, Debug, Default)]
pub struct ShellCall {
    /// The words of the process.
    pub argv: Vec<String>,
    /// Whether the model wants it outside of the sandbox.
    pub escalated: bool,
    /// The words of a rule that the model proposes.
    pub prefix_rule: Option<Vec<String>>,
}

/// What is known of one of the commands of a call.
pub(super) struct Segment {
    pub(super) argv: Vec<String>,
    pub(super) matches: Vec<PrefixRuleMatch>,
    /// Whether it is all that is known of a script that is more than plain.
    reduced: bool,
    /// What Codex thinks of it where no rule speaks of it.
    pub(super) thought: Option<(Decision, Option<Danger>)>,
}

impl Segment {
    pub(super) fn decision(&self) -> Decision {
        let thought = self.thought.map(|(decision, _)| decision);
        self.matches
            .iter()
            .map(|found| found.decision)
            .chain(thought)
            .max()
            .unwrap_or(Decision::Allow)
    }

    fn allowed_by_rule(&self) -> bool {
        self.matches.iter().any(|found| found.decision == Decision::Allow)
    }

    fn thought_is(&self, decision: Decision) -> bool {
        self.thought.is_some_and(|(thought, _)| thought == decision)
    }
}

impl Judge<'_> {
    /// Returns what has to happen before a call runs.
    #[must_use]
    pub fn requirement(&self, call: &ShellCall) -> Requirement {
        if let Some(reason) = self.refused(call) {
            return Requirement::Forbidden { reason };
        }
        let segments = self.segments(call);
        let why = Why { judge: self, call, segments: &segments };
        match segments.iter().map(Segment::decision).max().unwrap_or(Decision::Allow) {
            Decision::Forbidden => Requirement::Forbidden { reason: why.forbidden() },
            Decision::PromptUser => why.person(),
            Decision::Prompt => why.prompt(),
            Decision::Allow => Requirement::Skip {
                bypass_sandbox: segments.iter().all(Segment::allowed_by_rule),
                amendment: self.amendment(call, &segments, Decision::Allow),
            },
        }
    }

    /// Returns why a call is refused before anything else is looked at: nobody may be asked for what it wants.
    pub(super) fn refused(&self, call: &ShellCall) -> Option<String> {
        let policy = self.approval;
        let refused = call.escalated && !policy.may_escalate(self.dialect);
        refused.then(|| format!(
            "approval policy is {policy:?}; reject command — you cannot ask for escalated permissions if the approval policy \
             is {policy:?}"
        ))
    }

    fn segments(&self, call: &ShellCall) -> Vec<Segment> {
        let script = shell::script(&call.argv);
        let plain = script.and_then(|script| shell::commands(script, self.dialect));
        let heredoc =
            || script.filter(|_| self.dialect == Dialect::V0145).and_then(shell::before_heredoc);
        let (commands, reduced) = match (plain, heredoc) {
            (Some(plain), _) => (plain, false),
            (None, heredoc) => heredoc()
                .map_or_else(|| (vec![call.argv.clone()], false), |words| (vec![words], true)),
        };
        let bound = self.unknown_shell(call).map(|shell| vec![shell]);
        bound.into_iter().chain(commands).map(|argv| self.segment(argv, call, reduced)).collect()
    }

    /// A shell from elsewhere is a program like any other.
    fn unknown_shell(&self, call: &ShellCall) -> Option<String> {
        let shell = call
            .argv
            .first()
            .filter(|_| self.dialect != Dialect::V0145 && shell::script(&call.argv).is_some())?;
        let known = ["/bin", "/usr/bin"]
            .contains(&shell.rsplit_once('/').map_or("", |(directory, _)| directory));
        (shell != self.shell && !known).then(|| shell.clone())
    }

    fn segment(&self, argv: Vec<String>, call: &ShellCall, reduced: bool) -> Segment {
        let matches = self.policy.matches(&argv, &self.place);
        let thought = matches.is_empty().then(|| self.thought(&argv, call, reduced));
        Segment { argv, matches, reduced, thought }
    }

    fn thought(
        &self,
        argv: &[String],
        call: &ShellCall,
        reduced: bool,
    ) -> (Decision, Option<Danger>) {
        use AskForApproval::{Never, UnlessTrusted};
        let old = self.dialect == Dialect::V0145;
        if old && self.approval == UnlessTrusted && !reduced && safe::is_safe(argv) {
            return (Decision::Allow, None);
        }
        let danger = danger(argv, self.dialect);
        let decision = match (danger, self.approval) {
            (Some(_), Never) => Decision::Forbidden,
            (Some(_), _) | (None, UnlessTrusted) => Decision::Prompt,
            (None, Never) => Decision::Allow,
            _ if self.sandbox.restricts() && call.escalated => Decision::Prompt,
            _ => Decision::Allow,
        };
        (decision, danger)
    }

    /// Returns the words of the rule that is proposed.
    pub(super) fn amendment(
        &self,
        call: &ShellCall,
        segments: &[Segment],
        decision: Decision,
    ) -> Option<Vec<String>> {
        if segments.iter().any(|segment| segment.reduced) {
            return None;
        }
        let ruled = segments.iter().any(|segment| !segment.matches.is_empty());
        let wanted = call.prefix_rule.as_ref().filter(|_| !ruled);
        let wanted = wanted.filter(|prefix| !prefix.is_empty() && !is_banned(prefix));
        let suffices =
            |prefix: &&Vec<String>| segments.iter().all(|segment| self.begins(segment, prefix));
        if let Some(prefix) = wanted.filter(suffices) {
            return Some(prefix.clone());
        }
        let prompted = segments.iter().flat_map(|segment| &segment.matches);
        let hindered = match decision {
            Decision::Allow => ruled,
            _ => prompted.into_iter().any(|found| found.decision == Decision::Prompt),
        };
        let first =
            segments.iter().find(|segment| segment.thought_is(decision)).filter(|_| !hindered);
        first.map(|segment| segment.argv.clone())
    }

    /// Says whether a rule that allows this prefix would allow a command of which no rule speaks.
    fn begins(&self, segment: &Segment, prefix: &[String]) -> bool {
        segment.decision() == Decision::Allow
            || self.policy.would_match(prefix, &segment.argv, &self.place)
    }
}
