//! Which rules hold a script back, and what nothing approves.

use openoxide_protocol::Effect;

use super::{
    super::{
        paths, readonly,
        rules::{Rule, command as matches},
        words::{Command, unquoted},
        wrappers::{Look, inner},
    },
    Judged, blanks, commands,
};
use crate::script::Script;

impl<'p> Judged<'p, '_> {
    /// Returns the rule that holds back the whole script or one of its commands.
    pub(super) fn held_back(&self, text: &str, effect: Effect) -> Option<&'p Rule> {
        let mut rules = self.policy.rules(effect);
        rules.find(|rule| {
            let Some(content) = rule.about("Bash") else { return rule.is_bare_for("Bash") };
            let exact = text.trim();
            matches(content, exact, &blanks(exact))
                || self.commands.iter().any(|c| self.speaks(content, c))
        })
    }

    /// Says whether a rule that holds back speaks of a command, or of what it starts.
    fn speaks(&self, content: &str, command: &Command<'_>) -> bool {
        let mut next = Some(command.clone());
        while let Some(command) = next {
            let plain = self.known_name(&command);
            let spellings = [command.normal(), plain];
            if spellings.iter().any(|text| matches(content, text, text)) {
                return true;
            }
            if command.name() == "script" && command.word(1).as_deref() == Some("-c") {
                let text = command.word(2).unwrap_or_default();
                return matches(content, &text, &text);
            }
            next = inner(&command, Look::HoldBack);
        }
        false
    }

    /// Returns a command in plain words; `$X` at its beginning stands for the value that the script gave it.
    fn known_name(&self, command: &Command<'_>) -> String {
        let plain = command.plain();
        let Some(variable) = plain.strip_prefix('$') else { return plain };
        let (name, rest) = variable.split_once(' ').unwrap_or((variable, ""));
        let assignments = self.script.all("variable_assignment");
        let value = assignments.into_iter().find_map(|node| {
            let (known, value) = self.script.text(node).split_once('=')?;
            (known == name).then(|| unquoted(value))
        });
        value.map_or(plain.clone(), |value| format!("{value} {rest}").trim_end().to_owned())
    }

    /// `sh -c '…'` with a command inside that a rule denies.
    pub(super) fn hides_a_denied_command(&self) -> bool {
        self.commands.iter().any(|command| {
            let shell = matches!(command.name().as_str(), "bash" | "sh" | "zsh" | "dash");
            let text =
                command.word(2).filter(|_| shell && command.word(1).as_deref() == Some("-c"));
            text.as_deref().and_then(Script::read).is_some_and(|script| {
                let inside = Judged {
                    policy: self.policy,
                    commands: commands(&script),
                    script: &script,
                    at: self.at,
                };
                inside.held_back(script.whole(), Effect::Deny).is_some()
            })
        })
    }

    /// Returns the rule about a file that some command of a known family names, or that a redirection opens.
    pub(super) fn touches(&self, effect: Effect) -> Option<&'p Rule> {
        let changes = |command: &Command<'_>| {
            let edits = command.arguments().iter().any(|word| word.starts_with("-i"));
            matches!(command.name().as_str(), "mv" | "cp" | "rm" | "tee" | "touch" | "rmdir")
                || (command.name() == "sed" && edits)
        };
        let looks = |command: &Command<'_>| {
            !matches!(command.name().as_str(), "rm" | "tee" | "touch" | "rmdir" | "mkdir")
        };
        let of = |tool: &str, text: &str| {
            // What a variable holds is not known.
            let places = if text.contains('$') { Vec::new() } else { self.places() };
            places.iter().find_map(|place| {
                let path = self.path(text, place);
                self.policy.held_back(tool, effect, &path, self.at)
            })
        };
        let by_command = self.commands.iter().flat_map(all_inside).find_map(|command| {
            let paths = readonly::paths(&command);
            paths.iter().find_map(|text| {
                let read = looks(&command).then(|| of("Read", text)).flatten();
                read.or_else(|| changes(&command).then(|| of("Edit", text)).flatten())
            })
        });
        by_command.or_else(|| {
            self.redirections()
                .into_iter()
                .find_map(|(reads, text)| of(if reads { "Read" } else { "Edit" }, &unquoted(text)))
        })
    }

    pub(super) fn removes_what_matters(&self) -> bool {
        self.commands.iter().flat_map(all_inside).any(|command| {
            let removes = matches!(command.name().as_str(), "rm" | "rmdir");
            let words = command.arguments();
            let mut targets = words.iter().filter(|word| !word.starts_with('-'));
            removes
                && targets.any(|text| {
                    let text = text.strip_suffix("/*").unwrap_or(text);
                    paths::is_critical(&self.path(text, self.at.cwd), self.at)
                })
        })
    }
}

/// Returns a command and each that it starts, as rules that hold back look through it.
fn all_inside<'a>(command: &Command<'a>) -> Vec<Command<'a>> {
    std::iter::successors(Some(command.without(0)), |command| inner(command, Look::HoldBack))
        .collect()
}
