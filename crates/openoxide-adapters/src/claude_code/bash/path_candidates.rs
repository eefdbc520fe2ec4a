//! The directories that a script works in, and the files that its redirections open.

use openoxide_protocol::{AbsPath, Effect};
use tree_sitter::Node;

use super::{
    super::{
        command_words::{ScriptCommand, remove_quotes},
        evaluation::ClaudeVerdict,
    },
    ClaudeScriptCheck,
};
use crate::parsed_script::ParsedScript;

impl<'p> ClaudeScriptCheck<'p, '_> {
    /// Returns the directories that paths may be relative to: the working directory, and the
    /// directory of each `cd`.
    pub(super) fn candidate_directories(&self) -> Vec<AbsPath> {
        let gone = self.commands.iter().filter(|command| command.name() == "cd");
        let gone = gone.filter_map(|command| Some(self.context.cwd.join(&command.word_at(1)?)));
        std::iter::once(self.context.cwd.clone()).chain(gone).collect()
    }

    pub(super) fn resolve_path(&self, text: &str, place: &AbsPath) -> AbsPath {
        match (text, text.strip_prefix("~/"), self.context.home) {
            ("~", _, Some(home)) => home.clone(),
            (_, Some(rest), Some(home)) => home.join(rest),
            _ => place.join(text),
        }
    }

    /// Returns the redirections that open a file: whether they read it, and its name as written.
    pub(super) fn collect_redirected_files(&self) -> Vec<(bool, &str)> {
        let nodes = self.script.nodes_of_kind("file_redirect");
        nodes.into_iter().filter_map(|node| parse_redirection(self.script, node)).collect()
    }

    /// Returns the files that redirections write; `None` for a file whose name is unknown.
    pub(super) fn collect_output_paths(&self) -> Vec<Option<AbsPath>> {
        let known = |text: &str| {
            let dynamic = text.starts_with('~') || text.contains(['*', '?', '[', '$', '`']);
            (!dynamic).then(|| self.context.cwd.join(&remove_quotes(text)))
        };
        let outputs = self.collect_redirected_files().into_iter().filter(|(reads, _)| !reads);
        outputs
            .map(|(_, text)| match text.strip_prefix("~/").zip(self.context.home) {
                Some((rest, home)) => Some(home.join(rest)),
                None => known(text),
            })
            .collect()
    }

    /// Returns the answer if a redirection, a directory or an assignment requires one.
    pub(super) fn check_redirections(&self) -> Option<ClaudeVerdict<'p>> {
        let moves = self.commands.iter().any(|command| command.name() == "cd");
        for output in self.collect_output_paths() {
            let Some(path) = output.filter(|_| !moves) else {
                return Some(ClaudeVerdict::new(
                    Effect::Ask,
                    "the file that it writes cannot be determined",
                ));
            };
            let answer = self.policy.check_write("Bash", &path, self.context);
            if answer.effect != Effect::Allow {
                return Some(answer);
            }
        }
        for (_, text) in self.collect_redirected_files().into_iter().filter(|(reads, _)| *reads) {
            let answer = self.policy.check_read(
                &self.resolve_path(&remove_quotes(text), self.context.cwd),
                self.context,
            );
            if answer.effect == Effect::Ask {
                return Some(answer);
            }
        }
        let elsewhere = |command: &ScriptCommand<'_>| {
            command.name() == "cd"
                && command
                    .word_at(1)
                    .is_some_and(|to| self.context.cwd.join(&to) != *self.context.cwd)
        };
        let git = self.commands.iter().any(|command| command.name() == "git");
        if git && self.commands.iter().any(elsewhere) {
            return Some(ClaudeVerdict::new(Effect::Ask, "git runs in another directory"));
        }
        let alone = self
            .script
            .nodes_of_kind("variable_assignment")
            .into_iter()
            .filter(|node| node.parent().is_none_or(|parent| parent.kind() != "command"));
        let steers = |node: Node<'_>| {
            let name = self.script.node_text(node).split('=').next().unwrap_or_default();
            matches!(name, "PATH" | "IFS" | "BASH_ENV" | "ENV" | "PS4") || name.starts_with("LD_")
        };
        let steers = alone.into_iter().any(steers);
        steers.then(|| ClaudeVerdict::new(Effect::Ask, "it changes what later commands are"))
    }
}

/// Returns whether a redirection reads, and its target. Returns `None` if it does not open a file.
fn parse_redirection<'a>(script: &ParsedScript<'a>, node: Node<'_>) -> Option<(bool, &'a str)> {
    let body = node.parent()?.child_by_field_name("body");
    if body.is_some_and(|body| matches!(body.kind(), "while_statement" | "for_statement")) {
        return None;
    }
    let target = node.child_by_field_name("destination")?;
    let text = script.node_text(target);
    let mut cursor = node.walk();
    let operator = node.children(&mut cursor).map(|child| script.node_text(child));
    let operator = operator.into_iter().find(|text| text.contains(['<', '>']))?;
    let number = text == "-" || text.bytes().all(|byte| byte.is_ascii_digit());
    let nowhere = text == "/dev/null" || (operator.ends_with('&') && number);
    (!nowhere).then_some((operator == "<", text))
}
