//! Where a script works, and which files its redirections open.

use openoxide_protocol::{AbsPath, Effect};
use tree_sitter::Node;

use super::{
    super::{
        judge::Answer,
        words::{Command, unquoted},
    },
    Judged,
};
use crate::script::Script;

impl<'p> Judged<'p, '_> {
    /// Returns the directories that paths can count from: the working directory, and each that is gone to.
    pub(super) fn places(&self) -> Vec<AbsPath> {
        let gone = self.commands.iter().filter(|command| command.name() == "cd");
        let gone = gone.filter_map(|command| Some(self.at.cwd.join(&command.word(1)?)));
        std::iter::once(self.at.cwd.clone()).chain(gone).collect()
    }

    pub(super) fn path(&self, text: &str, place: &AbsPath) -> AbsPath {
        match (text, text.strip_prefix("~/"), self.at.home) {
            ("~", _, Some(home)) => home.clone(),
            (_, Some(rest), Some(home)) => home.join(rest),
            _ => place.join(text),
        }
    }

    /// Returns the redirections that open a file: whether they read it, and its name as it is written.
    pub(super) fn redirections(&self) -> Vec<(bool, &str)> {
        let nodes = self.script.all("file_redirect");
        nodes.into_iter().filter_map(|node| redirection(self.script, node)).collect()
    }

    /// Returns the files that redirections write; nothing for one whose name is not known.
    pub(super) fn outputs(&self) -> Vec<Option<AbsPath>> {
        let known = |text: &str| {
            let dynamic = text.starts_with('~') || text.contains(['*', '?', '[', '$', '`']);
            (!dynamic).then(|| self.at.cwd.join(&unquoted(text)))
        };
        let outputs = self.redirections().into_iter().filter(|(reads, _)| !reads);
        outputs
            .map(|(_, text)| match text.strip_prefix("~/").zip(self.at.home) {
                Some((rest, home)) => Some(home.join(rest)),
                None => known(text),
            })
            .collect()
    }

    /// Returns the answer where a redirection, a directory or an assignment asks by itself.
    pub(super) fn strange_places(&self) -> Option<Answer<'p>> {
        let moves = self.commands.iter().any(|command| command.name() == "cd");
        for output in self.outputs() {
            let Some(path) = output.filter(|_| !moves) else {
                return Some(Answer::of(Effect::Ask, "where it writes cannot be told"));
            };
            let answer = self.policy.write("Bash", &path, self.at);
            if answer.effect != Effect::Allow {
                return Some(answer);
            }
        }
        for (_, text) in self.redirections().into_iter().filter(|(reads, _)| *reads) {
            let answer = self.policy.read(&self.path(&unquoted(text), self.at.cwd), self.at);
            if answer.effect == Effect::Ask {
                return Some(answer);
            }
        }
        let elsewhere = |command: &Command<'_>| {
            command.name() == "cd"
                && command.word(1).is_some_and(|to| self.at.cwd.join(&to) != *self.at.cwd)
        };
        let git = self.commands.iter().any(|command| command.name() == "git");
        if git && self.commands.iter().any(elsewhere) {
            return Some(Answer::of(Effect::Ask, "git runs in another directory"));
        }
        let alone = self
            .script
            .all("variable_assignment")
            .into_iter()
            .filter(|node| node.parent().is_none_or(|parent| parent.kind() != "command"));
        let steers = |node: Node<'_>| {
            let name = self.script.text(node).split('=').next().unwrap_or_default();
            matches!(name, "PATH" | "IFS" | "BASH_ENV" | "ENV" | "PS4") || name.starts_with("LD_")
        };
        let steers = alone.into_iter().any(steers);
        steers.then(|| Answer::of(Effect::Ask, "it changes what later commands are"))
    }
}

/// Returns what a redirection opens; nothing for those that lead to no file.
fn redirection<'a>(script: &Script<'a>, node: Node<'_>) -> Option<(bool, &'a str)> {
    let body = node.parent()?.child_by_field_name("body");
    if body.is_some_and(|body| matches!(body.kind(), "while_statement" | "for_statement")) {
        return None;
    }
    let target = node.child_by_field_name("destination")?;
    let text = script.text(target);
    let mut cursor = node.walk();
    let operator = node.children(&mut cursor).map(|child| script.text(child));
    let operator = operator.into_iter().find(|text| text.contains(['<', '>']))?;
    let number = text == "-" || text.bytes().all(|byte| byte.is_ascii_digit());
    let nowhere = text == "/dev/null" || (operator.ends_with('&') && number);
    (!nowhere).then_some((operator == "<", text))
}
