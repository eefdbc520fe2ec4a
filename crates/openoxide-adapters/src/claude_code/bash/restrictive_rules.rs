//! The rules that restrict a script, and the constructs that no rule approves.

use openoxide_protocol::Effect;

use super::{
    super::{
        command_words::{ScriptCommand, remove_quotes},
        command_wrappers::{UnwrapMode, inner_command},
        path_patterns, readonly_commands,
        rules::{ClaudeRule, matches_command as matches},
    },
    ClaudeScriptCheck, collapse_whitespace, collect_commands,
};
use crate::parsed_script::ParsedScript;

impl<'p> ClaudeScriptCheck<'p, '_> {
    /// Returns the rule that restricts the whole script or one of its commands.
    pub(super) fn find_restrictive_rule(
        &self,
        text: &str,
        effect: Effect,
    ) -> Option<&'p ClaudeRule> {
        let mut rules = self.policy.rules_with_effect(effect);
        rules.find(|rule| {
            let Some(content) = rule.content_for("Bash") else { return rule.covers_tool("Bash") };
            let exact = text.trim();
            matches(content, exact, &collapse_whitespace(exact))
                || self.commands.iter().any(|c| self.matches_command(content, c))
        })
    }

    /// Returns whether a restrictive rule matches a command, or a command that it starts.
    fn matches_command(&self, content: &str, command: &ScriptCommand<'_>) -> bool {
        let mut next = Some(command.clone());
        while let Some(command) = next {
            let plain = self.to_resolved_text(&command);
            let spellings = [command.to_normalized_text(), plain];
            if spellings.iter().any(|text| matches(content, text, text)) {
                return true;
            }
            if command.name() == "script" && command.word_at(1).as_deref() == Some("-c") {
                let text = command.word_at(2).unwrap_or_default();
                return matches(content, &text, &text);
            }
            next = inner_command(&command, UnwrapMode::Restrict);
        }
        false
    }

    /// Returns a command in unquoted words. `$X` at its beginning is replaced by the value that the
    /// script assigns to it.
    fn to_resolved_text(&self, command: &ScriptCommand<'_>) -> String {
        let plain = command.to_unquoted_text();
        let Some(variable) = plain.strip_prefix('$') else { return plain };
        let (name, rest) = variable.split_once(' ').unwrap_or((variable, ""));
        let assignments = self.script.nodes_of_kind("variable_assignment");
        let value = assignments.into_iter().find_map(|node| {
            let (known, value) = self.script.node_text(node).split_once('=')?;
            (known == name).then(|| remove_quotes(value))
        });
        value.map_or(plain.clone(), |value| format!("{value} {rest}").trim_end().to_owned())
    }

    /// Returns whether a script contains `sh -c '…'` with a command that a rule denies.
    pub(super) fn has_hidden_denied_command(&self) -> bool {
        self.commands.iter().any(|command| {
            let shell = matches!(command.name().as_str(), "bash" | "sh" | "zsh" | "dash");
            let text =
                command.word_at(2).filter(|_| shell && command.word_at(1).as_deref() == Some("-c"));
            text.as_deref().and_then(ParsedScript::parse).is_some_and(|script| {
                let inside = ClaudeScriptCheck {
                    policy: self.policy,
                    commands: collect_commands(&script),
                    script: &script,
                    context: self.context,
                };
                inside.find_restrictive_rule(script.full_text(), Effect::Deny).is_some()
            })
        })
    }

    /// Returns the rule about a file that a command of a known kind names, or that a redirection
    /// opens.
    pub(super) fn find_file_rule(&self, effect: Effect) -> Option<&'p ClaudeRule> {
        let changes = |command: &ScriptCommand<'_>| {
            let edits = command.arguments().iter().any(|word| word.starts_with("-i"));
            matches!(command.name().as_str(), "mv" | "cp" | "rm" | "tee" | "touch" | "rmdir")
                || (command.name() == "sed" && edits)
        };
        let looks = |command: &ScriptCommand<'_>| {
            !matches!(command.name().as_str(), "rm" | "tee" | "touch" | "rmdir" | "mkdir")
        };
        let of = |tool: &str, text: &str| {
            // The value of a variable is unknown.
            let places = if text.contains('$') { Vec::new() } else { self.candidate_directories() };
            places.iter().find_map(|place| {
                let path = self.resolve_path(text, place);
                self.policy.find_restrictive_path_rule(tool, effect, &path, self.context)
            })
        };
        let by_command =
            self.commands.iter().flat_map(unwrap_for_restriction).find_map(|command| {
                let paths = readonly_commands::path_arguments(&command);
                paths.iter().find_map(|text| {
                    let read = looks(&command).then(|| of("Read", text)).flatten();
                    read.or_else(|| changes(&command).then(|| of("Edit", text)).flatten())
                })
            });
        by_command.or_else(|| {
            self.collect_redirected_files().into_iter().find_map(|(reads, text)| {
                of(if reads { "Read" } else { "Edit" }, &remove_quotes(text))
            })
        })
    }

    pub(super) fn has_critical_removal(&self) -> bool {
        self.commands.iter().flat_map(unwrap_for_restriction).any(|command| {
            let removes = matches!(command.name().as_str(), "rm" | "rmdir");
            let words = command.arguments();
            let mut targets = words.iter().filter(|word| !word.starts_with('-'));
            removes
                && targets.any(|text| {
                    let text = text.strip_suffix("/*").unwrap_or(text);
                    path_patterns::is_critical_removal(
                        &self.resolve_path(text, self.context.cwd),
                        self.context,
                    )
                })
        })
    }
}

/// Returns a command and the commands that it starts, unwrapped as for restrictive rules.
fn unwrap_for_restriction<'a>(command: &ScriptCommand<'a>) -> Vec<ScriptCommand<'a>> {
    std::iter::successors(Some(command.skip_words(0)), |command| {
        inner_command(command, UnwrapMode::Restrict)
    })
    .collect()
}
