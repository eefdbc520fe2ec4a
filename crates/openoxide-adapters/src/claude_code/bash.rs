//! How Claude Code judges a script: the whole, then each of its commands, then what they touch.

mod held_back;
mod part;
mod places;

use openoxide_protocol::Effect;

use super::{
    Policy, constructs::can_be_checked, judge::Answer, paths, rules::command as matches,
    settings::Mode, words::Command,
};
use crate::{foreign::Surroundings, script::Script};

/// Longer commands are asked about.
const LONGEST: usize = 10_000;

/// A script that is judged.
struct Judged<'p, 's> {
    policy: &'p Policy,
    script: &'s Script<'s>,
    commands: Vec<Command<'s>>,
    at: Surroundings<'s>,
}

impl Policy {
    pub(crate) fn bash(&self, text: &str, at: Surroundings<'_>) -> Answer<'_> {
        if text.contains(['\r', '\u{1b}']) {
            return Answer::of(Effect::Deny, "the client refuses such an input");
        }
        let Some(script) = Script::read(text).filter(|_| text.len() <= LONGEST) else {
            return Answer::of(Effect::Ask, "the command is too long to be checked");
        };
        let commands = commands(&script);
        let judged = Judged { policy: self, script: &script, commands, at };
        judged.answer(text)
    }
}

/// Returns every command of a script, wherever it stands.
fn commands<'a>(script: &Script<'a>) -> Vec<Command<'a>> {
    let kinds = ["command", "declaration_command", "unset_command"];
    let nodes = script.every(|node| kinds.contains(&node.kind()));
    nodes.into_iter().map(|node| Command::of(script, node)).collect()
}

impl<'p> Judged<'p, '_> {
    fn answer(&self, text: &str) -> Answer<'p> {
        for effect in [Effect::Deny, Effect::Ask] {
            if let Some(rule) = self.held_back(text, effect) {
                return Answer::by(rule);
            }
        }
        if let Some(rule) = self.touches(Effect::Deny) {
            return Answer::by(rule);
        }
        if self.hides_a_denied_command() {
            return Answer::of(
                Effect::Ask,
                "a rule denies a command in what another shell would run",
            );
        }
        if self.removes_what_matters() {
            return Answer::of(Effect::Ask, "nothing approves this removal");
        }
        let everything = self.policy.whole("Bash", Effect::Allow);
        if everything.is_some() || self.policy.mode == Mode::Bypass {
            let protected = self.outputs().iter().any(|path| {
                path.as_ref().is_some_and(paths::is_protected) && self.policy.mode != Mode::Bypass
            });
            return match everything {
                _ if protected => Answer::of(Effect::Ask, "no rule approves a change of this file"),
                Some(rule) => Answer::by(rule),
                None => Answer::of(Effect::Allow, "the mode allows it"),
            };
        }
        self.by_parts(text)
    }

    /// Each command must be allowed by itself, and so must what is redirected.
    fn by_parts(&self, text: &str) -> Answer<'p> {
        let whole = blanks(text.trim());
        let exactly = self.policy.rules(Effect::Allow).find(|rule| {
            let content = rule.about("Bash").unwrap_or_default();
            let assigns = content.split(' ').next().is_some_and(|word| word.contains('='));
            let same =
                blanks(content) == whole && (content == text.trim() || content.contains("&&"));
            !content.is_empty() && (same || (assigns && matches(content, &whole, &whole)))
        });
        if let Some(rule) = exactly {
            return Answer::by(rule);
        }
        let odd = |c: char| {
            (c.is_whitespace() && !c.is_ascii())
                || ('\u{200b}'..='\u{200f}').contains(&c)
                || c == '\u{feff}'
        };
        if text.contains(odd) || !can_be_checked(self.script) {
            return Answer::of(Effect::Ask, "it cannot be checked before it runs");
        }
        if let Some(answer) = self.strange_places() {
            return answer;
        }
        let mut first = None;
        for command in &self.commands {
            let answer = self.part(command);
            if answer.effect != Effect::Allow {
                return answer;
            }
            first = first.or(answer.rule);
        }
        match first {
            Some(rule) => Answer::by(rule),
            None => Answer::of(Effect::Allow, "it only looks"),
        }
    }
}

/// Returns a text with one blank wherever there are some.
fn blanks(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}
