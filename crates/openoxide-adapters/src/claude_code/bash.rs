//! Evaluation of a script as Claude Code does it: first the whole script, then each of its
//! commands, then the files that they access.

mod command_check;
mod path_candidates;
mod restrictive_rules;

use openoxide_protocol::Effect;

use super::{
    ClaudePolicy, command_words::ScriptCommand, evaluation::ClaudeVerdict,
    opaque_constructs::is_statically_checkable, path_patterns, rules::matches_command as matches,
    settings::ClaudeMode,
};
use crate::{parsed_script::ParsedScript, policy_translation::CallContext};

/// The maximum length of a command. Longer commands require approval.
const MAX_COMMAND_LENGTH: usize = 10_000;

/// A script that is checked against a policy.
struct ClaudeScriptCheck<'p, 's> {
    policy: &'p ClaudePolicy,
    script: &'s ParsedScript<'s>,
    commands: Vec<ScriptCommand<'s>>,
    context: CallContext<'s>,
}

impl ClaudePolicy {
    pub(crate) fn check_bash(&self, text: &str, at: CallContext<'_>) -> ClaudeVerdict<'_> {
        if text.contains(['\r', '\u{1b}']) {
            return ClaudeVerdict::new(Effect::Deny, "the client refuses such an input");
        }
        let Some(script) = ParsedScript::parse(text).filter(|_| text.len() <= MAX_COMMAND_LENGTH)
        else {
            return ClaudeVerdict::new(Effect::Ask, "the command is too long to be checked");
        };
        let commands = collect_commands(&script);
        let judged = ClaudeScriptCheck { policy: self, script: &script, commands, context: at };
        judged.evaluate(text)
    }
}

/// Returns every command of a script, at any depth.
fn collect_commands<'a>(script: &ParsedScript<'a>) -> Vec<ScriptCommand<'a>> {
    let kinds = ["command", "declaration_command", "unset_command"];
    let nodes = script.find_nodes(|node| kinds.contains(&node.kind()));
    nodes.into_iter().map(|node| ScriptCommand::from_node(script, node)).collect()
}

impl<'p> ClaudeScriptCheck<'p, '_> {
    fn evaluate(&self, text: &str) -> ClaudeVerdict<'p> {
        for effect in [Effect::Deny, Effect::Ask] {
            if let Some(rule) = self.find_restrictive_rule(text, effect) {
                return ClaudeVerdict::from_rule(rule);
            }
        }
        if let Some(rule) = self.find_file_rule(Effect::Deny) {
            return ClaudeVerdict::from_rule(rule);
        }
        if self.has_hidden_denied_command() {
            return ClaudeVerdict::new(
                Effect::Ask,
                "a rule denies a command in what another shell would run",
            );
        }
        if self.has_critical_removal() {
            return ClaudeVerdict::new(Effect::Ask, "no rule approves this removal");
        }
        let everything = self.policy.find_tool_rule("Bash", Effect::Allow);
        if everything.is_some() || self.policy.mode == ClaudeMode::Bypass {
            let protected = self.collect_output_paths().iter().any(|path| {
                path.as_ref().is_some_and(path_patterns::is_protected)
                    && self.policy.mode != ClaudeMode::Bypass
            });
            return match everything {
                _ if protected => {
                    ClaudeVerdict::new(Effect::Ask, "no rule approves a change of this file")
                }
                Some(rule) => ClaudeVerdict::from_rule(rule),
                None => ClaudeVerdict::new(Effect::Allow, "the mode allows it"),
            };
        }
        self.evaluate_commands(text)
    }

    /// Evaluates the commands of a script. Each command must be allowed individually, and so must
    /// each redirection.
    fn evaluate_commands(&self, text: &str) -> ClaudeVerdict<'p> {
        let whole = collapse_whitespace(text.trim());
        let exactly = self.policy.rules_with_effect(Effect::Allow).find(|rule| {
            let content = rule.content_for("Bash").unwrap_or_default();
            let assigns = content.split(' ').next().is_some_and(|word| word.contains('='));
            let same = collapse_whitespace(content) == whole
                && (content == text.trim() || content.contains("&&"));
            !content.is_empty() && (same || (assigns && matches(content, &whole, &whole)))
        });
        if let Some(rule) = exactly {
            return ClaudeVerdict::from_rule(rule);
        }
        let odd = |c: char| {
            (c.is_whitespace() && !c.is_ascii())
                || ('\u{200b}'..='\u{200f}').contains(&c)
                || c == '\u{feff}'
        };
        if text.contains(odd) || !is_statically_checkable(self.script) {
            return ClaudeVerdict::new(Effect::Ask, "it cannot be checked before it runs");
        }
        if let Some(answer) = self.check_redirections() {
            return answer;
        }
        let mut first = None;
        for command in &self.commands {
            let answer = self.check_command(command);
            if answer.effect != Effect::Allow {
                return answer;
            }
            first = first.or(answer.rule);
        }
        match first {
            Some(rule) => ClaudeVerdict::from_rule(rule),
            None => ClaudeVerdict::new(Effect::Allow, "it only looks"),
        }
    }
}

/// Returns a text with each sequence of whitespace replaced by one blank.
fn collapse_whitespace(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}
