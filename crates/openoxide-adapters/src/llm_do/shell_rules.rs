//! Translation of `shell`: the first rule whose words begin a command decides, or else `default`.
//!
//! llm-do skips a rule with `sandbox_paths` if the command names paths elsewhere. OpenOxide rules
//! cannot express this. Such an allow rule is left out, so that the rules after it decide. Such an
//! ask rule is translated so that it is never less strict than the rules after it.

use openoxide_permission::{Pattern, Rule, SubjectKind, glob::Glob, pattern::command};
use openoxide_protocol::Effect;

use super::{
    LlmDoTranslator,
    config_file::{LlmDoShell, ShellDefault, ShellRule, value_line, value_span},
};
use crate::policy_translation::PolicyTextError;

/// Characters with a special meaning in a shell. No word of a command contains them unquoted.
const SPECIAL_CHARACTERS: &[char] = &[
    '\\', '"', '\'', '$', '`', '<', '>', '|', '&', ';', '(', ')', '?', '[', ']', '{', '}', '\n',
    '\0',
];

impl LlmDoTranslator<'_> {
    pub(super) fn translate_shell(&mut self, shell: &LlmDoShell) {
        let mut any = Glob::new();
        any.push_any();
        let code = any.clone().finish();
        let everything = vec![Pattern { kind: SubjectKind::Exec, program: code }];
        self.add_rule(to_effect(shell.default), "shell.default".to_owned(), 0, everything);
        if let Some(rule) = self.rules.last_mut() {
            rule.matches_everything = true;
        }
        for (at, rule) in shell.rules.iter().enumerate().rev() {
            let after = shell.rules.get(at + 1..).unwrap_or_default();
            self.translate_shell_rule(rule, after, shell.default);
        }
        if let Some(network) = &shell.network
            && !network.value
        {
            let everywhere = vec![Pattern { kind: SubjectKind::Fetch, program: any.finish() }];
            self.add_rule(
                Effect::Deny,
                "shell.network".to_owned(),
                value_line(network),
                everywhere,
            );
        }
    }

    fn translate_shell_rule(
        &mut self,
        rule: &ShellRule,
        after: &[ShellRule],
        default: ShellDefault,
    ) {
        let (at, text) = (value_line(&rule.pattern), rule.pattern.value.trim());
        let own = to_effect(ShellDefault { allowed: rule.allowed, approval: rule.approval });
        let vague = text.contains('*');
        if text.is_empty() || text.contains(SPECIAL_CHARACTERS) || (vague && own == Effect::Ask) {
            return self.report_untranslatable(
                rule,
                own,
                "it is about the letters of a command, not its words",
            );
        }
        if own == Effect::Allow && vague {
            return self.report_untranslatable(
                rule,
                own,
                "it is unknown whether `*` is a wildcard",
            );
        }
        if own == Effect::Allow && !rule.sandbox_paths.is_empty() {
            self.add_note(
                at,
                &format!(
                    "`{text}` is left out: whether all its paths lie in a sandbox is not known"
                ),
            );
            return;
        }
        let denied = to_effect(default) == Effect::Deny
            || after.iter().any(|next| has_denied_prefix(next, text));
        let conditional = !rule.sandbox_paths.is_empty() && own == Effect::Ask;
        let own = if conditional && denied { Effect::Deny } else { own };
        let Ok(read) = command::parse(&format!("{text} *")) else {
            return self.report_untranslatable(rule, own, "it is no pattern of a command");
        };
        let patterns = vec![Pattern { kind: SubjectKind::Exec, program: read.glob.finish() }];
        self.add_rule(own, format!("shell({text})"), at, patterns);
        if let Some(Rule { reason, .. }) = self.rules.last_mut() {
            reason.clone_from(&rule.description);
        }
    }

    /// Reports a rule that cannot be translated: an allow rule as a note, a restrictive rule as an
    /// error.
    fn report_untranslatable(&mut self, rule: &ShellRule, effect: Effect, why: &str) {
        let message =
            format!("`{}` cannot be expressed as a rule of OpenOxide: {why}", rule.pattern.value);
        if effect == Effect::Allow {
            return self.add_note(value_line(&rule.pattern), &format!("{message}; it is left out"));
        }
        let fault = PolicyTextError::new(message, value_span(&rule.pattern.referenced));
        self.errors.push(fault.with_help("write the first words of the command"));
    }
}

const fn to_effect(verdict: ShellDefault) -> Effect {
    match verdict {
        ShellDefault { allowed: false, .. } => Effect::Deny,
        ShellDefault { approval: true, .. } => Effect::Ask,
        ShellDefault { approval: false, .. } => Effect::Allow,
    }
}

/// Returns whether a rule denies any command that begins like `text`.
fn has_denied_prefix(rule: &ShellRule, text: &str) -> bool {
    let (mut a, mut b) = (rule.pattern.value.split_whitespace(), text.split_whitespace());
    let alike =
        std::iter::from_fn(|| a.next().zip(b.next())).all(|(a, b)| a == b || a.contains('*'));
    !rule.allowed && alike
}
