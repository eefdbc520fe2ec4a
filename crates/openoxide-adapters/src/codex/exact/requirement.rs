//! What has to happen before a call runs, and how Codex says why.

use super::{
    approval::AskForApproval,
    danger::Danger,
    dialect::Dialect,
    judge::{Judge, Segment, ShellCall},
    rule::{Decision, PrefixRuleMatch},
};

/// What has to happen before a call runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Nothing.
    Skip {
        /// Whether it runs without a sandbox: rules allow every command of it.
        bypass_sandbox: bool,
        /// The words of the rule that is proposed when the sandbox refuses it.
        amendment: Option<Vec<String>>,
    },
    /// A person says yes.
    NeedsApproval {
        /// Why the policy asks, if a rule does.
        reason: Option<String>,
        /// The words of the rule that is proposed.
        amendment: Option<Vec<String>>,
    },
    /// A person says yes, once, and nothing else counts: no rule, no hook, no yes of before.
    NeedsPerson {
        /// Why: the words of the administrator's rule.
        reason: String,
    },
    /// It does not run.
    Forbidden {
        /// Why, as the model reads it.
        reason: String,
    },
}

const FORCED: &str = "rm -f style commands are not permitted. Use a safer approach";

/// The words that a decision is explained with.
pub(super) struct Why<'a> {
    pub(super) judge: &'a Judge<'a>,
    pub(super) call: &'a ShellCall,
    pub(super) segments: &'a [Segment],
}

impl Why<'_> {
    /// Returns why it does not run: the longest prefix that a rule forbids says it.
    pub(super) fn forbidden(&self) -> String {
        let command = shown(&self.call.argv);
        match self.longest(Decision::Forbidden) {
            Some(PrefixRuleMatch { justification: Some(why), .. }) => {
                format!("`{command}` rejected: {why}")
            }
            Some(found) => {
                let prefix = shown(&found.matched_prefix);
                format!("`{command}` rejected: policy forbids commands starting with `{prefix}`")
            }
            None if self.forced() => format!("`{command}` rejected: {FORCED}"),
            None => format!("`{command}` rejected: blocked by policy"),
        }
    }

    /// Asks a person, unless that is switched off.
    pub(super) fn prompt(&self) -> Requirement {
        let rule = self.longest(Decision::Prompt);
        if let Some(reason) = self.switched_off(rule.is_some()) {
            return Requirement::Forbidden { reason };
        }
        let reason = rule.map(|found| self.required("approval", found));
        let once = rule.is_none() && self.asks_once();
        let amendment = || self.judge.amendment(self.call, self.segments, Decision::Prompt);
        Requirement::NeedsApproval { reason, amendment: if once { None } else { amendment() } }
    }

    /// Asks a person whose answer alone counts, unless questions of rules are switched off.
    pub(super) fn person(&self) -> Requirement {
        match (self.switched_off(true), self.longest(Decision::PromptUser)) {
            (None, Some(rule)) => {
                Requirement::NeedsPerson { reason: self.required("human approval", rule) }
            }
            (Some(reason), _) => Requirement::Forbidden { reason },
            (None, None) => Requirement::Forbidden { reason: self.forbidden() },
        }
    }

    fn required(&self, what: &str, rule: &PrefixRuleMatch) -> String {
        let command = shown(&self.call.argv);
        match &rule.justification {
            Some(why) => format!("`{command}` requires {what}: {why}"),
            None => format!("`{command}` requires {what} by policy"),
        }
    }

    fn switched_off(&self, by_rule: bool) -> Option<String> {
        let off = |name: &str| format!("approval required by policy{name} is false");
        match self.judge.approval {
            AskForApproval::Never => {
                Some("approval required by policy, but AskForApproval is set to Never".to_owned())
            }
            AskForApproval::Granular(granular) if by_rule => {
                (!granular.rules).then(|| off(" rule, but AskForApproval::Granular.rules"))
            }
            AskForApproval::Granular(granular) if !granular.sandbox_approval => match self.forced()
            {
                _ if self.asks_once() => None,
                true => Some(FORCED.to_owned()),
                false => Some(off(", but AskForApproval::Granular.sandbox_approval")),
            },
            _ => None,
        }
    }

    /// Since 0.169 what is dangerous is asked about, even where nothing about the sandbox is to be asked.
    fn asks_once(&self) -> bool {
        let AskForApproval::Granular(granular) = self.judge.approval else { return false };
        let dangers =
            || self.segments.iter().any(|segment| matches!(segment.thought, Some((_, Some(_)))));
        self.judge.dialect == Dialect::V0169 && !granular.sandbox_approval && dangers()
    }

    fn forced(&self) -> bool {
        let forced = Some(Danger::ForcedRemoval);
        self.segments
            .iter()
            .any(|segment| segment.thought.is_some_and(|(_, danger)| danger == forced))
    }

    /// Of those that are equally long, the last.
    fn longest(&self, decision: Decision) -> Option<&PrefixRuleMatch> {
        let matches = self.segments.iter().flat_map(|segment| &segment.matches);
        matches
            .filter(|found| found.decision == decision)
            .max_by_key(|found| found.matched_prefix.len())
    }
}

/// Returns a command as messages show it.
fn shown(argv: &[String]) -> String {
    let words = || argv.iter().map(String::as_str);
    shlex::try_join(words()).unwrap_or_else(|_| argv.join(" "))
}
