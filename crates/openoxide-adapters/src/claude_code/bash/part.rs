//! Whether one command of a script may run.

use openoxide_protocol::Effect;

use super::{
    super::{
        judge::Answer,
        paths, readonly,
        rules::{Rule, command as matches},
        settings::Mode,
        words::Command,
        wrappers::{Look, NEVER_BY_WILDCARD, inner, is_safe},
    },
    Judged,
};

/// The programs that `acceptEdits` runs on files of the project.
const EDITORS: &[&str] = &["mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"];

impl<'p> Judged<'p, '_> {
    pub(super) fn part(&self, command: &Command<'_>) -> Answer<'p> {
        if let Some(answer) = self.leaves(command) {
            return answer;
        }
        let mut all = all_inside_for_allow(command);
        let Some(last) = all.last().cloned() else {
            return Answer::of(Effect::Allow, "it is empty");
        };
        if command.assignments.iter().any(|one| !is_safe(one)) {
            return Answer::of(
                Effect::Ask,
                "a variable before the command is not known to be safe",
            );
        }
        let carried = command.name() == "xargs" && all.len() > 1;
        all.retain(|one| !one.words.is_empty());
        let rules = || self.policy.rules(Effect::Allow);
        let rule = rules().find(|rule| {
            all.iter().enumerate().any(|(at, one)| self.allows(rule, one, carried && at > 0))
        });
        if let Some(rule) = rule {
            return Answer::by(rule);
        }
        let name = command.name();
        let wrapped = all.len() > 1;
        let through =
            !wrapped || matches!(name.as_str(), "timeout" | "command" | "builtin" | "noglob");
        if (through && readonly::is_free(&last)) || (name == "cd" && !wrapped) {
            return Answer::of(Effect::Allow, "it only looks");
        }
        if self.policy.mode == Mode::AcceptEdits && name != "nohup" && self.edits_inside(&last) {
            return Answer::of(Effect::Allow, "the mode accepts edits");
        }
        self.policy.otherwise()
    }

    /// Says whether a rule allows a command.
    fn allows(&self, rule: &Rule, command: &Command<'_>, carried: bool) -> bool {
        let Some(content) = rule.about("Bash") else { return false };
        let (exact, normal) = (command.exact(), command.normal());
        if !content.contains('*') {
            return !carried && content == exact;
        }
        let name = command.name();
        let hides = NEVER_BY_WILDCARD.contains(&name.as_str())
            || (name == "find" && !readonly::is_free(&find_without_patterns(command)))
            || (name == "timeout" && inner(command, Look::Allow).is_none())
            || (name == "time" && inner(command, Look::Allow).is_none());
        !hides && matches(content, &exact, &normal)
    }

    /// Returns the answer where a known program names a path outside the working directories, or goes there.
    fn leaves(&self, command: &Command<'_>) -> Option<Answer<'p>> {
        let ask = || Some(Answer::of(Effect::Ask, "it leaves the working directories"));
        if command.name() == "cd" {
            return match command.word(1).as_deref() {
                None => ask(),
                Some("-") => None,
                Some(to) if self.policy.is_inside(&self.path(to, self.at.cwd), self.at) => None,
                Some(_) => ask(),
            };
        }
        let last = all_inside_for_allow(command).pop()?;
        let outside = |text: &String| {
            let text = text.replace("$HOME", self.at.home.map_or("/", |home| home.as_str()));
            let of_another = text.starts_with('~') && text != "~" && !text.starts_with("~/");
            of_another
                || !text.is_empty()
                    && !self.policy.is_inside(&self.path(&text, self.at.cwd), self.at)
        };
        let leaves = readonly::paths(&last).iter().any(outside);
        if leaves { ask() } else { None }
    }

    /// `acceptEdits`: plain calls that change files of the project which they name.
    fn edits_inside(&self, command: &Command<'_>) -> bool {
        let (name, words) = (command.name(), command.arguments());
        let flags = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let odd = flags(&["-t", "--target-directory", "-r", "--reference"])
            && matches!(name.as_str(), "cp" | "mv" | "touch");
        let wild = command
            .words
            .iter()
            .any(|word| readonly::is_pattern(word.text) || word.text.contains('$'));
        let moved = self.commands.iter().any(|command| command.name() == "cd");
        let inside = |text: &String| {
            let path = self.at.cwd.join(text);
            self.policy.is_inside(&path, self.at)
                && !paths::is_protected(&path)
                && path != *self.at.cwd
        };
        let targets = readonly::paths(command);
        EDITORS.contains(&name.as_str())
            && !odd
            && !wild
            && !moved
            && !targets.is_empty()
            && targets.iter().all(inside)
    }
}

/// Returns a command and each that it starts, as rules that allow look through it.
fn all_inside_for_allow<'a>(command: &Command<'a>) -> Vec<Command<'a>> {
    let start = command.without(0);
    std::iter::successors(Some(start), |command| inner(command, Look::Allow)).collect()
}

/// Patterns among the arguments of find are no reason to distrust a rule.
fn find_without_patterns<'a>(command: &Command<'a>) -> Command<'a> {
    let mut plain = command.without(0);
    plain.words.retain(|word| !readonly::is_pattern(word.text));
    plain
}
