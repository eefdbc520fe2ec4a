//! `shell`: the first rule whose words begin a command decides, otherwise `default`.
//!
//! A rule with `sandbox_paths` is passed over when the command names paths elsewhere, which cannot be said here: an allow is
//! then left to what follows, and an ask is never looser than what follows.

use openoxide_permission::{Pattern, Rule, Space, glob::Glob, pattern::command};
use openoxide_protocol::Effect;

use super::{
    Translator,
    config::{Shell, ShellRule, Verdict, line, place},
};
use crate::foreign::Fault;

/// What a shell gives a meaning to: no words of a command hold it unquoted.
const LITERAL: &[char] = &[
    '\\', '"', '\'', '$', '`', '<', '>', '|', '&', ';', '(', ')', '?', '[', ']', '{', '}', '\n',
    '\0',
];

impl Translator<'_> {
    pub(super) fn shell(&mut self, shell: &Shell) {
        let mut any = Glob::new();
        any.any();
        let code = any.clone().finish();
        let everything = vec![Pattern { space: Space::Exec, code }];
        self.rule(effect(shell.default), "shell.default".to_owned(), 0, everything);
        if let Some(rule) = self.rules.last_mut() {
            rule.bare = true;
        }
        for (at, rule) in shell.rules.iter().enumerate().rev() {
            let after = shell.rules.get(at + 1..).unwrap_or_default();
            self.command(rule, after, shell.default);
        }
        if let Some(network) = &shell.network
            && !network.value
        {
            let everywhere = vec![Pattern { space: Space::Fetch, code: any.finish() }];
            self.rule(Effect::Deny, "shell.network".to_owned(), line(network), everywhere);
        }
    }

    fn command(&mut self, rule: &ShellRule, after: &[ShellRule], default: Verdict) {
        let (at, text) = (line(&rule.pattern), rule.pattern.value.trim());
        let own = effect(Verdict { allowed: rule.allowed, approval: rule.approval });
        let vague = text.contains('*');
        if text.is_empty() || text.contains(LITERAL) || (vague && own == Effect::Ask) {
            return self.unsaid(rule, own, "it is about the letters of a command, not its words");
        }
        if own == Effect::Allow && vague {
            return self.unsaid(rule, own, "whether `*` is a wildcard is not said");
        }
        if own == Effect::Allow && !rule.sandbox_paths.is_empty() {
            self.note(
                at,
                &format!(
                    "`{text}` is left out: whether all its paths lie in a sandbox is not known"
                ),
            );
            return;
        }
        let denied = effect(default) == Effect::Deny || after.iter().any(|next| denies(next, text));
        let conditional = !rule.sandbox_paths.is_empty() && own == Effect::Ask;
        let own = if conditional && denied { Effect::Deny } else { own };
        let Ok(read) = command::read(&format!("{text} *")) else {
            return self.unsaid(rule, own, "it is no pattern of a command");
        };
        let patterns = vec![Pattern { space: Space::Exec, code: read.glob.finish() }];
        self.rule(own, format!("shell({text})"), at, patterns);
        if let Some(Rule { reason, .. }) = self.rules.last_mut() {
            reason.clone_from(&rule.description);
        }
    }

    /// What would only allow is left out with a note; what holds back is a fault.
    fn unsaid(&mut self, rule: &ShellRule, effect: Effect, why: &str) {
        let message = format!("`{}` cannot be said in our rules: {why}", rule.pattern.value);
        if effect == Effect::Allow {
            return self.note(line(&rule.pattern), &format!("{message}; it is left out"));
        }
        let fault = Fault::new(message, place(&rule.pattern.referenced));
        self.faults.push(fault.help("write the first words of the command"));
    }
}

const fn effect(verdict: Verdict) -> Effect {
    match verdict {
        Verdict { allowed: false, .. } => Effect::Deny,
        Verdict { approval: true, .. } => Effect::Ask,
        Verdict { approval: false, .. } => Effect::Allow,
    }
}

/// Says whether a rule denies anything that begins as `text` does.
fn denies(rule: &ShellRule, text: &str) -> bool {
    let (mut a, mut b) = (rule.pattern.value.split_whitespace(), text.split_whitespace());
    let alike =
        std::iter::from_fn(|| a.next().zip(b.next())).all(|(a, b)| a == b || a.contains('*'));
    !rule.allowed && alike
}
