//! The check of one command of a script.

use openoxide_protocol::Effect;

use super::{
    super::{
        command_words::ScriptCommand,
        command_wrappers::{NO_WILDCARD_COMMANDS, UnwrapMode, inner_command, is_safe_assignment},
        evaluation::ClaudeVerdict,
        path_patterns, readonly_commands,
        rules::{ClaudeRule, matches_command as matches},
        settings::ClaudeMode,
    },
    ClaudeScriptCheck,
};

/// The programs that `acceptEdits` allows on files of the project.
const EDIT_COMMANDS: &[&str] = &["mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"];

impl<'p> ClaudeScriptCheck<'p, '_> {
    pub(super) fn check_command(&self, command: &ScriptCommand<'_>) -> ClaudeVerdict<'p> {
        if let Some(answer) = self.check_working_directories(command) {
            return answer;
        }
        let mut all = unwrap_for_allow(command);
        let Some(last) = all.last().cloned() else {
            return ClaudeVerdict::new(Effect::Allow, "it is empty");
        };
        if command.assignments.iter().any(|one| !is_safe_assignment(one)) {
            return ClaudeVerdict::new(
                Effect::Ask,
                "a variable before the command is not known to be safe",
            );
        }
        let carried = command.name() == "xargs" && all.len() > 1;
        all.retain(|one| !one.words.is_empty());
        let rules = || self.policy.rules_with_effect(Effect::Allow);
        let rule = rules().find(|rule| {
            all.iter().enumerate().any(|(at, one)| self.rule_allows(rule, one, carried && at > 0))
        });
        if let Some(rule) = rule {
            return ClaudeVerdict::from_rule(rule);
        }
        let name = command.name();
        let wrapped = all.len() > 1;
        let through =
            !wrapped || matches!(name.as_str(), "timeout" | "command" | "builtin" | "noglob");
        if (through && readonly_commands::is_read_only(&last)) || (name == "cd" && !wrapped) {
            return ClaudeVerdict::new(Effect::Allow, "it only looks");
        }
        if self.policy.mode == ClaudeMode::AcceptEdits
            && name != "nohup"
            && self.is_project_edit(&last)
        {
            return ClaudeVerdict::new(Effect::Allow, "the mode accepts edits");
        }
        self.policy.default_verdict()
    }

    /// Returns whether a rule allows a command.
    fn rule_allows(&self, rule: &ClaudeRule, command: &ScriptCommand<'_>, carried: bool) -> bool {
        let Some(content) = rule.content_for("Bash") else { return false };
        let (exact, normal) = (command.to_source_text(), command.to_normalized_text());
        if !content.contains('*') {
            return !carried && content == exact;
        }
        let name = command.name();
        let hides = NO_WILDCARD_COMMANDS.contains(&name.as_str())
            || (name == "find" && !readonly_commands::is_read_only(&strip_find_patterns(command)))
            || (name == "timeout" && inner_command(command, UnwrapMode::Allow).is_none())
            || (name == "time" && inner_command(command, UnwrapMode::Allow).is_none());
        !hides && matches(content, &exact, &normal)
    }

    /// Returns the answer if a command changes to a directory outside of the working directories,
    /// or if a known program names a path outside of them.
    fn check_working_directories(&self, command: &ScriptCommand<'_>) -> Option<ClaudeVerdict<'p>> {
        let ask = || Some(ClaudeVerdict::new(Effect::Ask, "it leaves the working directories"));
        if command.name() == "cd" {
            return match command.word_at(1).as_deref() {
                None => ask(),
                Some("-") => None,
                Some(to)
                    if self.policy.is_in_working_directories(
                        &self.resolve_path(to, self.context.cwd),
                        self.context,
                    ) =>
                {
                    None
                }
                Some(_) => ask(),
            };
        }
        let last = unwrap_for_allow(command).pop()?;
        let outside = |text: &String| {
            let text = text.replace("$HOME", self.context.home.map_or("/", |home| home.as_str()));
            let of_another = text.starts_with('~') && text != "~" && !text.starts_with("~/");
            of_another
                || !text.is_empty()
                    && !self.policy.is_in_working_directories(
                        &self.resolve_path(&text, self.context.cwd),
                        self.context,
                    )
        };
        let leaves = readonly_commands::path_arguments(&last).iter().any(outside);
        if leaves { ask() } else { None }
    }

    /// Returns whether `acceptEdits` allows a command: a plain call that changes files of the
    /// project which it names.
    fn is_project_edit(&self, command: &ScriptCommand<'_>) -> bool {
        let (name, words) = (command.name(), command.arguments());
        let flags = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let odd = flags(&["-t", "--target-directory", "-r", "--reference"])
            && matches!(name.as_str(), "cp" | "mv" | "touch");
        let wild = command
            .words
            .iter()
            .any(|word| readonly_commands::is_glob(word.text) || word.text.contains('$'));
        let moved = self.commands.iter().any(|command| command.name() == "cd");
        let inside = |text: &String| {
            let path = self.context.cwd.join(text);
            self.policy.is_in_working_directories(&path, self.context)
                && !path_patterns::is_protected(&path)
                && path != *self.context.cwd
        };
        let targets = readonly_commands::path_arguments(command);
        EDIT_COMMANDS.contains(&name.as_str())
            && !odd
            && !wild
            && !moved
            && !targets.is_empty()
            && targets.iter().all(inside)
    }
}

/// Returns a command and the commands that it starts, unwrapped as for allow rules.
fn unwrap_for_allow<'a>(command: &ScriptCommand<'a>) -> Vec<ScriptCommand<'a>> {
    let start = command.skip_words(0);
    std::iter::successors(Some(start), |command| inner_command(command, UnwrapMode::Allow))
        .collect()
}

/// Returns a `find` command without its patterns. Patterns among its arguments do not make an allow
/// rule inapplicable.
fn strip_find_patterns<'a>(command: &ScriptCommand<'a>) -> ScriptCommand<'a> {
    let mut plain = command.skip_words(0);
    plain.words.retain(|word| !readonly_commands::is_glob(word.text));
    plain
}
