//! Hooks: programs that are asked before the rules, and the effect of their answers.
//!
//! This crate does not run hooks. It defines hooks and applies their answers to a decision. The
//! strictest answer applies: deny over ask over allow over pass. A deny is final. An ask requires a
//! person's approval, whatever the rules allow. An allow only removes a question: denied operations
//! stay denied, and the safety floor, rules that only a person can answer, and opaque accesses
//! still ask.

pub(crate) mod allow_scope;
mod matcher;

use std::time::Duration;

use openoxide_protocol::{
    AbsPath, Decision, Effect, HookAnswer, HookDecision, Obligation, OperationFacts, RuleRef,
};

use self::allow_scope::hook_allow_scope;
use crate::{
    evaluation::{EvaluationContext, apply_dont_ask, evaluate, evaluate_with_hook_allow},
    layer::LayerKind,
    policy_stack::PolicyStack,
};
pub use matcher::{HookMatcher, HookMatcherError};

/// The event at which a hook is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// Before a tool runs.
    PreToolUse,
    /// Before a person is asked for approval.
    PermissionRequest,
}

impl HookEvent {
    /// Returns the name that policies use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreToolUse => "pre_tool_use",
            Self::PermissionRequest => "permission_request",
        }
    }

    /// Returns the name in Claude Code's spelling, which is passed to hooks.
    #[must_use]
    pub const fn as_camel_case(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
        }
    }

    /// Parses the name in a policy file, in OpenOxide's spelling or in Claude Code's
    /// (`PreToolUse`).
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        matches!(word, "pre_tool_use" | "PreToolUse").then_some(Self::PreToolUse)
    }
}

/// The command that a hook runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookCommand {
    /// A script for the shell.
    Shell(String),
    /// A program and its arguments, passed unchanged. Never empty.
    Program(Vec<String>),
}

impl std::fmt::Display for HookCommand {
    /// Writes the command in quotes on one line. Different commands are written differently.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shell(script) => write!(out, "{script:?}"),
            Self::Program(words) => write!(out, "{words:?}"),
        }
    }
}

/// A program that is asked before the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The layer that defines the hook.
    pub layer: LayerKind,
    /// The file that defines the hook.
    pub file: String,
    /// The first line of the hook in the file, counted from 1.
    pub line: u32,
    /// The event at which the hook is asked.
    pub event: HookEvent,
    /// The tools about which the hook is asked.
    pub matcher: HookMatcher,
    /// The command that the hook runs.
    pub command: HookCommand,
    /// The time limit of a run.
    pub timeout: Duration,
    /// True if the hook may allow. Its ask and deny answers always apply.
    pub may_allow: bool,
    /// True if an allow does not answer the questions of rules, as in Claude Code.
    pub respects_ask_rules: bool,
    /// The project that the hook belongs to. The hook runs there, because the files that a person
    /// trusted are there. `None` if the hook belongs to the user.
    pub project: Option<AbsPath>,
    /// True if the hook is trusted or needs no trust. An untrusted hook is not run, and the calls
    /// that it applies to require approval.
    pub is_trusted: bool,
}

impl Hook {
    /// Returns whether the hook is asked about a tool at this event.
    #[must_use]
    pub fn applies_to(&self, event: HookEvent, tool: &str) -> bool {
        self.event == event && self.matcher.matches(tool)
    }

    /// Returns the file name of the hook's program. The rest of the command is left out because it
    /// may contain secrets.
    #[must_use]
    pub fn name(&self) -> &str {
        let word = match &self.command {
            HookCommand::Program(words) => words.first().map_or("", String::as_str),
            HookCommand::Shell(script) => {
                script.split_whitespace().find(|word| !word.contains('=')).unwrap_or_default()
            }
        };
        let word = word.trim_matches(['"', '\'']);
        word.rsplit('/').next().unwrap_or(word)
    }

    /// Returns a reference to the hook: its layer, file, line and name.
    #[must_use]
    pub fn rule_ref(&self) -> RuleRef {
        RuleRef {
            layer: self.layer.as_str().to_owned(),
            file: Some(self.file.clone()),
            line: Some(self.line),
            text: format!("hook {}", self.name()),
            reason: None,
        }
    }

    /// Returns the hook's decision as an answer. An allow becomes a pass if the hook may not allow.
    #[must_use]
    pub fn to_answer(&self, decision: HookDecision, reason: String) -> HookAnswer {
        let (hook, respects_ask_rules) = (self.rule_ref(), self.respects_ask_rules);
        if decision == HookDecision::Allow && !self.may_allow {
            let (decision, reason) =
                (HookDecision::Pass, "this hook is not permitted to allow".to_owned());
            return HookAnswer { hook, decision, reason, respects_ask_rules };
        }
        HookAnswer { hook, decision, reason, respects_ask_rules }
    }
}

/// Returns the decision on an operation about which these hooks were asked first.
pub fn evaluate_with_hooks(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    facts: &OperationFacts,
    answers: &[HookAnswer],
) -> Decision {
    let decision = evaluate(policy, context, facts);
    let Some((effect, answer)) = find_strictest_answer(answers) else { return decision };
    match effect {
        Effect::Deny => apply_answer(decision, answer, Effect::Deny),
        Effect::Ask => apply_ask(decision, answer, context),
        Effect::Allow => {
            let lifted =
                evaluate_with_hook_allow(policy, context, facts, Some(hook_allow_scope(answers)));
            let saves = lifted.effect == Effect::Allow && decision.effect > Effect::Allow;
            if saves { apply_answer(lifted, answer, Effect::Allow) } else { decision }
        }
    }
}

/// Returns the strictest answer. Among equally strict answers, returns the first.
fn find_strictest_answer(answers: &[HookAnswer]) -> Option<(Effect, &HookAnswer)> {
    let said = |answer: &HookAnswer| decision_effect(answer.decision);
    let worst = answers.iter().filter_map(said).max()?;
    answers.iter().find(|answer| said(answer) == Some(worst)).map(|answer| (worst, answer))
}

/// Returns the effect of a hook decision. A failed hook asks.
const fn decision_effect(said: HookDecision) -> Option<Effect> {
    match said {
        HookDecision::Pass => None,
        HookDecision::Allow => Some(Effect::Allow),
        HookDecision::Ask | HookDecision::Failed => Some(Effect::Ask),
        HookDecision::Deny => Some(Effect::Deny),
    }
}

/// Returns the decision after this answer is applied.
fn apply_answer(decision: Decision, answer: &HookAnswer, effect: Effect) -> Decision {
    let rule = Some(answer.hook.clone());
    Decision {
        effect,
        reason: answer_reason(answer),
        rule,
        suggested_rules: Vec::new(),
        ..decision
    }
}

/// Turns the decision into a question of a hook. A person has to answer it each time, because a
/// grant would override the hook.
fn apply_ask(decision: Decision, answer: &HookAnswer, context: &EvaluationContext<'_>) -> Decision {
    if decision.effect == Effect::Deny {
        return decision;
    }
    let mut asked = apply_answer(decision, answer, apply_dont_ask(Effect::Ask, context.mode));
    if !asked.obligations.contains(&Obligation::Human) {
        asked.obligations.push(Obligation::Human);
    }
    asked
}

fn answer_reason(answer: &HookAnswer) -> String {
    let HookAnswer { hook, decision, reason, .. } = answer;
    let verb = match decision {
        HookDecision::Pass => "has no decision",
        HookDecision::Allow => "allows it",
        HookDecision::Ask => "asks",
        HookDecision::Deny => "denies it",
        HookDecision::Failed => "failed",
    };
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!("{} {verb}{why}", hook.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(command: HookCommand) -> Hook {
        Hook {
            layer: LayerKind::Project,
            file: "/p/.openoxide/policy.toml".to_owned(),
            line: 3,
            event: HookEvent::PreToolUse,
            matcher: HookMatcher::parse_name_patterns("Bash|Edit").unwrap(),
            command,
            timeout: Duration::from_secs(1),
            may_allow: false,
            respects_ask_rules: true,
            project: None,
            is_trusted: true,
        }
    }

    fn shell(script: &str) -> Hook {
        hook(HookCommand::Shell(script.to_owned()))
    }

    #[test]
    fn an_event_has_our_word_and_claude_codes() {
        use HookEvent::{PermissionRequest, PreToolUse};
        assert_eq!(
            [PreToolUse, PermissionRequest].map(HookEvent::as_str),
            ["pre_tool_use", "permission_request"]
        );
        let theirs = [PreToolUse, PermissionRequest].map(HookEvent::as_camel_case);
        assert_eq!(theirs, ["PreToolUse", "PermissionRequest"]);
        assert_eq!(["pre_tool_use", "PreToolUse"].map(HookEvent::parse), [Some(PreToolUse); 2]);
        assert_eq!(["permission_request", "pretooluse", ""].map(HookEvent::parse), [None; 3]);
    }

    #[test]
    fn a_hook_is_asked_about_its_tools_at_its_moment() {
        let hook = shell("guard");
        assert!(hook.applies_to(HookEvent::PreToolUse, "Bash"));
        assert!(!hook.applies_to(HookEvent::PreToolUse, "Read"));
        assert!(!hook.applies_to(HookEvent::PermissionRequest, "Bash"));
    }

    #[test]
    fn a_hook_is_named_by_its_program_alone() {
        for (script, expected) in [
            ("guard", "guard"),
            ("/opt/bin/guard --all", "guard"),
            ("TOKEN=x 'bin/guard' y", "guard"),
            ("\"/a b/guard\"", "a"),
            ("A=1", ""),
            ("", ""),
        ] {
            assert_eq!(shell(script).name(), expected, "{script}");
        }
        let program = |words: &[&str]| {
            hook(HookCommand::Program(words.iter().map(|word| (*word).to_owned()).collect()))
        };
        assert_eq!(program(&["/a b/guard", "x"]).name(), "guard");
        assert_eq!(program(&[]).name(), "");
        let rule = shell("/opt/bin/guard").rule_ref();
        assert_eq!(
            (rule.layer.as_str(), rule.line, rule.text.as_str()),
            ("project", Some(3), "hook guard")
        );
        assert_eq!(rule.file.as_deref(), Some("/p/.openoxide/policy.toml"));
    }

    #[test]
    fn hook_commands_are_displayed_in_quotes() {
        assert_eq!(HookCommand::Shell("a\nb".into()).to_string(), r#""a\nb""#);
        let words = vec!["a".to_owned(), "b c".to_owned()];
        assert_eq!(HookCommand::Program(words).to_string(), r#"["a", "b c"]"#);
    }

    #[test]
    fn an_allow_becomes_a_pass_if_the_hook_may_not_allow() {
        use HookDecision::{Allow, Ask, Deny, Failed, Pass};
        let weak = shell("guard");
        let strong = Hook { may_allow: true, respects_ask_rules: false, ..weak.clone() };
        for said in [Pass, Allow, Ask, Deny, Failed] {
            let answer = strong.to_answer(said, "so".to_owned());
            assert_eq!(
                (answer.decision, answer.reason.as_str(), answer.respects_ask_rules),
                (said, "so", false)
            );
            let answer = weak.to_answer(said, "so".to_owned());
            let expected = match said {
                Allow => (Pass, "this hook is not permitted to allow", true),
                other => (other, "so", true),
            };
            assert_eq!(
                (answer.decision, answer.reason.as_str(), answer.respects_ask_rules),
                expected
            );
            assert_eq!(answer.hook, weak.rule_ref());
        }
    }
}
